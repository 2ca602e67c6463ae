"""How sure one can be that a Sharpe ratio is above a benchmark.

Sharpe ratios are per period (mean / std, ddof 1) everywhere in this room; `annualised` is for showing them. γ3 and γ4
(raw, normal = 3) are biased moments, T is the number of finite returns.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from autoquant.protocol import PROTOCOL
from autoquant.stats.arrays import DUST, check_share, finite_series


@dataclass(frozen=True)
class Moments:
    """What Sharpe inference needs of a sample."""

    sharpe: float
    """Per period, mean / std (ddof 1)."""
    skew: float
    kurtosis: float
    """Raw: 3 for a normal sample."""
    observations: int


def moments(returns: ArrayLike) -> Moments | None:
    """Per-period Sharpe ratio (ddof 1), skew and raw kurtosis (biased) of the finite returns.

    Parameters
    ----------
    returns : (T,) per-period returns; what is not finite is left out.

    Returns
    -------
    None without two returns that differ.

    Raises
    ------
    ValueError : not one-dimensional.

    >>> found = moments([0.02, -0.01, 0.02, -0.01])
    >>> round(found.sharpe, 6), round(abs(found.skew), 6), round(found.kurtosis, 6), found.observations
    (0.288675, 0.0, 1.0, 4)
    """
    values = finite_series(returns)
    if len(values) < 2:
        return None
    centred = values - values.mean()
    spread = float(np.sqrt((centred**2).mean()))
    if spread <= DUST * abs(float(values.mean())):
        return None
    unit = centred / spread
    return Moments(
        sharpe=float(values.mean() / values.std(ddof=1)),
        skew=float((unit**3).mean()),
        kurtosis=float((unit**4).mean()),
        observations=len(values),
    )


def annualised(sharpe: float) -> float:
    """Per-period (daily) Sharpe ratio × √365, for showing only.

    >>> annualised(1 / 365**0.5)
    1.0
    """
    return sharpe * math.sqrt(PROTOCOL.calendar.year_days)


def probabilistic_sharpe(
    sharpe: float, observations: int, *, skew: float = 0.0, kurtosis: float = 3.0, benchmark: float = 0.0
) -> float:
    """Probability that the true Sharpe ratio exceeds `benchmark`, one-sided.

    Φ[(SR − SR*)·√(T−1) / √(1 − γ3·SR + (γ4−1)/4·SR²)], the variance taken at the observed SR (the 2012 form; the 2025
    revision takes it at SR* and gives other numbers).

    Parameters
    ----------
    sharpe, benchmark : per-period ratios, mean / std (ddof 1); not annualised.
    observations : number of returns T.
    skew, kurtosis : γ3 and raw γ4 (normal: 0 and 3) of the returns, biased moments.

    Returns
    -------
    0 … 1; 0.5 for fewer than two observations, where nothing is known.

    References
    ----------
    Bailey & López de Prado (2012), The Sharpe Ratio Efficient Frontier, J. Risk 15(2).

    >>> round(probabilistic_sharpe(0.458, 24), 6)
    0.981675
    """
    if observations < 2:
        return 0.5
    variance = sharpe_variance(sharpe, skew, kurtosis)
    if variance <= 0:  # possible with unmatched moments only: for any sample it is positive
        return float(sharpe > benchmark)
    return float(ndtr((sharpe - benchmark) * math.sqrt(observations - 1) / math.sqrt(variance)))


def sharpe_interval(returns: ArrayLike, coverage: float = 0.95) -> tuple[float, float] | None:
    """Interval that covers the true Sharpe ratio of a sample: SR ± Φ⁻¹(½ + coverage/2) · σ(SR).

    σ²(SR) = (1 − γ3·SR + (γ4−1)/4·SR²) / (T−1), what `probabilistic_sharpe` uses.

    Parameters
    ----------
    returns : (T,) per-period returns; what is not finite is left out.
    coverage : 0 … 1.

    Returns
    -------
    Low and high, per period; None where the returns never move or are fewer than two.

    Raises
    ------
    ValueError : coverage outside (0, 1), or returns not one-dimensional.

    References
    ----------
    Mertens (2002), Comments on variance of the IID estimator in Lo (2002).

    >>> [round(bound, 6) for bound in sharpe_interval([0.01, -0.01] * 50)]
    [-0.196984, 0.196984]
    """
    check_share("coverage", coverage)
    sample = moments(returns)
    if sample is None:
        return None
    variance = max(sharpe_variance(sample.sharpe, sample.skew, sample.kurtosis), 0.0)
    half = float(ndtri(0.5 + coverage / 2.0)) * math.sqrt(variance / (sample.observations - 1))
    return sample.sharpe - half, sample.sharpe + half


def probabilistic_sharpe_of(returns: ArrayLike, benchmark: float = 0.0) -> float:
    """`probabilistic_sharpe` of a sample, its moments estimated from it.

    Parameters
    ----------
    returns : (T,) per-period returns; what is not finite is left out.
    benchmark : per-period Sharpe ratio to beat.

    Returns
    -------
    0 … 1; 0.5 where the returns never move (or are fewer than two): no ratio, no evidence.
    """
    sample = moments(returns)
    if sample is None:
        return 0.5
    return probabilistic_sharpe(
        sample.sharpe, sample.observations, skew=sample.skew, kurtosis=sample.kurtosis, benchmark=benchmark
    )


def minimum_track_record(
    sharpe: float, *, skew: float = 0.0, kurtosis: float = 3.0, benchmark: float = 0.0, confidence: float = 0.95
) -> float:
    """Observations after which PSR(SR*) reaches `confidence`, if the moments stay what they are.

    MinTRL = 1 + (1 − γ3·SR + (γ4−1)/4·SR²) · (z / (SR − SR*))², z = Φ⁻¹(confidence); not rounded.

    Parameters
    ----------
    sharpe, benchmark : per-period ratios; not annualised.
    skew, kurtosis : γ3 and raw γ4 of the returns, biased moments.
    confidence : 0.5 … 1, exclusive of 1.

    Returns
    -------
    Number of periods (÷ periods per year: years); ∞ where SR ≤ SR*.

    Raises
    ------
    ValueError : confidence outside [0.5, 1).

    References
    ----------
    Bailey & López de Prado (2012), The Sharpe Ratio Efficient Frontier, J. Risk 15(2), "Track record length" (MinTRL).

    >>> round(minimum_track_record(0.7079, skew=-0.2250, kurtosis=2.9570) / 12, 6)
    0.715216
    """
    if not 0.5 <= confidence < 1.0:
        raise ValueError(f"confidence is at least 0.5 and below 1, not {confidence}")
    if sharpe <= benchmark:
        return math.inf
    variance = max(sharpe_variance(sharpe, skew, kurtosis), 0.0)
    return 1.0 + variance * (float(ndtri(confidence)) / (sharpe - benchmark)) ** 2


def sharpe_variance(sharpe: float, skew: float = 0.0, kurtosis: float = 3.0) -> float:
    """(T−1) times the sampling variance of a Sharpe ratio: 1 − γ3·SR + (γ4−1)/4·SR².

    The 2012 form, taken at the observed SR. Never negative for the moments of a sample, since γ4 ≥ 1 + γ3².

    References
    ----------
    Mertens (2002); Bailey & López de Prado (2012), the standard deviation inside PSR.

    >>> sharpe_variance(2.0)
    3.0
    """
    return 1.0 - skew * sharpe + (kurtosis - 1.0) / 4.0 * sharpe * sharpe
