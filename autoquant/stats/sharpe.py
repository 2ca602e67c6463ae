"""How sure one can be that a Sharpe ratio is above a benchmark."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri


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
    variance = 1.0 - skew * sharpe + (kurtosis - 1.0) / 4.0 * sharpe * sharpe
    if variance <= 0:  # possible with unmatched moments only: for any sample it is positive
        return float(sharpe > benchmark)
    return float(ndtr((sharpe - benchmark) * math.sqrt(observations - 1) / math.sqrt(variance)))


def sharpe_interval(returns: ArrayLike, coverage: float = 0.95) -> tuple[float, float] | None:
    """Interval that covers the true Sharpe ratio of a sample: SR ± Φ⁻¹(½ + coverage/2) · σ(SR).

    σ²(SR) = (1 − γ3·SR + (γ4−1)/4·SR²) / (T−1), what `probabilistic_sharpe` uses.

    Parameters
    ----------
    returns : (T,) finite per-period returns.
    coverage : 0 … 1.

    Returns
    -------
    Low and high, per period; None where the returns never move or are fewer than two.

    References
    ----------
    Mertens (2002), Comments on variance of the IID estimator in Lo (2002).

    >>> [round(bound, 6) for bound in sharpe_interval([0.01, -0.01] * 50)]
    [-0.196984, 0.196984]
    """
    moments = _moments(returns)
    if moments is None:
        return None
    sharpe, skew, kurtosis = moments
    variance = 1.0 - skew * sharpe + (kurtosis - 1.0) / 4.0 * sharpe * sharpe
    half = float(ndtri(0.5 + coverage / 2.0)) * math.sqrt(max(variance, 0.0) / (np.size(returns) - 1))
    return sharpe - half, sharpe + half


def probabilistic_sharpe_of(returns: ArrayLike, benchmark: float = 0.0) -> float:
    """`probabilistic_sharpe` of a sample, its moments estimated from it.

    Parameters
    ----------
    returns : (T,) finite per-period returns.
    benchmark : per-period Sharpe ratio to beat.

    Returns
    -------
    0 … 1; 0.5 where the returns never move (or are fewer than two): no ratio, no evidence.
    """
    moments = _moments(returns)
    if moments is None:
        return 0.5
    sharpe, skew, kurtosis = moments
    return probabilistic_sharpe(sharpe, np.size(returns), skew=skew, kurtosis=kurtosis, benchmark=benchmark)


def _moments(returns: ArrayLike) -> tuple[float, float, float] | None:
    """Per-period Sharpe ratio (ddof 1), skew and raw kurtosis (biased); None without two returns that differ."""
    values = np.asarray(returns, dtype=np.float64)
    if len(values) < 2:
        return None
    centred = values - values.mean()
    spread = float(np.sqrt((centred**2).mean()))
    if spread <= 1e-12 * abs(float(values.mean())):
        return None
    unit = centred / spread
    return float(values.mean() / values.std(ddof=1)), float((unit**3).mean()), float((unit**4).mean())
