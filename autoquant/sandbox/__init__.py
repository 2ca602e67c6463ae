"""Run untrusted strategy code: a static gate, a warm parent, one fresh child per call, arrays in and out.

The only other place where a strategy's source is read is the oracle, which passes it on as bytes.
"""

from autoquant.sandbox.frames import Answer, CallFrames
from autoquant.sandbox.gate import SourceFacts, check_source
from autoquant.sandbox.levels import StrategyIsolation, strategy_isolation, strategy_level, strategy_seal
from autoquant.sandbox.pool import ParentPool
from autoquant.sandbox.proof import Escape, prove_strategy
from autoquant.sandbox.tables import TableAnswer, TableFrames
from autoquant.sandbox.warm import CPU_LIMIT, MEMORY_LIMIT, WarmParent

__all__ = [
    "CPU_LIMIT",
    "MEMORY_LIMIT",
    "Answer",
    "CallFrames",
    "Escape",
    "ParentPool",
    "SourceFacts",
    "StrategyIsolation",
    "TableAnswer",
    "TableFrames",
    "WarmParent",
    "check_source",
    "prove_strategy",
    "strategy_isolation",
    "strategy_level",
    "strategy_seal",
]
