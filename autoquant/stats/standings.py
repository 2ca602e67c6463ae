"""How sure the order of the scores is: resampled scores, and the probability of being best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from autoquant.protocol import PROTOCOL
from autoquant.stats.arrays import Floats, check_share, finite_panel
from autoquant.stats.bootstrap import counted_sharpes, stationary_counts
from autoquant.stats.sharpe import annualised


@dataclass(frozen=True)
class Standing:
    """One competitor's score and how far it is to be trusted."""

    score: float
    """mean(fold Sharpe) − 0.5 · std(fold Sharpe), annual."""
    standard_error: float
    low: float
    high: float
    best: float
    """Share of the samples in which this competitor's score is the highest; ties share. A bootstrap probability of the
    order on these days, which knows nothing of how often each tried."""


def standings(
    folds: Sequence[ArrayLike],
    rng: np.random.Generator,
    *,
    samples: int = 2000,
    mean_block: float = PROTOCOL.calibration.bootstrap_block_days,
    coverage: float = 0.95,
) -> tuple[Standing, ...]:
    """Score, interval and probability of being best of each competitor, by a paired stationary bootstrap in each fold.

    Per sample and fold one set of days is drawn for all; scores come from the drawn days. A bootstrap score is biased
    (resampling spreads the folds), so samples are moved by their mean's distance from the score; the interval is
    score ± z · standard error.

    Parameters
    ----------
    folds : per fold (days, n) daily returns, one column per competitor, the same n in each.
    rng : source of the samples.
    samples, mean_block : of the bootstrap, blocks in days and circular in the fold.
    coverage : of the intervals.

    Returns
    -------
    One per column; `best` sums to 1 over them.

    Raises
    ------
    ValueError : no fold, folds of different competitors, fewer than two days in a fold, a value that is not finite,
        fewer than two samples, coverage outside (0, 1).

    References
    ----------
    Politis & Romano (1994), JASA 89(428).

    >>> rng = np.random.default_rng(0)
    >>> folds = [rng.normal((0.003, 0.0), 0.01, (122, 2)) for _ in range(6)]
    >>> first, second = standings(folds, np.random.default_rng(1), samples=500)
    >>> first.low > 0 > second.score, first.best > 0.95, round(first.best + second.best, 12)
    (True, True, 1.0)
    """
    check_share("coverage", coverage)
    panels = [finite_panel(fold) for fold in folds]
    if not panels or len({panel.shape[1] for panel in panels}) > 1 or min(map(len, panels)) < 2:
        raise ValueError("there is at least one fold, each with two days or more of the same competitors")
    if samples < 2:
        raise ValueError(f"an error needs two samples, not {samples}")
    if not panels[0].shape[1]:
        return ()
    # who holds the same returns ties to the last bit only when they are drawn once: products differ by column
    places: dict[bytes, int] = {}
    column = [places.setdefault((days + 0.0).tobytes(), len(places)) for days in np.concatenate(panels).T]
    first = [column.index(place) for place in range(len(places))]
    panels = [panel[:, first] for panel in panels]
    once = [np.ones((1, len(panel))) for panel in panels]
    score = scores(panels, once)[0]
    drawn = scores(panels, [stationary_counts(rng, samples, len(panel), mean_block) for panel in panels])
    drawn += score - drawn.mean(axis=0)
    error = drawn.std(axis=0, ddof=1)
    half = float(ndtri(0.5 + coverage / 2.0)) * error
    shares = probability_best(drawn[:, column])
    return tuple(
        Standing(float(s), float(e), float(s - h), float(s + h), best)
        for s, e, h, best in zip(score[column], error[column], half[column], shares, strict=True)
    )


def scores(panels: Sequence[Floats], counts: Sequence[Floats]) -> Floats:
    """Race scores of samples given as day counts per fold: (samples, n), annual."""
    sharpes = np.stack([counted_sharpes(count, panel) for panel, count in zip(panels, counts, strict=True)])
    spread = sharpes.std(axis=0)
    return np.asarray(annualised(1.0) * (sharpes.mean(axis=0) - PROTOCOL.score_std_weight * spread))


def probability_best(drawn: Floats) -> tuple[float, ...]:
    """Share of the samples in which each column is highest; columns that tie share the sample.

    Parameters
    ----------
    drawn : (samples, n) figures, higher is better.

    Returns
    -------
    n shares that sum to 1.

    >>> probability_best(np.array([[1.0, 0.0], [2.0, 2.0]]))
    (0.75, 0.25)
    """
    highest = drawn == drawn.max(axis=1, keepdims=True)
    shares = (highest / highest.sum(axis=1, keepdims=True)).mean(axis=0)
    return tuple(float(share) for share in shares)
