"""The leaderboard apart from the page: one record per competitor, and the same as plain text for a terminal.

How it is worked out is in `placing`; who only shows one needs no statistics.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from autoquant import amounts
from autoquant.report.text import count, fixed

HEADINGS = ("rank", "leaderboard", "champion", "95 %", "placebo p", "sealed year", "keeps", "cost", "faults")
LEFT = frozenset({0, 1, 5})
"""Columns that are set flush left."""


@dataclass(frozen=True)
class Place:
    """A competitor on the leaderboard. None is missing; why stands in the field of the same name with `_missing`."""

    rank: int | None
    shared: bool
    """Whether others have the same rank: nothing tells them apart."""
    competitor: str
    replicate_of: str | None
    score: float | None
    """Of the retained champion; the seed's while there is none."""
    champion: int | None
    """Attempt; None while the seed stands."""
    score_low: float | None
    """95 % interval."""
    score_high: float | None
    score_missing: str | None
    placebo_p: float | None
    """Largest over all kinds of blind search."""
    placebo_runs: int | None
    placebo_missing: str | None
    sealed: str | None
    """Verdict of the sealed year."""
    sealed_missing: str | None
    keeps: int
    attempts: int
    budget: int
    cost_usd: float | None
    faults: int
    violations: int


@dataclass(frozen=True)
class Leaderboard:
    """All of it, best first."""

    places: tuple[Place, ...]
    ranked_by: str
    """`daily returns`, or `noise floor` and why."""
    pairs: int
    separated: int
    placebo_command: str | None
    """What makes placebo races, where there are none."""


def plain_leaderboard(board: Leaderboard) -> str:
    """The leaderboard as plain text; empty before anybody has joined."""
    if not board.places:
        return ""
    rows = [HEADINGS, *(_cells(place) for place in board.places)]
    return "\n".join([*_aligned(rows), *(f"  {line}" for line in notes(board))])


def notes(board: Leaderboard) -> list[str]:
    """What has to be known to read the ranks and the p-values."""
    if board.ranked_by == "daily returns":
        lines = [f"= shares its rank: {board.separated} of {count(board.pairs, 'pair')} told apart"]
    else:
        lines = [f"= shares its rank: within one noise floor. {board.ranked_by.removeprefix('noise floor: ')}"]
    lines = lines if len(board.places) > 1 else []
    if board.placebo_command:
        lines.append(f"placebo p: none yet; {board.placebo_command}")
    elif any(place.placebo_p is not None for place in board.places):
        lines.append("placebo p: how often searchers without skill keep as high a score, the largest over all kinds")
    return lines


def _cells(place: Place) -> tuple[str, ...]:
    half = None if place.score_low is None or place.score_high is None else (place.score_high - place.score_low) / 2
    rank = "–" if place.rank is None else f"{place.rank}{'=' if place.shared else ''}"
    return (
        rank,
        place.competitor,
        "–" if place.score is None else fixed(place.score),
        "–" if half is None else f"± {fixed(half, 2)}",
        "–" if place.placebo_p is None else fixed(place.placebo_p),
        place.sealed or ("–" if place.sealed_missing != "unopened" else "unopened"),
        f"{place.keeps}/{place.attempts}",
        amounts.dollars(place.cost_usd),
        str(place.faults),
    )


def _aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADINGS))]
    return [
        "  ".join(
            cell.ljust(width) if column in LEFT else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
