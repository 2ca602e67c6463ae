"""Whether any of many strategies beats a benchmark, and which: Hansen's SPA and Romano & Wolf's StepM, studentised.

Both treat the strategies as a fixed set. Where each attempt edits the current champion they find skill far too often
(size 60 to 90 % in place of 5 %): optimistic, and labelled so wherever they are shown.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from autoquant.stats.arrays import Bools, Floats, finite_panel, moving
from autoquant.stats.bootstrap import optimal_block_length, stationary_counts

BLOCK_LEAST = 5.0


@dataclass(frozen=True)
class Superiority:
    """Test that no strategy beats the benchmark, and what it says of each."""

    p_consistent: float
    """SPA_c: poor strategies are left out of the null, those near it are not. The one to quote."""
    p_lower: float
    """SPA_l, too small: every strategy below the benchmark is left out of the null."""
    p_upper: float
    """SPA_u, too large: every strategy is as good as the benchmark (the studentised Reality Check)."""
    statistic: float
    """Largest studentised mean, at least 0."""
    best: int
    """Column of the largest studentised mean."""
    stepwise: tuple[float | None, ...]
    """StepM: adjusted p-value per column; those at most α are superior with family-wise error α. None: never moves."""
    samples: int
    mean_block: float


def superiority(
    differences: ArrayLike,
    rng: np.random.Generator,
    *,
    samples: int = 1999,
    mean_block: float | None = None,
) -> Superiority | None:
    """Superior predictive ability (SPA) and stepwise multiple testing (StepM) by one stationary bootstrap.

    t_k = d̄_k / ω_k, with ω_k the standard deviation of the bootstrap means d̄*_k; T = max(0, max t_k). A sample's
    statistic is T* = max(0, max (d̄*_k − g_k) / ω_k), with g_k = d̄_k where the column is kept in the null and 0 where it
    keeps its own poor mean. Kept are all (upper), those with t_k ≥ −√(2 ln ln n) (consistent), or those with d̄_k ≥ 0
    (lower). p-values are (1 + #{T* ≥ T}) / (B + 1). StepM goes down the t_k, each against max (d̄*_j − d̄_j) / ω_j over
    the columns not yet passed.

    Parameters
    ----------
    differences : (n, k) per-period return of each strategy minus the benchmark's; positive is better.
    rng : source of the samples.
    samples : bootstrap samples B.
    mean_block : mean block length in periods; by default the median over the columns of the optimal one, at least 5.

    Returns
    -------
    None where no column moves.

    Raises
    ------
    ValueError : not two-dimensional, a value is not finite, fewer than 16 rows, no samples, or mean_block below 1.

    Notes
    -----
    `arch.bootstrap.SPA` takes losses, and does not studentise although it says so; the two agree when its columns are
    divided by ω_k first.

    References
    ----------
    Hansen (2005), A Test for Superior Predictive Ability, J. Business & Economic Statistics 23(4), section 2; Romano &
    Wolf (2005), Stepwise Multiple Testing as Formalized Data Snooping, Econometrica 73(4), studentised; adjusted
    p-values as in Romano & Wolf (2016), Statistics & Probability Letters 113.

    >>> panel = np.random.default_rng(0).normal(0.0, 1.0, (500, 4)) + np.array([0.0, 0.4, -0.5, 0.0])
    >>> found = superiority(panel, np.random.default_rng(1), samples=999)
    >>> found.best, found.p_consistent, [p <= 0.05 for p in found.stepwise]
    (1, 0.001, [False, True, False, False])
    """
    panel = finite_panel(differences)
    periods = len(panel)
    if periods < 16:
        raise ValueError(f"{periods} periods are too few for a bootstrap: at least 16")
    alive = moving(panel)
    panel = panel[:, alive]
    if mean_block is None:
        mean_block = usual_block(panel)
    counts = stationary_counts(rng, samples, periods, mean_block)
    if not alive.any():
        return None
    mean = panel.mean(axis=0)
    shifts = counts @ (panel - mean) / periods  # d̄* − d̄
    spread = shifts.std(axis=0)
    spread = np.where(spread > 0.0, spread, np.inf)  # one sample, or all alike: nothing to tell by
    ratio, moved = mean / spread, shifts / spread
    statistic = max(float(ratio.max()), 0.0)

    def p_value(kept: Bools) -> float:
        # what is not kept in the null keeps its own poor mean
        sampled = (moved + np.where(kept, 0.0, ratio)).max(axis=1)
        return float(1 + (np.maximum(sampled, 0.0) >= statistic).sum()) / (samples + 1)

    threshold = -math.sqrt(2.0 * math.log(math.log(periods)))
    steps = iter(stepwise(ratio, moved))
    return Superiority(
        p_consistent=p_value(ratio >= threshold),
        p_lower=p_value(ratio >= 0.0),
        p_upper=p_value(np.ones(len(ratio), dtype=np.bool_)),
        statistic=statistic,
        best=int(np.flatnonzero(alive)[ratio.argmax()]),
        stepwise=tuple(next(steps) if lives else None for lives in alive),
        samples=samples,
        mean_block=mean_block,
    )


def stepwise(ratio: Floats, moved: Floats) -> list[float]:
    """Adjusted p-value of each column, by Romano & Wolf's step-down.

    Parameters
    ----------
    ratio : (k,) studentised means.
    moved : (B, k) studentised bootstrap means around their own.

    >>> stepwise(np.array([3.0, 0.0]), np.array([[1.0, 0.5], [-1.0, 2.0], [0.1, -0.3]]))
    [0.25, 0.75]
    """
    order = np.argsort(ratio, kind="stable")  # from the worst: the maximum over what is left grows with each
    left = np.maximum.accumulate(moved[:, order], axis=1)
    p_values = (1 + (left >= ratio[order]).sum(axis=0)) / (len(moved) + 1)
    adjusted = np.empty(len(ratio))
    adjusted[order] = np.maximum.accumulate(p_values[::-1])[::-1]
    return [float(value) for value in adjusted]


def usual_block(panel: Floats) -> float:
    """Median over the columns of the optimal mean block length, at least 5 periods."""
    found = [optimal_block_length(column) for column in panel.T]
    lengths = [block.stationary for block in found if block is not None]
    return max(BLOCK_LEAST, float(np.median(lengths))) if lengths else BLOCK_LEAST
