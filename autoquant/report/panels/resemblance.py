"""How alike the champions are, and how their scores hold under harder accounting."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from autoquant.protocol import PROTOCOL
from autoquant.report import shadows as charts
from autoquant.report.frames import Drawing
from autoquant.report.model import Race, Standing
from autoquant.report.resemblance import Member, Resemblance, resemblance, shadows
from autoquant.report.returns import Returns
from autoquant.report.text import clean, count, fixed, listing

MEMBERS = 24
"""Champions compared."""


@dataclass(frozen=True)
class Cell:
    """One correlation; `missing` says why there is none."""

    value: float | None
    missing: str

    @property
    def strength(self) -> int:
        """How dark the cell is: 0 below 0.1, then a step for each fifth, up to 5.

        >>> [Cell(value, "").strength for value in (0.05, -0.15, 0.5, 0.99)]
        [0, 1, 3, 5]
        """
        size = abs(self.value or 0.0)
        return 0 if size < 0.1 else min(5, 1 + int(5 * size))


def context(race: Race, returns: Returns, table: Sequence[Standing]) -> dict[str, Any]:
    """Names for `panels/resemblance.html.j2`."""
    champions = [standing.entrant for standing in table if standing.entrant.champion is not None]
    first = champions[:MEMBERS]
    holding = [standing.entrant for standing in table if standing.entrant.champion is None]
    alike = resemblance([*first, *holding], returns)
    rows = [found for entrant in first if (found := shadows(entrant)) is not None]
    drawable = [one for one in rows if one.scores]
    return {
        "alike": alike,
        "alike_cells": _cells(alike),
        "alike_words": _words(alike),
        "alike_limit": PROTOCOL.ratchet.distinct_correlation,
        "champions": len(champions),
        "champions_shown": len(first),
        "shadow_rows": rows,
        "shadow_days": [shadow.name for shadow in rows[0].shifted] if rows else [],
        "shadow_moved": any(one.span for one in rows),
        "shadow_chart": Drawing.of(
            lambda width: charts.shadow_chart(
                drawable, race.seed_score, race.noise_floor or None, race.source.stamp, width
            )
        )
        if drawable
        else None,
    }


def _cells(alike: Resemblance) -> list[tuple[Member, list[Cell]]]:
    """The lower triangle: a row for each member but the first, of cells against all before it."""
    rows = list(zip(alike.members, alike.correlations, strict=True))[1:]
    return [
        (member, [_cell(value, member, other) for value, other in zip(values, alike.members, strict=False)])
        for member, values in rows
    ]


def _cell(value: float | None, member: Member, other: Member) -> Cell:
    silent = member if member.missing else other
    return Cell(value, "" if value is not None else f"{silent.name}: {silent.missing}")


def _words(alike: Resemblance) -> str:
    """Which champions look like one idea, in a sentence or two; empty with fewer than two to compare."""
    counted = sum(len(group) for group in alike.groups)
    if counted < 2:
        return ""
    how = f"(average linkage, cut at {fixed(PROTOCOL.ratchet.distinct_correlation, 1)})"
    ideas = count(len(alike.groups), "idea")
    many = [listing([clean(name, 40) for name in group]) for group in alike.groups if len(group) > 1]
    if not many:
        return f"{count(counted, 'strategy', 'strategies')}, {ideas}: no two look like one {how}."
    alone = "all" if len(alike.groups) == 1 else "; ".join(many)
    return f"{count(counted, 'strategy', 'strategies')}, about {ideas}: {alone} look like one {how}."
