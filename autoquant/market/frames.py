"""Panels from plain DataFrames: strict about times, doubles and order, so that a wrong input never becomes a number."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from autoquant.clock import ms_iso
from autoquant.errors import DataError
from autoquant.market.grid import FIELDS, HOUR_MS, NEVER, Floats, Ints, to_minute
from autoquant.protocol import PROTOCOL


@dataclass(frozen=True)
class FrameArrays:
    """What plain DataFrames came to: the arguments of `Panel.from_arrays`."""

    times: Ints
    prices: Mapping[str, Floats]
    rates: Mapping[str, tuple[Ints, Floats]]
    last_bar: Mapping[str, int]
    bar_ms: int


def read_frames(
    frames: Mapping[str, pd.DataFrame],
    funding: pd.DataFrame | None,
    tier: Mapping[str, int],
    last_bar: Mapping[str, Any],
    bar_hours: float | None,
) -> FrameArrays:
    """Check the frames of `Panel.from_frames` and lay them on one time grid.

    Raises
    ------
    DataError : as `Panel.from_frames` says.
    """
    missing = [name for name in FIELDS if name not in frames]
    if missing:
        raise DataError(f"from_frames: field {missing[0]!r} is missing", f"needed: {', '.join(FIELDS)}")
    shape_of = frames["close"]
    stamps = _stamps(shape_of.index, "index")
    assets = [str(name) for name in shape_of.columns]
    _check_frames(frames, shape_of, stamps, assets, tier)
    bar_ms = _bar_ms(stamps, bar_hours)
    times, rows = _grid(stamps, bar_ms)
    lasts = {
        asset: NEVER if _is_missing(value) else int(_stamps([value], f"last_bar of {asset}")[0])
        for asset, value in last_bar.items()
    }
    prices: dict[str, Floats] = {}
    for column, asset in enumerate(assets):
        values = np.full((len(times), len(FIELDS)), np.nan)
        for number, name in enumerate(FIELDS):
            values[rows, number] = frames[name].iloc[:, column].to_numpy(dtype=np.float64)
        prices[asset] = values
    return FrameArrays(times, prices, _rates(funding, assets), lasts, bar_ms)


def _is_missing(value: Any) -> bool:
    return value is None or bool(pd.isna(value))


def _stamps(values: Iterable[Any], where: str) -> Ints:
    """Milliseconds UTC of timestamps, aware or naive, or of whole numbers that are milliseconds already."""
    index = pd.Index(values)
    if pd.api.types.is_integer_dtype(index.dtype):
        whole: Ints = index.to_numpy(dtype=np.int64)
        return whole
    try:
        stamps = pd.DatetimeIndex(pd.to_datetime(index, utc=True, format="ISO8601"))
    except (ValueError, TypeError) as error:
        raise DataError(f"from_frames: {where}: not a time ({error})") from None
    if stamps.hasnans:
        raise DataError(f"from_frames: {where}: a time is missing")
    milliseconds: Ints = stamps.as_unit("ms").asi8.astype(np.int64)
    return milliseconds


def _check_frames(
    frames: Mapping[str, pd.DataFrame], like: pd.DataFrame, stamps: Ints, assets: list[str], tier: Mapping[str, int]
) -> None:
    if len(set(assets)) != len(assets):
        raise DataError("from_frames: an asset's column appears twice")
    for name in FIELDS:
        if not (frames[name].index.equals(like.index) and frames[name].columns.equals(like.columns)):
            raise DataError(f"from_frames: {name} has other rows or columns than close")
    step = np.diff(stamps)
    if (step == 0).any():
        raise DataError(f"from_frames: two rows at {ms_iso(int(stamps[int(np.argmax(step == 0))]))}")
    if (step < 0).any():
        raise DataError(f"from_frames: rows out of order after {ms_iso(int(stamps[int(np.argmax(step < 0))]))}")
    for asset in assets:
        if tier.get(asset) not in (1, 2):
            raise DataError(f"from_frames: tier of {asset} is {tier.get(asset)}, it has to be 1 or 2")


def _bar_ms(stamps: Ints, bar_hours: float | None) -> int:
    if bar_hours is not None:
        return round(bar_hours * HOUR_MS)
    return int(np.diff(stamps).min()) if len(stamps) > 1 else PROTOCOL.calendar.bar_hours * HOUR_MS


def _grid(stamps: Ints, bar_ms: int) -> tuple[Ints, Ints]:
    """The unbroken grid from first to last stamp, and each stamp's row in it."""
    if not len(stamps):
        raise DataError("from_frames: no rows")
    offset = stamps - stamps[0]
    if (offset % bar_ms).any():
        stray = int(stamps[int(np.argmax(offset % bar_ms != 0))])
        raise DataError(f"from_frames: {ms_iso(stray)} is not a whole number of {bar_ms / HOUR_MS:g}-hour bars away")
    rows = offset // bar_ms
    return stamps[0] + bar_ms * np.arange(int(rows[-1]) + 1, dtype=np.int64), rows


def _rates(funding: pd.DataFrame | None, assets: list[str]) -> dict[str, tuple[Ints, Floats]]:
    if funding is None or not len(funding):
        return {}
    lacking = [name for name in ("asset", "time", "rate") if name not in funding.columns]
    if lacking:
        raise DataError(f"from_frames: funding lacks the column {lacking[0]!r}", "needed: asset, time, rate")
    instants = to_minute(_stamps(funding["time"], "funding time"))
    rates = funding["rate"].to_numpy(dtype=np.float64)
    names = funding["asset"].astype(str).to_numpy()
    result: dict[str, tuple[Ints, Floats]] = {}
    for name in np.unique(names):
        if name not in assets:
            raise DataError(f"from_frames: funding names {name}, which has no bars")
        mine = np.flatnonzero(names == name)
        mine = mine[np.argsort(instants[mine], kind="stable")]
        at, rate = instants[mine], rates[mine]
        if (np.diff(at) == 0).any():
            raise DataError(f"from_frames: two rates of {name} at {ms_iso(int(at[int(np.argmax(np.diff(at) == 0))]))}")
        if not np.isfinite(rate).all():
            stray = ms_iso(int(at[~np.isfinite(rate)][0]))
            raise DataError(f"from_frames: the rate of {name} at {stray} is not a number")
        result[str(name)] = (at, rate)
    return result
