"""The oracle: weights become fills, fills become accounts, accounts become a score.

Names load on first use, so that importing the room costs nothing and pulls in no pandas.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from autoquant.oracle.metrics import score
    from autoquant.oracle.orders import Scenario
    from autoquant.oracle.result import BarFlows, FoldResult, chained, fold_score
    from autoquant.oracle.simulation import decision_rows, simulate, simulate_folds

__all__ = [
    "BarFlows",
    "FoldResult",
    "Scenario",
    "chained",
    "decision_rows",
    "fold_score",
    "score",
    "simulate",
    "simulate_folds",
]

_HOMES = {
    "BarFlows": "result",
    "FoldResult": "result",
    "Scenario": "orders",
    "chained": "result",
    "decision_rows": "simulation",
    "fold_score": "result",
    "score": "metrics",
    "simulate": "simulation",
    "simulate_folds": "simulation",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
