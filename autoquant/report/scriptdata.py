"""What the page's script reads, and what the downloads are made of: every attempt, in columns.

    {"race": "autumn", "source": "synthetic", "warning": "Synthetic market. …", "stamp": "synthetic", "reload": null,
     "seed": 0.31, "floor": 0.312, "lean": false,
     "statuses": ["keep", …, "open"], "axes": ["attempt", "time"],
     "competitors": ["sol", …], "control": [false, …], "ends": [{"attempt": 50, "time": 8100.0}, …],
     "attempts": [{"utc": […], "status": […], "score": […], …}, …]}

`competitors`, `control`, `ends` and `attempts` go by index. In a column the n-th value is that of attempt n; a column
in which nothing is known is left out, and `description` where every attempt has its row. Of a race that is
not read whole only what the charts need is here, rounded (`lean`). `utc` is seconds since 1970, each after the first as
the difference to the one before; `status` counts into `statuses`; `ends` says where a competitor's lines end on the
axes it has a place on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from autoquant.ledger.records import STATUSES
from autoquant.report import axes, reading
from autoquant.report.axes import Axis
from autoquant.report.instants import seconds
from autoquant.report.model import Attempt, Entrant, Race
from autoquant.report.watch import SECONDS

DIGITS = 16
"""Of a strategy's digest: enough to find its blob."""
OPEN = "open"
"""Stands for the status of an attempt without a verdict."""

_LEAN = {"score": 5, "delta": 4, "cost_usd": 3, "agent_seconds": 0}
"""Decimals of a lean page."""
_WHOLE = dict.fromkeys(("score", "delta", "score_double_cost", "score_one_bar_later", "drawdown", "turnover"), 7)
"""Decimals of every other page: more than anybody compares, half the bytes."""

DESCRIPTION = "description"
"""Long, and in every row: here only where not every attempt has one."""
_CORE: dict[str, Callable[[Attempt], Any]] = {
    "score": lambda a: a.score,
    "delta": lambda a: a.delta,
    "tokens": lambda a: a.tokens,
    "cost_usd": lambda a: a.cost,
    "agent_seconds": lambda a: a.agent_seconds,
}
_REST: dict[str, Callable[[Attempt], Any]] = {
    "folds_better": lambda a: a.folds_better,
    "parent": lambda a: a.parent,
    "score_double_cost": lambda a: a.double_cost,
    "score_one_bar_later": lambda a: a.delayed,
    "drawdown": lambda a: a.drawdown,
    "turnover": lambda a: a.turnover,
    "trades": lambda a: a.trades,
    "lineage": lambda a: a.lineage,
    "strategy": lambda a: a.strategy[:DIGITS] or None,
    "commit": lambda a: a.commit,
    DESCRIPTION: lambda a: a.description or None,
}


def script_data(race: Race, *, watched: bool = False) -> dict[str, Any]:
    """Plain values, JSON at last. The page of a watched race takes its new version until everybody has ended."""
    lean = race.attempts > reading.WHOLE
    left_out = DESCRIPTION if race.attempts <= reading.ROWS else ""
    offered = axes.offered(race.entrants)
    return {
        "race": race.name,
        "source": race.source.name,
        "warning": race.source.banner or None,
        "stamp": race.source.stamp.lower(),
        "reload": SECONDS if watched and not race.finished else None,
        "seed": race.seed_score,
        "floor": race.noise_floor,
        "lean": lean,
        "statuses": [*STATUSES, OPEN],
        "axes": [axis.value for axis in offered],
        "competitors": [entrant.name for entrant in race.entrants],
        "control": [entrant.control for entrant in race.entrants],
        "ends": [_ends(entrant, offered) for entrant in race.entrants],
        "attempts": [columns(entrant.attempts, lean=lean, left_out=left_out) for entrant in race.entrants],
    }


def columns(attempts: Sequence[Attempt], *, lean: bool, left_out: str = "") -> dict[str, list[Any]]:
    """One competitor's attempts by column; `left_out` is one that the page's rows have already."""
    words = [*STATUSES, OPEN]
    found: dict[str, list[Any]] = {"status": [words.index(attempt.status or OPEN) for attempt in attempts]}
    if not lean:
        moments = [int(seconds(attempt.utc)) for attempt in attempts]
        found["utc"] = [*moments[:1], *(after - before for before, after in pairwise(moments))]
    for name, read in (_CORE if lean else _CORE | _REST).items():
        values = [read(attempt) for attempt in attempts]
        if name != left_out and any(value is not None for value in values):
            decimals = (_LEAN if lean else _WHOLE).get(name)
            found[name] = values if decimals is None else [_rounded(value, decimals) for value in values]
    return found


def _ends(entrant: Entrant, offered: Sequence[Axis]) -> dict[str, float]:
    return {axis.value: axes.extent(entrant, axis) for axis in offered if axes.present([entrant], axis)}


def _rounded(value: float | None, decimals: int) -> float | None:
    return None if value is None else round(value, decimals or None)
