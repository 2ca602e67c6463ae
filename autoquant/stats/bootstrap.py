"""Resampling days in blocks: stationary and circular draws, how often each day was drawn, how long blocks should be."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from autoquant.stats.arrays import DUST, Floats, finite_series

Whole = TypeVar("Whole", np.int32, np.int64)


def stationary_days(starts: NDArray[Whole], begins: NDArray[np.bool_], axis: int) -> NDArray[Whole]:
    """Days of a circular stationary bootstrap (Politis & Romano 1994, JASA 89(428)).

    A block begins where `begins` says so, and always at the first place, at the day in `starts`; from there on days
    follow each other, the first after the last.

    Parameters
    ----------
    starts : uniform days, 0 … n−1, with n places along `axis`.
    begins : same shape, true with probability 1 / mean block length.

    Returns
    -------
    Days in the shape and type of `starts`.

    >>> stationary_days(np.array([3, 0, 1, 2]), np.array([False, False, True, False]), 0).tolist()
    [3, 0, 1, 2]
    """
    days = starts.shape[axis]
    shape = [1] * starts.ndim
    shape[axis] = days
    position = np.arange(days, dtype=starts.dtype).reshape(shape)
    block = np.maximum.accumulate(np.where(begins, position, starts.dtype.type(0)), axis=axis)
    return np.asarray((np.take_along_axis(starts, block, axis=axis) + position - block) % days, dtype=starts.dtype)


def stationary_counts(rng: np.random.Generator, samples: int, days: int, mean_block: float) -> Floats:
    """How often each day is drawn in each stationary-bootstrap sample of as many days.

    A block starts at a uniform day and goes on, around the end, with probability 1 − 1/mean_block per day.

    Parameters
    ----------
    rng : source of starts and lengths.
    samples, days : shape.
    mean_block : mean block length in days, at least 1 (1: each day on its own).

    Returns
    -------
    (samples, days), each row summing to `days`. Counts say all that a mean or a variance of the drawn days needs:
    `counts @ panel / days` are the samples' means.

    Raises
    ------
    ValueError : no samples, no days, or mean_block below 1.

    References
    ----------
    Politis & Romano (1994), The Stationary Bootstrap, JASA 89(428).

    >>> stationary_counts(np.random.default_rng(0), 2, 5, 3.0).sum(axis=1).tolist()
    [5.0, 5.0]
    """
    if samples < 1 or days < 1 or not mean_block >= 1.0:
        raise ValueError(f"{samples} samples of {days} days in blocks of {mean_block}: each is at least 1")
    starts = rng.integers(days, size=(samples, days), dtype=np.int32)
    begins = rng.random((samples, days), dtype=np.float32) < 1.0 / mean_block
    begins[:, 0] = True
    # Counted by blocks, not by days: one more from a block's first day on, one less from the day behind its last.
    places = np.flatnonzero(begins)
    first = starts.ravel()[places].astype(np.int64)
    behind = first + np.diff(places, append=begins.size)
    row = places // days * (days + 1)
    around = behind > days
    more = np.concatenate([row + first, row[around]])
    less = np.concatenate([row + np.minimum(behind, days), (row + behind)[around] - days])
    size = samples * (days + 1)
    steps = np.bincount(more, minlength=size) - np.bincount(less, minlength=size)
    return np.cumsum(steps.reshape(samples, days + 1)[:, :days], axis=1).astype(np.float64)


def counted_sharpes(counts: Floats, panel: Floats) -> Floats:
    """Per-period Sharpe ratio (mean / std, ddof 1) of each column in each sample; 0 where the std vanishes.

    Parameters
    ----------
    counts : (samples, T) how often each day was drawn, rows summing to T.
    panel : (T, n) per-period returns.

    Returns
    -------
    (samples, n).

    >>> counted_sharpes(np.array([[1.0, 1.0], [2.0, 0.0]]), np.array([[0.03], [0.01]])).round(6).tolist()
    [[1.414214], [0.0]]
    """
    days = len(panel)
    level = panel.mean(axis=0)
    centred = panel - level  # keeps the digits of a small variance
    shift = counts @ centred / days
    variance = np.maximum(counts @ (centred * centred) - days * shift * shift, 0.0) / (days - 1)
    mean, spread = level + shift, np.sqrt(variance)
    alive = spread > np.maximum(DUST * np.abs(mean), 1e-9 * panel.std(axis=0))
    sharpes: Floats = np.divide(mean, spread, out=np.zeros_like(mean), where=alive)
    return sharpes


def block_sums(rows: NDArray[np.int64], values: Floats, length: int) -> Floats:
    """Sums of `length` successive values from each start in `rows`, going around the end.

    Parameters
    ----------
    rows : starts, 0 … T−1, any shape.
    values : (T,) or (T, n).
    length : 1 … T.

    Returns
    -------
    Shape of `rows`, followed by n.

    >>> block_sums(np.array([0, 2]), np.array([1.0, 2.0, 4.0]), 2).tolist()
    [3.0, 5.0]
    """
    around = np.concatenate([values, values[: length - 1]])
    windows = np.lib.stride_tricks.sliding_window_view(around, length, axis=0)
    return np.asarray(windows.sum(axis=-1)[rows])


@dataclass(frozen=True)
class BlockLength:
    """Mean-square optimal block lengths for the mean of a series, in periods, not rounded."""

    stationary: float
    circular: float


def optimal_block_length(returns: ArrayLike) -> BlockLength | None:
    """Automatic block length of Politis & White, in the corrected version.

    b = (2·G² / D)^(1/3) · T^(1/3) with G = Σ λ(k/M)·|k|·R(k), D = c·(Σ λ(k/M)·R(k))², c = 2 for the stationary and 4/3
    for the circular bootstrap, λ the flat-top kernel, and M twice the lag after which K_T = max(5, ⌊log₁₀ T⌋)
    autocorrelations in a row stay inside ±2·√(log₁₀ T / T). At most min(3·√T, T/3), rounded up.

    Parameters
    ----------
    returns : (T,) a series, in time order; what is not finite is left out.

    Returns
    -------
    None for fewer than 16 values or a series that does not move.

    Raises
    ------
    ValueError : not one-dimensional.

    References
    ----------
    Politis & White (2004), Econometric Reviews 23(1), section 3; Patton, Politis & White (2009), Econometric
    Reviews 28(4). The same numbers as `arch.bootstrap.optimal_block_length`.

    >>> noise = np.random.default_rng(0).normal(size=507)
    >>> smooth = np.convolve(noise, np.ones(8), mode="valid")
    >>> optimal_block_length(smooth).circular > 10 > optimal_block_length(noise).circular
    True
    """
    values = finite_series(returns)
    count = len(values)
    if count < 16 or not values.std() > DUST * abs(values.mean()):
        return None
    centred = values - values.mean()
    run = max(5, int(math.log10(count)))
    lags = math.ceil(math.sqrt(count)) + run
    lags = min(lags, count - 2)
    cross = np.array([centred[lag:] @ centred[: count - lag] for lag in range(lags + 1)])
    head = np.cumsum(centred**2)
    # as in arch: norms of the series without its first and without its last lag + 1 values
    norms = np.sqrt((head[-1] - head[: lags + 1]) * head[count - 2 - np.arange(lags + 1)])
    small = np.abs(cross) < 2.0 * math.sqrt(math.log10(count) / count) * norms
    quiet = [lag for lag in range(lags + 1 - run) if small[lag : lag + run].all()]
    bandwidth = min(2 * max(quiet[0], 1), lags) if quiet else lags
    lag = np.arange(1, bandwidth + 1)
    kernel = np.minimum(1.0, 2.0 * (1.0 - lag / bandwidth))
    covariance = cross[1 : bandwidth + 1] / count
    tilt = float(2.0 * (kernel * lag * covariance).sum())
    long_run = float(cross[0] / count + 2.0 * (kernel * covariance).sum())
    most = float(math.ceil(min(3.0 * math.sqrt(count), count / 3.0)))

    def length(constant: float) -> float:
        spread = constant * long_run * long_run
        return min((2.0 * tilt * tilt / spread * count) ** (1.0 / 3.0), most) if spread > 0.0 else most

    return BlockLength(stationary=length(2.0), circular=length(4.0 / 3.0))
