"""A solution in its sandbox: what the gate says of its text, what it returns, whether that can be replayed."""

from __future__ import annotations

import ast
from dataclasses import dataclass

import numpy as np

from autoquant.errors import AgentFault, ImportGateError
from autoquant.protocol import Limits
from autoquant.sandbox import SourceFacts, TableAnswer, TableFrames, WarmParent, check_source
from autoquant.tasks.replay import Replay, Trades, replay_multi, replay_single
from autoquant.tasks.scan import parsed
from autoquant.tasks.spec import TaskSpec

LIMITS = Limits(cpu_seconds=30.0, wall_backstop_seconds=180.0)
"""Of one call. CPU time, so that a busy machine harms nobody."""
MAXIMUM_POSITION = 10_000.0
"""In units of an index; more is no position but a slip."""


@dataclass(frozen=True, eq=False)
class Ran:
    """One run. Exactly one of `fault` and `answer` is there; `trades` only when the rows can be replayed."""

    fault: AgentFault | None = None
    answer: TableAnswer | None = None
    trades: Trades | None = None
    problem: str = ""
    """Why there are no trades to replay, in words."""
    has_columns: bool = False

    @property
    def seconds(self) -> float:
        """Wall time of the call."""
        return self.answer.wall_seconds if self.answer else 0.0


def read_source(source: bytes, spec: TaskSpec) -> AgentFault | None:
    """What the gate has against a file; None when it may run."""
    try:
        _facts(source, spec)
    except ImportGateError as error:
        return error
    if not takes(source, len(spec.arguments)):
        return ImportGateError(
            f"generate_trades takes other arguments than {spec.signature}", "", kind="WrongSignature"
        )
    return None


def preload(parent: WarmParent, source: bytes, spec: TaskSpec) -> None:
    """Import what a file that passed the gate needs of scipy once, so that none of its runs pays for it."""
    parent.preload(_facts(source, spec).preload)


def _facts(source: bytes, spec: TaskSpec) -> SourceFacts:
    return check_source(source, LIMITS, entry="generate_trades", arguments=", ".join(spec.arguments))


def takes(source: bytes, count: int) -> bool:
    """Whether a file defines generate_trades at top level, the last of them callable with that many arguments."""
    defined = [node for node in parsed(source).body if isinstance(node, ast.FunctionDef)]
    named = [node.args for node in defined if node.name == "generate_trades"]
    if not named:
        return False
    arguments = named[-1]
    most = len(arguments.posonlyargs) + len(arguments.args)
    least = most - len(arguments.defaults)
    required = sum(default is None for default in arguments.kw_defaults)
    return least <= count and (count <= most or arguments.vararg is not None) and not required


def told(fault: AgentFault) -> str:
    """A fault's sentence, with the file's name as this track has it."""
    return fault.message.replace("strategy.py", "solution", 1)


def run(parent: WarmParent, source: bytes, frames: TableFrames, spec: TaskSpec, *, reveal: bool = True) -> Ran:
    """Run a file that passed the gate once, in a fresh child.

    Parameters
    ----------
    reveal : whether the text of its exception may be told.

    Raises
    ------
    InfrastructureFault : the machine's doing.
    """
    try:
        answer = parent.call_tables(source, frames, spec.columns, reveal)
    except AgentFault as fault:
        return Ran(fault=fault)
    has_columns = sorted(answer.columns) == sorted(spec.columns) and answer.column_count == len(spec.columns)
    if answer.values is None:
        problem = _columns_problem(answer, spec, has_columns, frames.rows)
        return Ran(answer=answer, problem=problem, has_columns=has_columns)
    problem = replay_problem(answer, frames.rows)
    if problem:
        return Ran(answer=answer, problem=problem, has_columns=True)
    values = answer.values
    return Ran(answer=answer, trades=Trades(values[:, 0].astype(np.int64), values[:, 1:]), has_columns=True)


def _columns_problem(answer: TableAnswer, spec: TaskSpec, has_columns: bool, bars: int) -> str:
    if has_columns and answer.rows > bars:
        return f"{answer.rows:,} rows of trades for {bars:,} bars: at most one a bar"
    if has_columns:
        return "a column holds something that is not a number"
    shown = ", ".join(answer.columns) or "none"
    return f"the columns are {shown}; wanted: {', '.join(spec.columns)}"


def replay_problem(answer: TableAnswer, bars: int) -> str:
    """Why rows cannot be replayed, in words; empty when they can."""
    if answer.values is None or not len(answer.values):
        return ""
    bar, positions = answer.values[:, 0], answer.values[:, 1:]
    if not np.isfinite(bar).all() or (bar != np.floor(bar)).any():
        return "bar holds something that is not a whole number"
    if answer.kinds[0] == "b":
        return "bar holds true and false, not numbers of bars"
    if not np.isfinite(positions).all():
        where = int(np.flatnonzero(~np.isfinite(positions).all(axis=1))[0])
        return f"a position is missing or infinite (row {where + 1}, bar {_number(bar[where])})"
    if (bar < 0).any() or (bar >= bars).any():
        return f"bar {_number(bar[(bar < 0) | (bar >= bars)][0])} does not exist: bars run from 0 to {bars - 1}"
    steps = np.diff(bar)
    if (steps <= 0).any():
        where = int(np.flatnonzero(steps <= 0)[0])
        words = "appears twice" if steps[where] == 0 else "comes after a later one"
        return f"bar {bar[where + 1]:.0f} {words}: rows are sorted by bar, one a bar"
    if (np.abs(positions) > MAXIMUM_POSITION).any():
        return f"a position of {np.abs(positions).max():,.0f} units is beyond {MAXIMUM_POSITION:,.0f}"
    return ""


def _number(bar: float) -> str:
    """A bar's number as it was given; one of hundreds of digits is no use to anybody."""
    return f"{bar:.0f}" if abs(bar) < 1e18 else f"{bar:g}"


def replayed(trades: Trades, frames: TableFrames, spec: TaskSpec) -> Replay:
    """What trades come to on the closes of some frames."""
    closes = [values for (_, column), values in zip(frames.columns, frames.values, strict=True) if "Close" in column]
    return replay_single(trades, closes[0]) if len(spec.columns) == 2 else replay_multi(trades, closes[0], closes[1])
