"""How sure a difference of two scores is: paired stationary bootstrap of daily returns inside each fold."""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

from autoquant.protocol import PROTOCOL
from autoquant.ratchet.state import Trial
from autoquant.stats.bootstrap import stationary_counts

Floats = NDArray[np.float64]


def standard_error(
    trial: Trial, other: Trial, *, samples: int = PROTOCOL.ratchet.standard_error_samples
) -> float | None:
    """Standard error of score(trial) − score(other).

    Per sample and fold one set of days is drawn for both paths (stationary bootstrap, geometric blocks of mean length
    10 days, circular in the fold), both scores are computed from the drawn days, and their difference is taken; the
    answer is the standard deviation (ddof 1) of the differences. The generator is seeded from the two strategy
    digests, so the same pair always gives the same number.

    Returns
    -------
    In units of the score; None when the two do not have the same days, or fewer than two in a fold.

    References
    ----------
    Politis & Romano (1994), JASA 89(428).
    """
    ours, theirs = trial.evaluation.daily_returns, other.evaluation.daily_returns
    lengths = [len(fold) for fold in ours]
    if not lengths or lengths != [len(fold) for fold in theirs] or min(lengths) < 2:
        return None
    seed = hashlib.sha256(f"{trial.strategy} {other.strategy}".encode()).digest()
    generator = np.random.Generator(np.random.PCG64(int.from_bytes(seed, "big")))
    sharpes = np.empty((2, len(lengths), samples))
    for fold, days in enumerate(lengths):
        counts = stationary_counts(generator, samples, days, PROTOCOL.calibration.bootstrap_block_days)
        for path, returns in enumerate((ours[fold], theirs[fold])):
            sharpes[path, fold] = counted_sharpes(counts, np.asarray(returns, dtype=np.float64))
    scores = sharpes.mean(axis=1) - PROTOCOL.score_std_weight * sharpes.std(axis=1)
    return float(np.std(scores[0] - scores[1], ddof=1))


def counted_sharpes(counts: Floats, returns: Floats) -> Floats:
    """Annual Sharpe ratio of each sample: mean / std(ddof 1) · √365, 0 where the std vanishes beside the mean.

    Parameters
    ----------
    counts : (samples, days) how often each day was drawn.
    returns : (days,) daily returns.
    """
    days = returns.size
    level = float(returns.mean())
    centred = returns - level  # keeps the digits of a small variance
    shift = counts @ centred / days
    variance = np.maximum(counts @ (centred * centred) - days * shift * shift, 0.0) / (days - 1)
    mean, spread = level + shift, np.sqrt(variance)
    alive = spread > np.maximum(1e-12 * np.abs(mean), 1e-15)
    annual = np.sqrt(PROTOCOL.calendar.year_days)
    sharpes: Floats = np.divide(mean, spread, out=np.zeros_like(mean), where=alive)
    sharpes *= annual
    return sharpes
