"""What a grade says: the rung that was reached, every check on the way, and what to mend first."""

from __future__ import annotations

from dataclasses import dataclass

from autoquant.protocol import SCHEMA_VERSION
from autoquant.tasks.replay import Replay
from autoquant.tasks.scan import Finding
from autoquant.tasks.spec import TaskSpec, Tolerance

COUNTS = ("trades", "entries")
"""Metrics that are whole numbers; so are the ends of their tolerances, rounded as the contract rounds them."""


@dataclass(frozen=True)
class Comparison:
    """One metric against the truth."""

    metric: str
    value: float
    target: float
    low: float
    high: float
    passed: bool


@dataclass(frozen=True)
class RungResult:
    """One rung: whether its own condition holds, None where nothing was known to judge it by."""

    score: float
    words: str
    passed: bool | None
    detail: str = ""
    """Why it does not hold."""
    comparisons: tuple[Comparison, ...] = ()


@dataclass(frozen=True)
class Hidden:
    """What the one run on the hidden bars came to."""

    sharpe: float | None
    """None where it gave no trades."""
    score: float
    detail: str = ""


@dataclass(frozen=True)
class Grade:
    """A solution's grade on one task."""

    task: str
    score: float
    final: bool
    """Whether the hidden bars were used. A backtest of the hard task is worth at most its last rung."""
    rungs: tuple[RungResult, ...]
    first_to_mend: str
    """Empty for a full score."""
    truth: str | None
    """`published` or `reference`; None for a task without a truth."""
    source: str
    """Of the data: `files` or `synthetic`."""
    bars: int
    replay: Replay | None
    findings: tuple[Finding, ...] = ()
    """Of the scan of the text."""
    hidden: Hidden | None = None
    solution_seconds: float = 0.0
    schema_version: int = SCHEMA_VERSION


@dataclass(frozen=True)
class Verdict:
    """Of a condition that is no comparison: None where nothing is known to judge it by."""

    passed: bool | None
    detail: str = ""


def figure(metric: str, value: float) -> str:
    """A metric's value as text.

    >>> figure("trades", 1234.0), figure("pnl", -1.5), figure("sharpe", 0.25)
    ('1,234', '-1.50', '0.2500')
    """
    digits = 0 if metric in COUNTS else 4 if metric == "sharpe" else 2
    return f"{value:,.{digits}f}"


def climb(
    spec: TaskSpec, verdicts: dict[str, Verdict], figures: dict[str, float] | None, truth: dict[str, float] | None
) -> tuple[float, tuple[RungResult, ...]]:
    """The score of the last rung whose condition and every one before it hold, and how each rung did.

    Parameters
    ----------
    verdicts : of each condition that the ladder names.
    figures, truth : metrics of the solution and of the truth; None where there are none.

    Returns
    -------
    The score, 0 when not even the first rung is reached. It never falls when a metric moves toward the truth, since
    the tolerances of a ladder only get narrower upwards.
    """
    score, standing = 0.0, True
    results: list[RungResult] = []
    for rung in spec.rung:
        check = verdicts[rung.check] if rung.check else Verdict(True)
        compared = tuple(_compare(name, tolerance, figures, truth) for name, tolerance in rung.within.items())
        known = [one for one in compared if one is not None]
        passed = check.passed if len(known) == len(compared) else None
        if passed is not None:
            passed = passed and all(one.passed for one in known)
        detail = check.detail or "; ".join(_miss(one) for one in known if not one.passed)
        results.append(RungResult(rung.score, rung.words, passed, detail, tuple(known)))
        standing = standing and passed is True
        score = rung.score if standing else score
    return score, tuple(results)


def first_to_mend(spec: TaskSpec, rungs: tuple[RungResult, ...]) -> str:
    """The first rung that does not hold, in words; empty when all do."""
    for rung in rungs:
        if not rung.passed:
            return f"for {rung.score:.2f}: {rung.words}" + (f" ({rung.detail})" if rung.detail else "")
    return ""


def _compare(
    name: str, tolerance: Tolerance, figures: dict[str, float] | None, truth: dict[str, float] | None
) -> Comparison | None:
    if figures is None or truth is None:
        return None
    value, target = figures[name], truth[name]
    width = tolerance.width(target)
    low, high = target - width, target + width
    if name in COUNTS:
        low, high = float(round(low)), float(round(high))
    return Comparison(name, value, target, low, high, low <= value <= high)


def _miss(one: Comparison) -> str:
    value, low, high = (figure(one.metric, number) for number in (one.value, one.low, one.high))
    return f"{one.metric.replace('_', ' ')} is {value}, wanted {low} to {high}"
