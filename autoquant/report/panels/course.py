"""How they got there: the race as step lines, and each competitor alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autoquant.report import charts
from autoquant.report.frames import Drawing
from autoquant.report.model import Race, Standing

LADDERS = 24
"""Competitors drawn alone."""


def context(race: Race, table: Sequence[Standing]) -> dict[str, Any]:
    """Names for `panels/course.html.j2`."""
    drawable = race.seed_score is not None and bool(table)
    alone = table[:LADDERS] if drawable and len(table) > 1 else ()
    return {
        "race_chart": Drawing.of(lambda width: charts.race_chart(race.course, width)) if drawable else None,
        "ladders": [(s.entrant, charts.ladder_chart(s.entrant, race.course)) for s in alone],
    }
