"""Every attempt: the roll, the tables, and what went wrong on the way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autoquant.ledger.records import STATUSES
from autoquant.report.collect import Collected
from autoquant.report.diffs import Texts
from autoquant.report.frames import NARROW, WIDE, Drawing
from autoquant.report.model import Attempt, Race, Standing
from autoquant.report.roll import roll_chart, roll_scale, tally
from autoquant.report.rows import race_rows

EVENTS = 200
_OPEN_ALL = 120
"""Up to so many attempts every table stands open."""


def context(collected: Collected, table: Sequence[Standing]) -> dict[str, Any]:
    """Names for `panels/attempts.html.j2`."""
    race = collected.race
    entrants = [standing.entrant for standing in table]
    rows = race_rows(race, entrants, Texts(collected.layout))
    shown = sum(map(len, rows))
    return {
        "roll_chart": Drawing.of(lambda width: roll_chart(entrants, width)),
        "roll_places": [_places(race, width) for width in (WIDE, NARROW)],
        "statuses": statuses([a for entrant in race.entrants for a in entrant.attempts]),
        "tables": [(entrant, tally(entrant), some) for entrant, some in zip(entrants, rows, strict=True)],
        "rows_shown": shown,
        "rows_left_out": shown < race.attempts,
        "rows_in_short": sum(not row.full for some in rows for row in some),
        "open_all": race.attempts <= _OPEN_ALL,
        "events_limit": EVENTS,
        "event_counts": [(kind, race.events_of(kind)) for kind in ("fault", "violation", "incident")],
    }


def statuses(attempts: Sequence[Attempt]) -> list[tuple[str, int]]:
    """How many attempts have each status, in the order of the protocol; `open` for those without one."""
    words = [attempt.status or "open" for attempt in attempts]
    return [(status, words.count(status)) for status in (*STATUSES, "open") if status in words]


def _places(race: Race, width: float) -> str:
    """Pixels of the first and the last attempt's stroke, and the last one's number, for the script."""
    x = roll_scale(race.entrants, width)
    return f"{x.start:g} {x.end:g} {x.high:g}"
