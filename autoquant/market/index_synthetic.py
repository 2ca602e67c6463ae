"""A made-up pair of indices: sessions of 375 minutes, correlated like the real ones. Never a result."""

from __future__ import annotations

import numpy as np

from autoquant.market.grid import MINUTE_MS
from autoquant.market.indices import DAY_MS, SPLIT, Bars

DEFAULT_SEED = 14
"""A market on which a cooldown that is one bar off shows in the Sharpe ratio, as it does on the reference set."""
SESSION_MINUTES = 375
OPENS_AT_MINUTE = 9 * 60 + 15
SHOWN_BARS, HIDDEN_BARS = 737_587, 282_950
"""As many as the reference set has."""


def synthetic_indices(
    seed: int = DEFAULT_SEED, *, shown: int = SHOWN_BARS, hidden: int = HIDDEN_BARS, split: str = SPLIT
) -> Bars:
    """Minute bars of both indices, `shown` of them before the split.

    Returns of a minute have a common part (correlation about 0.85), volatility that clusters by day, and a gap at each
    opening. Prices are on a grid of 0.05 points.

    Parameters
    ----------
    seed : names the market.
    shown, hidden : bars before the split and from it on.
    split : day on which the hidden part starts; sessions are laid out around it on weekdays.
    """
    rng = np.random.Generator(np.random.PCG64(seed))
    count = shown + hidden
    times = np.concatenate([_minutes_before(split, shown), _minutes_from(split, hidden)])
    day = np.concatenate([[0], np.cumsum(np.diff(times) > 6 * 3_600_000)])
    daily = np.exp(0.35 * _slow(rng, int(day[-1]) + 1))
    calm = 0.0004 * daily[day]
    common = rng.standard_normal(count)
    prices = []
    for start, beta in ((8_285.0, 1.0), (18_700.0, 1.25)):
        own = rng.standard_normal(count)
        moves = calm * beta * (0.92 * common + 0.39 * own) + 3e-8
        moves[1:][np.diff(day) > 0] *= 8.0
        prices.append(_bars(rng, start * np.exp(np.cumsum(moves)), calm * beta))
    return Bars(times, np.ascontiguousarray(np.vstack(prices)))


def _slow(rng: np.random.Generator, days: int) -> np.ndarray:
    """An autoregression over days, standard deviation 1."""
    shocks = rng.standard_normal(days) * np.sqrt(1 - 0.97**2)
    level, path = rng.standard_normal(), np.empty(days)
    for place, shock in enumerate(shocks):
        level = 0.97 * level + shock
        path[place] = level
    return path


def _bars(rng: np.random.Generator, close: np.ndarray, calm: np.ndarray) -> np.ndarray:
    """(4, T) open, high, low, close on the price grid."""
    opened = np.concatenate([[close[0]], close[:-1]]) * (1 + 0.1 * calm * rng.standard_normal(len(close)))
    reach = np.abs(rng.standard_normal((2, len(close)))) * calm * close * 0.5
    high, low = np.maximum(opened, close) + reach[0], np.minimum(opened, close) - reach[1]
    return np.round(np.vstack([opened, high, low, close]) * 20.0) / 20.0


def _minutes_from(day: str, bars: int) -> np.ndarray:
    days = -(-bars // SESSION_MINUTES)
    return _sessions(np.busday_offset(day, np.arange(days), roll="forward"))[:bars]


def _minutes_before(day: str, bars: int) -> np.ndarray:
    days = -(-bars // SESSION_MINUTES)
    return _sessions(np.busday_offset(day, np.arange(-days, 0), roll="forward"))[days * SESSION_MINUTES - bars :]


def _sessions(days: np.ndarray) -> np.ndarray:
    """Every minute of the sessions on these days."""
    minutes = (OPENS_AT_MINUTE + np.arange(SESSION_MINUTES)) * MINUTE_MS
    starts = days.astype("datetime64[D]").astype(np.int64) * DAY_MS
    return np.asarray((starts[:, None] + minutes[None, :]).reshape(-1), dtype=np.int64)
