"""What it took: tokens, cost and time, and how the programs were set."""

from __future__ import annotations

from typing import Any

from autoquant.report.model import Race, Work

OWN_FIGURE = "cli"
"""What stands in the place of a price table's day when a program said itself what it spent."""


def context(race: Race) -> dict[str, Any]:
    """Names for `panels/work.html.j2`."""
    priced_by = {day for entrant in race.entrants if entrant.work for day in entrant.work.priced_by}
    return {
        "longest": max((_seconds(entrant.work) for entrant in race.entrants), default=0.0),
        "tables_of_prices": sorted(priced_by - {OWN_FIGURE}),
    }


def _seconds(work: Work | None) -> float:
    return (work.agent_seconds or 0.0) + (work.infrastructure_seconds or 0.0) if work else 0.0
