"""How a competitor climbed: recursion_metrics.json."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from autoquant.protocol import SCHEMA_VERSION

KEEP, SEARCH, ARCHIVE = "keep", "search", "archive"
"""Statuses that move something: the champion and the working parent, the working parent alone, an archive tip."""


@dataclass(frozen=True)
class Step:
    """One counted attempt: its number, what it was worth, its score where it has one."""

    attempt: int
    status: str
    score: float | None


@dataclass(frozen=True)
class RecursionMetrics:
    """Of one competitor. None is "there is no such thing": no attempt, or no keep."""

    attempts: int
    confirmed_promotions: int
    """Official keeps."""
    search_acceptances: int
    archive_tips: int
    official_area: float | None
    """Mean over attempts of the champion's score after the attempt, minus the seed's score."""
    working_area: float | None
    """The same for the working parent."""
    attempts_per_keep: float | None
    first_keep: int | None
    last_keep: int | None
    schema_version: int = SCHEMA_VERSION


def curves(seed_score: float, steps: Sequence[Step]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Score of champion and of working parent after each attempt; both start from the seed's.

    >>> curves(0.5, [Step(1, "search", 0.6), Step(2, "discard", 0.1), Step(3, "keep", 0.9)])
    ((0.5, 0.5, 0.9), (0.6, 0.6, 0.9))
    """
    champion = parent = seed_score
    official, working = [], []
    for step in steps:
        if step.score is not None and step.status in (KEEP, SEARCH):
            parent = step.score
            champion = step.score if step.status == KEEP else champion
        official.append(champion)
        working.append(parent)
    return tuple(official), tuple(working)


def per_keep(attempts: int, keeps: int) -> float | None:
    """Attempts per official keep; None without a keep."""
    return attempts / keeps if keeps else None


def recursion_metrics(seed_score: float, steps: Sequence[Step]) -> RecursionMetrics:
    """Metrics over the attempts made so far.

    The area under a curve is its mean height above the seed over attempts: Σᵢ (curveᵢ − seed) / N, in units of the
    score, so that budgets of different length can be set side by side; an early gain weighs more than a late one.

    >>> m = recursion_metrics(0.5, [Step(1, "keep", 1.0), Step(2, "discard", None)])
    >>> m.official_area, m.attempts_per_keep, m.first_keep
    (0.5, 2.0, 1)
    """
    count = len(steps)
    official, working = curves(seed_score, steps)
    keeps = [step.attempt for step in steps if step.status == KEEP]
    return RecursionMetrics(
        attempts=count,
        confirmed_promotions=len(keeps),
        search_acceptances=sum(step.status == SEARCH for step in steps),
        archive_tips=sum(step.status == ARCHIVE for step in steps),
        official_area=sum(value - seed_score for value in official) / count if count else None,
        working_area=sum(value - seed_score for value in working) / count if count else None,
        attempts_per_keep=per_keep(count, len(keeps)),
        first_keep=keeps[0] if keeps else None,
        last_keep=keeps[-1] if keeps else None,
    )
