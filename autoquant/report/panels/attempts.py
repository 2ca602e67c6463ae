"""Every attempt: the roll, the tables, and what went wrong on the way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autoquant.ledger.records import STATUSES
from autoquant.report.frames import Drawing
from autoquant.report.model import Attempt, Entrant, Race, Standing
from autoquant.report.roll import roll_chart

ROWS = 3000
"""Attempts in the tables of one page; beyond that each competitor shows its accepted ones and its newest."""
EVENTS = 200
_OPEN_ALL = 400
"""Up to so many attempts every table stands open."""


def context(race: Race, table: Sequence[Standing]) -> dict[str, Any]:
    """Names for `panels/attempts.html.j2`."""
    entrants = [standing.entrant for standing in table]
    tables, shown = _tables(entrants)
    return {
        "roll_chart": Drawing.of(lambda width: roll_chart(entrants, width)),
        "statuses": statuses([a for entrant in race.entrants for a in entrant.attempts]),
        "tables": tables,
        "rows_shown": shown,
        "rows_left_out": shown < race.attempts,
        "open_all": race.attempts <= _OPEN_ALL,
        "events_limit": EVENTS,
    }


def statuses(attempts: Sequence[Attempt]) -> list[tuple[str, int]]:
    """How many attempts have each status, in the order of the protocol; `open` for those without one."""
    words = [attempt.status or "open" for attempt in attempts]
    return [(status, words.count(status)) for status in (*STATUSES, "open") if status in words]


def _tables(entrants: Sequence[Entrant]) -> tuple[list[tuple[Entrant, list[Attempt]]], int]:
    """Rows per competitor, oldest first, and how many in all."""
    quota = max(1, ROWS // max(1, len(entrants)))
    tables: list[tuple[Entrant, list[Attempt]]] = []
    for entrant in entrants:
        rows = list(entrant.attempts)
        if sum(len(e.attempts) for e in entrants) > ROWS and len(rows) > quota:
            ranked = sorted(rows, key=lambda a: (a.status not in ("keep", "search", "archive"), -a.number))
            rows = sorted(ranked[:quota], key=lambda a: a.number)
        tables.append((entrant, rows))
    return tables, sum(len(rows) for _, rows in tables)
