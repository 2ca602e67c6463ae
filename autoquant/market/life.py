"""Where a contract's life begins and ends, and what is missing inside it. Pure functions over arrays.

A life ends with the last traded bar (volume above zero)

* before a flat, zero-volume run that lasts to the contract's last file, when its files end before the calendar does;
* before more than `DEAD_DAYS` without a trade, when bars stand there flat, or when trading comes back at a price that
  is off by more than `REUSED_RATIO`: the ticker then means another contract, and nothing of it is joined. A stretch of
  absent rows with trading back at about the old price is a hole in the data: a gap, and listed.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from autoquant.clock import ms_iso
from autoquant.errors import DataError
from autoquant.market.grid import HOUR_MS, Ints
from autoquant.market.manifest import FundingGap, Gap
from autoquant.market.parse import Funding, Klines

DEAD_DAYS = 7
REUSED_RATIO = 2.0
FUNDING_LIMIT_HOURS = 24.0
_OPEN, _CLOSE, _VOLUME = 0, 3, 4


@dataclass(frozen=True)
class Life:
    """A contract's life: open times of its first and last bar (None while it lives on), and how the end was found."""

    first_ms: int
    last_ms: int | None
    ended: str | None


def find_life(bars: Klines, where: str, *, files_end: bool, bar_ms: int) -> Life:
    """Beginning and end of a life.

    Parameters
    ----------
    bars : everything the archive has, in order of time; at least one bar.
    where : how the contract is named in an error.
    files_end : the archive has no later file of this contract, though the calendar goes on.

    Raises
    ------
    DataError : the files end early without a flat tail, or no bar was ever traded.
    """
    first = int(bars.times[0])
    traded = np.flatnonzero(bars.values[:, _VOLUME] > 0)
    if not len(traded):
        raise DataError(f"{where}: no bar has any volume")
    dead = DEAD_DAYS * 24 * HOUR_MS // bar_ms
    for before, after in itertools.pairwise(traded.tolist()):
        silent = int(bars.times[after] - bars.times[before]) // bar_ms - 1
        if silent <= dead:
            continue
        old, new = float(bars.values[before, _CLOSE]), float(bars.values[after, _OPEN])
        other_price = not 1 / REUSED_RATIO <= new / old <= REUSED_RATIO
        if after - before - 1 > dead or other_price:
            hours = silent * bar_ms / HOUR_MS
            reason = f"no trade for {hours:g} h, then {new:g} after {old:g}: a re-used ticker, not joined"
            return Life(first, int(bars.times[before]), reason)
    last = int(traded[-1])
    tail = bars.values[last + 1 :]
    if files_end:
        if not len(tail) or not _is_flat(tail):
            at = ms_iso(int(bars.times[-1]))
            raise DataError(
                f"{where}: files end early without a flat tail (last bar {at})",
                "the archive may have lost its later files; nothing can be said about the contract's end",
            )
        return Life(first, int(bars.times[last]), f"flat, zero-volume tail of {len(tail)} bars to its last file")
    if len(tail) > dead and _is_flat(tail):
        return Life(first, int(bars.times[last]), f"no trade for {len(tail) * bar_ms / HOUR_MS:g} h up to the end")
    return Life(first, None, None)


def _is_flat(tail: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> bool:
    prices = tail[:, : _CLOSE + 1]
    return bool((prices == prices[0, 0]).all() and (tail[:, _VOLUME] == 0).all())


def missing_runs(times: Ints, end_ms: int, bar_ms: int) -> list[tuple[int, int]]:
    """Runs of absent bars between the first bar and `end_ms` (exclusive): (first ms, count)."""
    edges = np.append(times, end_ms)
    lacking = np.diff(edges) // bar_ms - 1
    return [(int(edges[i]) + bar_ms, int(lacking[i])) for i in np.flatnonzero(lacking > 0)]


def missing_days(times: Ints, end_ms: int, bar_ms: int) -> list[str]:
    """UTC days between the first bar and `end_ms` that lack a bar."""
    days = {
        ms_iso(first + bar_ms * number)[:10]
        for first, count in missing_runs(times, end_ms, bar_ms)
        for number in range(count)
    }
    return sorted(days)


def gaps(symbol: str, times: Ints, end_ms: int, bar_ms: int) -> tuple[Gap, ...]:
    """What is still missing inside a life, as the manifest lists it."""
    return tuple(
        Gap(symbol, ms_iso(first), ms_iso(first + bar_ms * (count - 1)), count)
        for first, count in missing_runs(times, end_ms, bar_ms)
    )


def cut_bars(bars: Klines, life: Life) -> Klines:
    """The bars of a life."""
    if life.last_ms is None:
        return bars
    keep = bars.times <= life.last_ms
    return Klines(bars.times[keep], bars.values[keep])


def cut_funding(rows: Funding, life: Life, bar_ms: int) -> Funding:
    """Funding due while the contract can be held: from its first open to the close of its last bar."""
    keep = rows.times >= life.first_ms
    if life.last_ms is not None:
        keep &= rows.times < life.last_ms + bar_ms
    return Funding(rows.times[keep], rows.hours[keep], rows.rates[keep])


def funding_gaps(symbol: str, rows: Funding, first_ms: int, end_ms: int) -> tuple[FundingGap, ...]:
    """Stretches of a life longer than the funding interval in force (as the later row states it; the last row's at the
    end). A change of the interval is no gap.

    Raises
    ------
    DataError : a stretch of more than 24 hours; names contract and month.
    """
    edges = np.concatenate([[first_ms], rows.times, [end_ms]])
    stated = np.append(rows.hours, rows.hours[-1] if len(rows) else 0.0)
    hours = np.diff(edges) / HOUR_MS
    found = []
    for number in np.flatnonzero(hours > stated):
        after, before = ms_iso(int(edges[number])), ms_iso(int(edges[number + 1]))
        if hours[number] > FUNDING_LIMIT_HOURS:
            raise DataError(
                f"{symbol}: funding missing for {hours[number]:g} h in {after[:7]} ({after} to {before})",
                "funding is never filled with a default; the archive has to be complete here",
            )
        found.append(FundingGap(symbol, after, before, float(hours[number])))
    return tuple(found)
