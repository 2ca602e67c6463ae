"""Which evaluation files of a race the page opens: all, or of a huge race those it shows and an even sample.

Scores, statuses, Δ and drawdowns of all attempts are in the ledger; only gates with their headroom, folds, stress and
daily returns are in files, 20 to 40 kB each. Beyond `WHOLE` attempts a page opens those of the rows it shows, of what
they are compared with, of every champion, and an even sample of each competitor's scored attempts for the statistics;
details of official steps alone. What is opened depends on the race alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from autoquant.ledger.records import ACCEPTED
from autoquant.ledger.views import CompetitorView

WHOLE = 5_000
"""Attempts of a race up to which everything is read."""
ROWS, ROWS_HUGE = 3_000, 1_500
"""Attempts in the tables of one page, and in those of a race that is not read whole."""
SAMPLE, SAMPLE_LEAST = 2_000, 40
"""Attempts whose daily returns are read: of all competitors together, and of each at least."""


@dataclass(frozen=True)
class Wanted:
    """Attempts of one competitor whose files are opened, by number."""

    answers: frozenset[int]
    """Gates, folds and the score with delay."""
    details: frozenset[int]
    """Stress, where it was accepted."""
    returns: frozenset[int]
    """Daily returns."""


def wanted(competitors: Mapping[str, CompetitorView]) -> dict[str, Wanted]:
    """What is opened of each competitor."""
    attempts = sum(len(view.attempts) for view in competitors.values())
    if attempts <= WHOLE:
        everything = {name: frozenset(range(1, 1 + len(view.attempts))) for name, view in competitors.items()}
        return {name: Wanted(numbers, numbers, numbers) for name, numbers in everything.items()}
    rows = shown([[attempt.status for attempt in view.attempts] for view in competitors.values()], rows_of(attempts))
    share = max(SAMPLE_LEAST, SAMPLE // len(competitors))
    return {name: _part(view, numbers, share) for (name, view), numbers in zip(competitors.items(), rows, strict=True)}


def rows_of(attempts: int) -> int:
    """How many rows the tables of a race with so many attempts have at most."""
    return ROWS if attempts <= WHOLE else ROWS_HUGE


def shown(statuses: Sequence[Sequence[str | None]], rows: int) -> list[list[int]]:
    """Numbers of the attempts that tables of so many rows show, by competitor, oldest first.

    All, or of each competitor as many as its share: accepted ones first, then the newest.

    >>> shown([["keep", "discard", "gate", None]], 4), shown([["keep", "discard", "gate", None]], 2)
    ([[1, 2, 3, 4]], [[1, 4]])
    """
    if sum(map(len, statuses)) <= rows:
        return [list(range(1, 1 + len(some))) for some in statuses]
    quota = max(1, rows // max(1, len(statuses)))
    ranked = [sorted(range(1, 1 + len(some)), key=lambda n: (some[n - 1] not in ACCEPTED, -n)) for some in statuses]
    return [sorted(numbers[:quota]) for numbers in ranked]


def evenly(numbers: Sequence[int], wanted: int) -> list[int]:
    """So many of the numbers, evenly spread from first to last.

    >>> evenly(range(1, 11), 4), evenly([3, 5], 4)
    ([1, 4, 7, 10], [3, 5])
    """
    if len(numbers) <= wanted or wanted < 2:
        return list(numbers[:wanted]) if wanted < 2 else list(numbers)
    return [numbers[round(place * (len(numbers) - 1) / (wanted - 1))] for place in range(wanted)]


def _part(view: CompetitorView, rows: Sequence[int], share: int) -> Wanted:
    champion = frozenset({view.champion} - {0})
    parents = {view.attempts[number - 1].parent for number in champion.union(rows)} - {0}
    official = frozenset(attempt.attempt for attempt in view.attempts if attempt.status == "keep")
    scored = [attempt.attempt for attempt in view.attempts if attempt.score is not None]
    return Wanted(champion | parents | set(rows), champion | official, champion | set(evenly(scored, share)))
