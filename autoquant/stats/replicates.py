"""Repeated races of one competitor: the race is the unit, and the spread between races is what luck does."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtr, stdtrit

from autoquant.stats.arrays import DUST, Floats, check_share

REPLICATES_LEAST = 2
"""Of one race nothing is known of the spread."""


@dataclass(frozen=True)
class MeanDifference:
    """Mean result of the first competitor's races minus that of the second's."""

    difference: float
    standard_error: float
    degrees: float
    """Of freedom, Welch-Satterthwaite; fractional."""
    low: float
    high: float
    p_value: float
    """Two-sided; below 1 − coverage exactly when the interval leaves 0 out."""


def welch(first: ArrayLike, second: ArrayLike, *, coverage: float = 0.95) -> MeanDifference | None:
    """Welch's t interval and test of two means, variances not assumed equal.

    d = x̄₁ − x̄₂, s² = s₁²/n₁ + s₂²/n₂ (ddof 1), ν = s⁴ / [(s₁²/n₁)²/(n₁−1) + (s₂²/n₂)²/(n₂−1)]; the interval is
    d ± t_ν(½ + coverage/2) · s, and p = 2·P(T_ν > |d|/s).

    Parameters
    ----------
    first, second : one result per race (champion's score, say) of each competitor.
    coverage : of the interval.

    Returns
    -------
    In the unit of the results. None for fewer than two results on a side, or where neither side spreads though the
    means differ. Results that are all equal: 0 ± 0, p = 1.

    Raises
    ------
    ValueError : not one row each, a value is not finite, coverage outside (0, 1).

    Notes
    -----
    The races are few: with two on each side t is 4.3 to 12.7, and hardly anything separates.

    References
    ----------
    Welch (1947), Biometrika 34(1/2), eq. 29; Satterthwaite (1946), Biometrics Bulletin 2(6).

    >>> found = welch([0.9, 1.1, 1.0], [0.2, 0.4])
    >>> round(found.difference, 3), round(found.degrees, 3), round(found.p_value, 4)
    (0.7, 1.684, 0.0387)
    """
    check_share("coverage", coverage)
    one, other = _results(first), _results(second)
    if min(len(one), len(other)) < REPLICATES_LEAST:
        return None
    difference = float(one.mean() - other.mean())
    parts = [_variance(results) / len(results) for results in (one, other)]
    error = math.sqrt(sum(parts))
    if error == 0.0:
        count = len(one) + len(other)
        same = abs(difference) <= DUST * abs(float(one.mean()))
        return MeanDifference(0.0, 0.0, float(count - 2), 0.0, 0.0, 1.0) if same else None
    shares = [part / (error * error) for part in parts]
    degrees = 1.0 / sum(s * s / (len(results) - 1) for s, results in zip(shares, (one, other), strict=True))
    half = float(stdtrit(degrees, 0.5 + coverage / 2.0)) * error
    return MeanDifference(
        difference=difference,
        standard_error=error,
        degrees=degrees,
        low=difference - half,
        high=difference + half,
        p_value=min(1.0, 2.0 * float(stdtr(degrees, -abs(difference) / error))),
    )


def pooled_spread(groups: Sequence[ArrayLike]) -> float | None:
    """Standard deviation between races of one competitor, from all competitors that raced at least twice.

    σ = √[Σ (nᵢ−1)·sᵢ² / Σ (nᵢ−1)].

    Parameters
    ----------
    groups : per competitor the results of its races; one with a single race tells nothing.

    Returns
    -------
    None without a competitor that raced twice.

    Raises
    ------
    ValueError : a group is not one row, or a value is not finite.

    >>> round(pooled_spread([[1.0, 1.2], [0.3, 0.5, 0.4], [2.0]]), 6)
    0.11547
    """
    rows = [row for row in map(_results, groups) if len(row) >= REPLICATES_LEAST]
    degrees = sum(len(row) - 1 for row in rows)
    return math.sqrt(sum((len(row) - 1) * _variance(row) for row in rows) / degrees) if degrees else None


def _results(values: ArrayLike) -> Floats:
    row: Floats = np.asarray(values, dtype=np.float64)
    if row.ndim != 1 or not np.isfinite(row).all():
        raise ValueError("results of races are one row of finite numbers")
    return row


def _variance(row: Floats) -> float:
    """With ddof 1; what is rounding beside the mean is 0."""
    variance = float(row.var(ddof=1))
    return variance if math.sqrt(variance) > DUST * abs(float(row.mean())) else 0.0
