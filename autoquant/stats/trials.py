"""How many independent trials a set of correlated ones is worth, and how many ideas it holds."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from autoquant.protocol import PROTOCOL
from autoquant.stats.arrays import check_share, finite_panel, moving
from autoquant.stats.maximum import trials_with_maximum

CHUNK = 2048
"""Draws at once: keeps the draws' matrix small beside the panel."""


@dataclass(frozen=True)
class EffectiveTrials:
    """N*: the number of independent trials whose best is expected to come out as high as these."""

    number: float
    """N*, from 1 to the number of trials."""
    trials: int
    """Columns whose returns move."""
    expected_maximum: float
    """Simulated E[max] of N(0, Ĉ), in standard deviations."""
    standard_error: float
    """Of the simulated E[max]."""


def effective_trials(returns: ArrayLike, rng: np.random.Generator, *, draws: int = 10_000) -> EffectiveTrials | None:
    """Effective number of trials N*: simulate the maximum of N(0, Ĉ), then find the N with that expected maximum.

    Ĉ is the correlation of the trials' returns. A draw of N(0, Ĉ) is g·X/√T, with X the standardised returns and g T
    standard normals, so that no correlation matrix has to be made or factored; each draw is used with both signs.

    Parameters
    ----------
    returns : (T, n) per-period returns of the trials, one column each. Columns that never move do not count.
    rng : source of the draws.
    draws : independent draws of g; E[max] is a mean over 2·draws maxima.

    Returns
    -------
    None where no column moves.

    Raises
    ------
    ValueError : not two-dimensional, a value is not finite, or no draws.

    Notes
    -----
    Average correlation, ONC clusters, participation ratio and Li-Ji were further off in all ten cases tried. Under a
    ratchet, where each trial edits the champion, no correlation-based number is honest: near-copies of a lucky parent
    look like one trial.

    >>> panel = np.random.default_rng(0).normal(size=(700, 20))
    >>> copies = np.repeat(panel, 3, axis=1)
    >>> found = effective_trials(copies, np.random.default_rng(1))
    >>> found.trials, 19 < found.number < 21
    (60, True)
    """
    if draws < 1:
        raise ValueError(f"at least one draw is needed, not {draws}")
    panel = finite_panel(returns)
    panel = panel[:, moving(panel)]
    periods, count = panel.shape
    if not count:
        return None
    unit = ((panel - panel.mean(axis=0)) / panel.std(axis=0) / math.sqrt(periods)).astype(np.float32)
    maxima = np.empty(draws)
    for first in range(0, draws, CHUNK):
        size = min(CHUNK, draws - first)
        sample = rng.standard_normal((size, periods), dtype=np.float32) @ unit
        maxima[first : first + size] = (sample.max(axis=1) - sample.min(axis=1)) / 2.0
    maximum = float(maxima.mean()) if count > 1 else 0.0
    return EffectiveTrials(
        number=min(trials_with_maximum(maximum), float(count)),
        trials=count,
        expected_maximum=maximum,
        standard_error=float(maxima.std(ddof=1)) / math.sqrt(draws) if min(count, draws) > 1 else 0.0,
    )


def idea_groups(
    returns: ArrayLike, *, correlation: float = PROTOCOL.ratchet.distinct_correlation
) -> tuple[int | None, ...]:
    """Groups of trials that look like one idea; only for showing how many ideas there were, never for a test.

    Average-linkage clusters of the distance 1 − ρ, cut where the mean correlation between groups falls below
    `correlation`.

    Parameters
    ----------
    returns : (T, n) per-period returns of the trials.
    correlation : cut, between 0 and 1.

    Returns
    -------
    Per trial the number of its group, counted from 0 in order of appearance; None where returns never move.

    Raises
    ------
    ValueError : not two-dimensional, a value is not finite, or correlation outside (0, 1).

    >>> panel = np.random.default_rng(0).normal(size=(300, 2))
    >>> idea_groups(np.column_stack([panel[:, 0], panel[:, 1], 2 * panel[:, 0], np.zeros(300)]))
    (0, 1, 0, None)
    """
    check_share("correlation", correlation)
    panel = finite_panel(returns)
    alive = moving(panel)
    labels = np.zeros(int(alive.sum()), dtype=np.int64)
    if len(labels) > 1:
        from scipy.cluster.hierarchy import fcluster, linkage  # late: only one panel of the report asks for groups

        matrix = np.atleast_2d(np.corrcoef(panel[:, alive], rowvar=False))
        upper = np.triu_indices(len(labels), 1)
        tree = linkage(np.clip(1.0 - matrix[upper], 0.0, 2.0), method="average")
        labels = np.asarray(fcluster(tree, 1.0 - correlation, criterion="distance"), dtype=np.int64)
    seen: dict[int, int] = {}
    numbered = iter([seen.setdefault(int(label), len(seen)) for label in labels])
    return tuple(next(numbered) if lives else None for lives in alive)
