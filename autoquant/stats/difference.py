"""Whether two Sharpe ratios differ: Ledoit & Wolf's studentised bootstrap on paired days."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri

from autoquant.stats.arrays import Floats, check_share, finite_panel, moving
from autoquant.stats.bootstrap import block_sums, optimal_block_length

PERIODS_LEAST = 50
BLOCK_LEAST = 5
BLOCKS_LEAST = 10
"""A sample is studentised by its own blocks; fewer than ten tell nothing of a variance."""
SINGULAR_MOST = 0.97
"""Cap on the singular values of the prewhitening matrix (Andrews & Monahan 1992, p. 957)."""


@dataclass(frozen=True)
class SharpeDifference:
    """Sharpe ratio of the first series minus that of the second, per period."""

    difference: float
    standard_error: float
    low: float
    high: float
    p_value: float
    """Two-sided; at most 1 − coverage exactly when the interval leaves 0 out."""
    block: int
    """Block length of the bootstrap, in periods; 0 without one."""
    observations: int


def sharpe_difference(
    first: ArrayLike,
    second: ArrayLike,
    rng: np.random.Generator,
    *,
    samples: int = 4999,
    coverage: float = 0.95,
    block: int | None = None,
) -> SharpeDifference | None:
    """Difference of two Sharpe ratios, its HAC standard error, and a studentised bootstrap's interval and p-value.

    Δ = μ₁/σ₁ − μ₂/σ₂, s² = ∇ᵀΨ∇ / T with Ψ the prewhitened Parzen-kernel covariance of (r₁, r₂, r₁², r₂²) and
    ∇ = (γ₁/σ₁³, −γ₂/σ₂³, −½μ₁/σ₁³, +½μ₂/σ₂³), γ the second moments. In a sample of circular blocks d* = |Δ* − Δ| / s*,
    s* from the sample's blocks; p = (1 + #{d* ≥ |Δ|/s}) / (B + 1), and the interval is Δ ± s times a quantile of d*.

    Parameters
    ----------
    first, second : (T,) per-period returns of the same periods, T ≥ 50.
    rng : source of the blocks. The same state draws the same places for any pair, so that a pair's result does not
        depend on who else is compared.
    samples : bootstrap samples B; (B+1)·(1−coverage) should be whole.
    coverage : of the interval.
    block : block length; by default the optimal circular one of the difference's influence series, from 5 to T/10.

    Returns
    -------
    Per period. None where a series never moves or periods are fewer than 50. Equal series: all 0, p = 1.

    Raises
    ------
    ValueError : lengths differ, a value is not finite, coverage outside (0, 1), block below 1 or above T/2, no samples.

    Notes
    -----
    Each series is divided by its sd first, which changes no Sharpe ratio: Andrews' bandwidth weighs the four series by
    their variance, so that the authors' code gives percent and fractions different errors. Samples hold whole blocks
    only, ⌊T/b⌋ of them.

    References
    ----------
    Ledoit & Wolf (2008), Robust performance hypothesis testing with the Sharpe ratio, J. Empirical Finance 15(5),
    eqs. 3–5 and section 3.2; Andrews (1991), eq. 6.4; Andrews & Monahan (1992).

    >>> rng = np.random.default_rng(0)
    >>> skilled, other = rng.normal(0.3, 1.0, 400), rng.normal(0.0, 1.0, 400)
    >>> found = sharpe_difference(skilled, other, np.random.default_rng(1), samples=999)
    >>> found.low > 0, found.p_value
    (True, 0.001)
    """
    check_share("coverage", coverage)
    if np.shape(first) != np.shape(second):
        raise ValueError(f"two series of the same periods are compared, not {np.shape(first)} and {np.shape(second)}")
    pair = finite_panel(np.column_stack([first, second]))
    if samples < 1 or (block is not None and not 1 <= block <= len(pair) // 2):
        raise ValueError(f"{samples} samples of blocks of {block}: at least 1, and at most half of {len(pair)} periods")
    periods = len(pair)
    if periods < PERIODS_LEAST or not moving(pair).all():
        return None
    pair = pair / pair.std(axis=0)
    difference = float(np.subtract(*sharpes(pair.sum(axis=0), (pair**2).sum(axis=0), periods)))
    length = chosen_block(pair) if block is None else block
    places = rng.random((samples, periods // min(length, BLOCK_LEAST)))
    if np.allclose(pair[:, 0], pair[:, 1], rtol=0.0, atol=1e-9):
        return SharpeDifference(0.0, 0.0, 0.0, 0.0, 1.0, length, periods)
    error = hac_error(pair)
    starts = (places[:, : periods // length] * periods).astype(np.int64)
    drawn = studentised(pair, starts, length, difference)
    place = min(math.ceil(coverage * (samples + 1) - 1e-9), samples)
    half = float(np.partition(drawn, place - 1)[place - 1]) * error
    return SharpeDifference(
        difference=difference,
        standard_error=error,
        low=difference - half,
        high=difference + half,
        p_value=float(1 + (drawn * error >= abs(difference)).sum()) / (samples + 1),
        block=length,
        observations=periods,
    )


def plain_difference(first: ArrayLike, second: ArrayLike, *, coverage: float = 0.95) -> SharpeDifference | None:
    """`sharpe_difference` without its bootstrap, a hundred times as fast: Δ ± z · s, p = 2·Φ(−|Δ|/s), s the HAC error.

    For races with so many pairs that no affordable bootstrap resolves the p-value that Holm asks of the first.

    Parameters
    ----------
    first, second, coverage : as for `sharpe_difference`.

    Returns
    -------
    As `sharpe_difference`, `block` 0.

    Raises
    ------
    ValueError : lengths differ, a value is not finite, coverage outside (0, 1).

    Notes
    -----
    A little too ready to separate: for 732 days with common shocks and changing volatility it rejected 5.0 % of 4,000
    true nulls at 5 % with normal shocks, 6.0 % with t(4) ones (1.6 % at 1 %, 0.3 % at 0.1 %).

    References
    ----------
    Ledoit & Wolf (2008), section 3.1, eqs. 3 and 4.

    >>> rng = np.random.default_rng(0)
    >>> skilled, other = rng.normal(0.3, 1.0, 400), rng.normal(0.0, 1.0, 400)
    >>> found = plain_difference(skilled, other)
    >>> found.low > 0, found.p_value < 0.001
    (True, True)
    """
    check_share("coverage", coverage)
    if np.shape(first) != np.shape(second):
        raise ValueError(f"two series of the same periods are compared, not {np.shape(first)} and {np.shape(second)}")
    pair = finite_panel(np.column_stack([first, second]))
    if len(pair) < PERIODS_LEAST or not moving(pair).all():
        return None
    pair = pair / pair.std(axis=0)
    if np.abs(pair[:, 0] - pair[:, 1]).max() <= 1e-9:
        return SharpeDifference(0.0, 0.0, 0.0, 0.0, 1.0, 0, len(pair))
    difference = float(np.subtract(*sharpes(pair.sum(axis=0), (pair**2).sum(axis=0), len(pair))))
    error = hac_error(pair)
    half = float(ndtri(0.5 + coverage / 2.0)) * error
    p_value = 2.0 * float(ndtr(-abs(difference) / error)) if error > 0.0 else 1.0
    return SharpeDifference(difference, error, difference - half, difference + half, p_value, 0, len(pair))


def chosen_block(pair: Floats) -> int:
    """Block length for the difference of two Sharpe ratios: optimal for the mean of its influence series, 5 … T/10."""
    unit = (pair - pair.mean(axis=0)) / pair.std(axis=0)
    ratio = pair.mean(axis=0) / pair.std(axis=0)
    influence = unit - ratio / 2.0 * (unit**2 - 1.0)
    optimal = optimal_block_length(influence[:, 0] - influence[:, 1])
    wanted = BLOCK_LEAST if optimal is None else math.ceil(optimal.circular)
    return min(max(wanted, BLOCK_LEAST), len(pair) // BLOCKS_LEAST)


def sharpes(sums: Floats, squares: Floats, rows: int) -> Floats:
    """Sharpe ratios (ddof 1) from sums and sums of squares; 0 where nothing moves."""
    mean = sums / rows
    spread = np.sqrt(np.maximum(squares - sums * mean, 0.0) / (rows - 1))
    return np.divide(mean, spread, out=np.zeros_like(mean), where=spread > 1e-9)


def gradient(pair: Floats) -> Floats:
    """∇ of Δ with respect to (μ₁, μ₂, γ₁, γ₂): Ledoit & Wolf (2008), below eq. 3.

    >>> gradient(np.array([[1.0, 2.0], [3.0, 0.0]])).tolist()
    [5.0, -2.0, -1.0, 0.5]
    """
    mean, second = pair.mean(axis=0), (pair**2).mean(axis=0)
    cubed = (second - mean * mean) ** 1.5
    return np.concatenate([second / cubed * (1.0, -1.0), -0.5 * mean / cubed * (1.0, -1.0)])


def hac_error(pair: Floats, *, prewhiten: bool = True) -> float:
    """Standard error of the Sharpe difference: √(∇ᵀΨ∇ / T), Ψ by the Parzen kernel, prewhitened by a VAR(1).

    Parameters
    ----------
    pair : (T, 2) returns. In units of their sd, unless the authors' own numbers are wanted.

    References
    ----------
    Ledoit & Wolf (2008), section 3.1; `compute.se.Parzen` and `compute.se.Parzen.pw` of their code.
    """
    parts = np.column_stack([pair, pair**2])
    parts = parts - parts.mean(axis=0)
    if prewhiten:
        matrix = np.linalg.lstsq(parts[:-1], parts[1:], rcond=None)[0].T
        left, values, right = np.linalg.svd(matrix)
        matrix = (left * np.minimum(values, SINGULAR_MOST)) @ right
        recolour = np.linalg.inv(np.eye(4) - matrix)
        spectrum = recolour @ parzen_covariance(parts[1:] - parts[:-1] @ matrix.T) @ recolour.T
    else:
        spectrum = parzen_covariance(parts)
    slope = gradient(pair)
    return math.sqrt(max(float(slope @ spectrum @ slope), 0.0) / len(pair))


def parzen_covariance(parts: Floats) -> Floats:
    """Long-run covariance by the Parzen kernel, bandwidth after Andrews (1991), small-sample factor T / (T − 4).

    Parameters
    ----------
    parts : (T, k) series without mean.

    Returns
    -------
    (k, k).
    """
    periods = len(parts)
    bandwidth = 2.6614 * (curvature(parts) * periods) ** 0.2
    total: Floats = parts.T @ parts / periods
    for lag in range(1, min(math.ceil(bandwidth), periods)):
        reach = lag / bandwidth
        weight = 1.0 - 6.0 * reach**2 + 6.0 * reach**3 if reach <= 0.5 else 2.0 * (1.0 - reach) ** 3
        lagged = parts[lag:].T @ parts[:-lag] / periods
        total = total + weight * (lagged + lagged.T)
    return np.asarray(total * (periods / (periods - 4)))


def curvature(parts: Floats) -> float:
    """Andrews' α(2) from an AR(1) per series: Σ 4ρ²σ⁴/(1−ρ)⁸ / Σ σ⁴/(1−ρ)⁴ (1991, eq. 6.4)."""
    before, after = parts[:-1] - parts[:-1].mean(axis=0), parts[1:] - parts[1:].mean(axis=0)
    slope = (before * after).sum(axis=0) / np.maximum((before**2).sum(axis=0), 1e-300)
    slope = np.clip(slope, -0.99, 0.99)
    fourth = ((after - slope * before) ** 2).mean(axis=0) ** 2
    return float((4.0 * slope**2 * fourth / (1.0 - slope) ** 8).sum() / (fourth / (1.0 - slope) ** 4).sum())


def studentised(pair: Floats, starts: NDArray[np.int64], length: int, difference: float) -> Floats:
    """d* = |Δ* − Δ| / s* of each sample of whole circular blocks.

    With ψ = e/σ − ½·SR·(e²/σ² − 1) per series (e: return less its mean), ∇ᵀΨ*∇ is the mean over blocks of the squared
    sum of ψ₁ − ψ₂ in the block, divided by its length; all of it comes from block sums.

    Parameters
    ----------
    pair : (T, 2) returns in units of their sd.
    starts : (B, blocks) first period of each block.
    difference : Δ of the pair.

    Returns
    -------
    (B,); ∞ where a sample's blocks are all alike.
    """
    blocks = starts.shape[1]
    rows = blocks * length
    scores, total = [], np.zeros((len(starts), blocks))
    for column, sign in ((0, 1.0), (1, -1.0)):
        sums = block_sums(starts, pair[:, column], length)
        squares = block_sums(starts, pair[:, column] ** 2, length)
        mean = sums.mean(axis=1, keepdims=True) / length
        second = squares.mean(axis=1, keepdims=True) / length
        spread = np.sqrt(np.maximum(second - mean * mean, 1e-18))
        scores.append(mean[:, 0] / spread[:, 0] * math.sqrt((rows - 1) / rows))
        slope, bend = second / spread**3, -0.5 * mean / spread**3
        total += sign * (slope * (sums - length * mean) + bend * (squares - length * second))
    errors = np.sqrt((total**2).mean(axis=1) / length / rows)
    shift = np.abs(scores[0] - scores[1] - difference)
    answer: Floats = np.divide(shift, errors, out=np.full_like(shift, np.inf), where=errors > 0.0)
    return answer
