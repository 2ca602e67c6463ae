"""Sharpe ratio, drawdown and score: what a path of equity is worth. Arrays in, numbers out."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from autoquant.oracle.folds import DAY_MS
from autoquant.protocol import PROTOCOL

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_RELATIVE_ZERO = 1e-12
"""A standard deviation this small against the mean is rounding: the returns are constant."""


def daily_rows(times: Ints, bar_ms: int) -> Ints:
    """Bar whose close equity stands for each 00:00 UTC after the first open; the last one is the last bar.

    Parameters
    ----------
    times : (n,) open times, ms UTC, increasing.
    bar_ms : length of a bar.

    Returns
    -------
    (d,) rows; −1 where no bar has closed yet. A part of a day at the end counts as a day.

    >>> hour = 3_600_000
    >>> daily_rows(np.arange(12) * 4 * hour, 4 * hour).tolist()
    [5, 11]
    """
    closes = times + bar_ms
    midnights = np.arange(times[0] // DAY_MS + 1, -(-closes[-1] // DAY_MS) + 1) * DAY_MS
    rows = np.searchsorted(closes, midnights, side="right") - 1
    rows[-1] = len(times) - 1
    return np.asarray(rows, dtype=np.int64)


def daily_returns(equity: Floats, rows: Ints) -> Floats:
    """Simple returns between 00:00 samples along axis 0, the first measured from 1; after ruin −1 once, then 0.

    Parameters
    ----------
    equity : (n, …) equity at bar closes.
    rows : (d,) of `daily_rows`.
    """
    path = np.concatenate([np.ones((1, *equity.shape[1:])), equity])
    samples = np.concatenate([path[:1], path[rows + 1]])
    before = samples[:-1]
    change = np.zeros_like(before)
    np.divide(samples[1:] - before, before, out=change, where=before > 0)
    return change


def sharpe_ratio(returns: ArrayLike, periods: int = PROTOCOL.calendar.year_days) -> float:
    """Annualised mean over standard deviation, mean / std(ddof=1) · √periods.

    Constant returns (std 0, or below 1e-12 of the mean) and fewer than two of them give 0: no risk was measured, so no
    ratio is claimed.

    Parameters
    ----------
    returns : (d,) per-period returns, finite.
    periods : periods in a year; 365 for daily returns of a market that never closes.

    >>> round(sharpe_ratio([0.01, 0.02, -0.01, 0.03], 252), 6)
    11.61895
    """
    return float(sharpe_ratios(np.asarray(returns, dtype=np.float64), periods))


def sharpe_ratios(returns: Floats, periods: int = PROTOCOL.calendar.year_days) -> Floats:
    """`sharpe_ratio` along axis 0 of (d, …); shape (…)."""
    if len(returns) < 2:
        return np.zeros(returns.shape[1:])
    mean = returns.mean(axis=0)
    deviation = returns.std(axis=0, ddof=1)
    moves = (deviation > 0) & (deviation >= _RELATIVE_ZERO * np.abs(mean))
    ratio = np.zeros_like(deviation)
    np.divide(mean, deviation, out=ratio, where=moves)
    return np.asarray(ratio * math.sqrt(periods))


def volatility(returns: ArrayLike, periods: int = PROTOCOL.calendar.year_days) -> float:
    """Annualised standard deviation (ddof 1) of per-period returns; 0 for fewer than two."""
    values = np.asarray(returns, dtype=np.float64)
    return float(values.std(ddof=1) * math.sqrt(periods)) if len(values) > 1 else 0.0


def max_drawdown(equity: ArrayLike) -> float:
    """Largest fall from a running peak as a fraction of it, 0 … 1; the path starts at 1, so a first loss counts.

    >>> round(max_drawdown([0.9, 0.75, 0.7875]), 12)
    0.25
    """
    path = np.concatenate([[1.0], np.asarray(equity, dtype=np.float64)])
    peak = np.maximum.accumulate(path)
    return float(((peak - path) / peak).max())


def score(sharpes: Sequence[float], std_weight: float = PROTOCOL.score_std_weight) -> float:
    """The race's number: mean(fold Sharpe) − 0.5 · std(fold Sharpe, ddof=0).

    >>> round(score([1, 2, 3, 4, 5, 6]), 12)
    2.64608743617
    """
    return float(scores(np.asarray(sharpes, dtype=np.float64), std_weight))


def scores(sharpes: Floats, std_weight: float = PROTOCOL.score_std_weight) -> Floats:
    """`score` along axis 0 of (folds, …); shape (…)."""
    return np.asarray(sharpes.mean(axis=0) - std_weight * sharpes.std(axis=0))


def chain(equities: Sequence[Floats]) -> Floats:
    """One path out of folds that each start from 1: fold equities multiplied, in the order given."""
    path, level = [], 1.0
    for equity in equities:
        path.append(level * equity)
        level = float(path[-1][-1])
    return np.concatenate(path)
