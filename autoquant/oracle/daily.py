"""Volatility and volume a fill is judged by, both from the UTC days before it: nothing of the day itself leaks in."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from autoquant.oracle.folds import DAY_MS

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def daily_closes(day: Ints, close: Floats) -> Floats:
    """Last finite close of each day.

    Parameters
    ----------
    day : (T,) day of each bar's open, counted from 0.
    close : (T, A) closes, NaN where there is no bar.

    Returns
    -------
    (days, A), NaN for a day without a finite close.
    """
    closes = np.full((int(day[-1]) + 1, close.shape[1]), np.nan)
    rows, assets = np.nonzero(np.isfinite(close))
    closes[day[rows], assets] = close[rows, assets]  # row-major order: the last bar of a day is written last
    return closes


def daily_volumes(day: Ints, quote_volume: Floats) -> Floats:
    """Quote volume of each day, summed over the bars there are.

    Parameters
    ----------
    day : (T,) day of each bar's open, counted from 0, never falling.
    quote_volume : (T, A) USDT, NaN where there is no bar.

    Returns
    -------
    (days, A), NaN for a day without a bar.
    """
    volumes = np.full((int(day[-1]) + 1, quote_volume.shape[1]), np.nan)
    present, starts = np.unique(day, return_index=True)
    finite = np.isfinite(quote_volume)
    total = np.add.reduceat(np.where(finite, quote_volume, 0.0), starts, axis=0)
    volumes[present] = np.where(np.logical_or.reduceat(finite, starts, axis=0), total, np.nan)
    return volumes


def rolling_std(values: Floats, window: int, minimum: int) -> Floats:
    """Sample standard deviation (ddof 1) of the finite values among the last `window` rows.

    Parameters
    ----------
    values : (D, A) with D ≥ window.
    window, minimum : rows looked at, and finite ones needed (at least 2).

    Returns
    -------
    (D − window + 1, A); NaN where fewer than `minimum` are finite.

    >>> rolling_std(np.array([[1.0], [np.nan], [3.0], [5.0]]), 3, 2)[:, 0].round(6).tolist()
    [1.414214, 1.414214]
    """
    windows = _windows(values, window)
    finite = np.isfinite(windows)
    count = finite.sum(axis=0)
    held = np.where(finite, windows, 0.0)
    enough = count >= max(minimum, 2)
    mean = held.sum(axis=0) / np.maximum(count, 1)
    deviation = np.where(finite, windows - mean, 0.0)
    variance = (deviation * deviation).sum(axis=0) / np.maximum(count - 1, 1)
    return np.where(enough, np.sqrt(variance), np.nan)


def rolling_median(values: Floats, window: int, minimum: int) -> Floats:
    """Median of the finite values among the last `window` rows; an even count takes the mean of the middle two.

    Shapes and the meaning of `minimum` as in `rolling_std`.

    >>> rolling_median(np.array([[1.0], [np.nan], [3.0], [5.0]]), 3, 2)[:, 0].tolist()
    [2.0, 4.0]
    """
    windows = np.sort(_windows(values, window), axis=0)  # NaN sorts behind every number
    count = np.isfinite(windows).sum(axis=0)
    lower = np.take_along_axis(windows, np.maximum(count - 1, 0)[None] // 2, axis=0)[0]
    upper = np.take_along_axis(windows, np.minimum(count // 2, window - 1)[None], axis=0)[0]
    return np.where(count >= max(minimum, 1), 0.5 * (lower + upper), np.nan)


def liquidity(
    times: Ints, close: Floats, quote_volume: Floats, first: int, stop: int, *, window_days: int, minimum_days: int
) -> tuple[Floats, Floats]:
    """σ_day and V_day as they stand at the open of each bar of a fold.

    σ_day is the standard deviation (ddof 1) of the daily log returns, V_day the median daily quote volume, both over
    the `window_days` calendar days that end yesterday. A return needs a close on its day and on the day before.

    Parameters
    ----------
    times : (T,) open times, ms UTC.
    close, quote_volume : (T, A), NaN where there is no bar.
    first, stop : rows of the fold, half-open.
    window_days, minimum_days : calendar days looked at, and finite ones needed.

    Returns
    -------
    sigma, volume : (stop − first, A); per day and USDT per day; NaN where history is too short.
    """
    day = times // DAY_MS
    today = int(day[first])
    origin = today - window_days - 1
    begin = int(np.searchsorted(day, origin, side="left"))
    relative = day[begin:stop] - origin
    returns, volumes = _daily(relative, close[begin:stop], quote_volume[begin:stop])
    # the windows of day d end at d − 1; day 0 has no return
    rows = day[first:stop] - today
    sigma = rolling_std(returns[1:-1], window_days, minimum_days)
    volume = rolling_median(volumes[1:-1], window_days, minimum_days)
    return sigma[rows], volume[rows]


def _daily(day: Ints, close: Floats, quote_volume: Floats) -> tuple[Floats, Floats]:
    closes = daily_closes(day, close)
    returns = np.full_like(closes, np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        returns[1:] = np.log(closes[1:] / closes[:-1])
    returns[~np.isfinite(returns)] = np.nan
    return returns, daily_volumes(day, quote_volume)


def _windows(values: Floats, window: int) -> Floats:
    """(window, D − window + 1, A): window position first, so that reductions run over contiguous rows."""
    count = len(values) - window + 1
    return np.stack([values[offset : offset + count] for offset in range(window)])
