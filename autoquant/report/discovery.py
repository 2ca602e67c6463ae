"""When each competitor found something, and how often: keeps with their gains, shares of verdicts. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from autoquant.ledger.records import ACCEPTED
from autoquant.report.model import Attempt, Entrant
from autoquant.stats.proportion import wilson
from autoquant.stats.recursion import per_keep

QUARTERS = 4
BROKEN = ("invalid", "crash", "timeout", "violation")
"""Verdicts on what gave no answer that could be judged."""


@dataclass(frozen=True)
class Keep:
    """An official promotion."""

    number: int
    utc: str
    score: float
    gain: float | None
    """Over the champion it replaced; None where that one's score is not on record."""
    since: int
    """Attempts since the keep before it, this one included."""


@dataclass(frozen=True)
class Share:
    """So many of so many, with the 95 % Wilson interval of the share."""

    hits: int
    trials: int

    @property
    def value(self) -> float | None:
        """Of hits among trials; None without a trial."""
        return self.hits / self.trials if self.trials else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """None without a trial."""
        return wilson(self.hits, self.trials)


@dataclass(frozen=True)
class Hits:
    """What became of one competitor's attempts; open ones are in none of the counts."""

    keep: int
    search: int
    archive: int
    discard: int
    gate: int
    broken: int
    """Invalid, crash, timeout, violation."""
    quarters: tuple[Share, ...]
    """Accepted ones in each quarter of the budget."""

    @property
    def accepted(self) -> Share:
        """Keep, search or archive, of all attempts with a verdict."""
        hits = self.keep + self.search + self.archive
        return Share(hits, hits + self.discard + self.gate + self.broken)


@dataclass(frozen=True)
class Discoveries:
    """One competitor's way."""

    entrant: Entrant
    keeps: tuple[Keep, ...]
    searches: tuple[Attempt, ...]
    hits: Hits

    @property
    def attempts_per_keep(self) -> float | None:
        """Attempts with a verdict per official keep; None without a keep."""
        return per_keep(self.hits.accepted.trials, len(self.keeps))

    @property
    def dry(self) -> int:
        """Attempts with a verdict after the last keep; all of them when there is none."""
        return self.hits.accepted.trials - (self.keeps[-1].number if self.keeps else 0)


def discoveries(entrant: Entrant) -> Discoveries:
    """Of one competitor."""
    searches = tuple(attempt for attempt in entrant.attempts if attempt.status == "search")
    return Discoveries(entrant, keeps(entrant), searches, hits(entrant.attempts, entrant.budget))


def keeps(entrant: Entrant) -> tuple[Keep, ...]:
    """Official promotions in order, each with its gain over the champion before."""
    found: list[Keep] = []
    last = 0
    champion = next((step.score for step in entrant.official if step.attempt == 0), None)
    for attempt in entrant.attempts:
        if attempt.status != "keep" or attempt.score is None:
            continue
        gain = None if champion is None else attempt.score - champion
        found.append(Keep(attempt.number, attempt.utc, attempt.score, gain, attempt.number - last))
        last, champion = attempt.number, attempt.score
    return tuple(found)


def hits(attempts: Sequence[Attempt], budget: int) -> Hits:
    """Verdicts by kind, and accepted ones by quarter of the budget."""
    statuses = [attempt.status for attempt in attempts]
    return Hits(
        keep=statuses.count("keep"),
        search=statuses.count("search"),
        archive=statuses.count("archive"),
        discard=statuses.count("discard"),
        gate=statuses.count("gate"),
        broken=sum(statuses.count(status) for status in BROKEN),
        quarters=tuple(_quarter(attempts, low, high) for low, high in quarter_bounds(budget)),
    )


def quarter_bounds(budget: int) -> tuple[tuple[int, int], ...]:
    """First and last attempt of each quarter of a budget, as even as whole numbers allow.

    >>> quarter_bounds(50)
    ((1, 12), (13, 25), (26, 37), (38, 50))
    """
    edges = [budget * part // QUARTERS for part in range(QUARTERS + 1)]
    return tuple((low + 1, high) for low, high in pairwise(edges))


def _quarter(attempts: Sequence[Attempt], low: int, high: int) -> Share:
    inside = [a for a in attempts if low <= a.number <= high and a.status is not None]
    return Share(sum(attempt.status in ACCEPTED for attempt in inside), len(inside))
