"""Every pair of competitors at once: Sharpe differences, Holm over the pairs, and groups that share a rank."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from autoquant.stats.arrays import Floats, check_share, finite_panel
from autoquant.stats.difference import SharpeDifference, plain_difference, sharpe_difference
from autoquant.stats.multiple import holm


@dataclass(frozen=True)
class Pair:
    """Two competitors by their columns."""

    first: int
    second: int
    test: SharpeDifference | None
    """Sharpe ratio of the first minus that of the second; None where one of them never moves."""
    p_holm: float | None
    """Its p-value, corrected over all pairs that have one."""
    separated: bool
    """Whether the corrected p-value is at most α. What its own interval does not separate never is."""


def compare_pairs(
    returns: ArrayLike, rng: np.random.Generator, *, samples: int | None = 4999, alpha: float = 0.05
) -> tuple[Pair, ...]:
    """Ledoit-Wolf test of every pair of columns, Holm over the pairs.

    Parameters
    ----------
    returns : (T, n) per-period returns of the competitors' champions on the same days.
    rng : seeds the blocks; all pairs share their places, so a pair's own test is the same whoever else races.
    samples : bootstrap samples; more than (pairs / α), or nothing can be separated. None: `plain_difference`.
    alpha : chance of any false separation; intervals cover with 1 − alpha each.

    Returns
    -------
    Pairs in the order (0, 1), (0, 2), … (n−2, n−1).

    Raises
    ------
    ValueError : not two-dimensional, a value is not finite, alpha outside (0, 1), or no samples.

    Notes
    -----
    Expect ties: at 2.5 years an interval is 1.1 to 2.5 annual Sharpe wide.

    References
    ----------
    Ledoit & Wolf (2008), J. Empirical Finance 15(5); Holm (1979), Scand. J. Statistics 6(2).

    >>> panel = np.random.default_rng(1).normal((0.0, 0.0, 0.5), 1.0, (400, 3))
    >>> [pair.separated for pair in compare_pairs(panel, np.random.default_rng(1), samples=999)]
    [False, True, True]
    """
    check_share("alpha", alpha)
    panel = finite_panel(returns)
    seed = int(rng.integers(2**63))
    indices = list(combinations(range(panel.shape[1]), 2))

    def test(first: Floats, second: Floats) -> SharpeDifference | None:
        if samples is None:
            return plain_difference(first, second, coverage=1.0 - alpha)
        return sharpe_difference(first, second, np.random.default_rng(seed), samples=samples, coverage=1.0 - alpha)

    tests = [test(panel[:, first], panel[:, second]) for first, second in indices]
    corrected = iter(holm([found.p_value for found in tests if found is not None]))
    pairs = []
    for (first, second), found in zip(indices, tests, strict=True):
        p_holm = None if found is None else next(corrected)
        pairs.append(Pair(first, second, found, p_holm, p_holm is not None and p_holm <= alpha))
    return tuple(pairs)


def tie_groups(values: Sequence[float | None], separated: Sequence[tuple[int, int]]) -> tuple[int | None, ...]:
    """Rank of each competitor; those that nothing separates share one.

    In the order of `values`, a cut stands between two neighbours where everybody above it is separated from everybody
    below it; the competitors between two cuts are one group, and its rank counts who is above. So two that are not
    separated always share a rank, and a better rank is never owed to chance.

    Parameters
    ----------
    values : what orders the competitors, higher is better (score or Sharpe ratio); None for who has none.
    separated : pairs of indices that a test separates, in either order.

    Returns
    -------
    Ranks from 1, as in 1, 1, 1, 4; None for who has no value.

    Raises
    ------
    ValueError : a pair of separated has an index that is not there.

    >>> tie_groups([1.2, 0.4, 1.1, None], [(0, 1), (2, 1)])
    (1, 3, 1, None)
    >>> tie_groups([1.2, 0.4, 1.1], [(0, 1)])
    (1, 1, 1)
    """
    known = {frozenset(pair) for pair in separated}
    if any(not 0 <= index < len(values) for pair in known for index in pair):
        raise ValueError(f"a separated pair names a competitor that is not among the {len(values)}")
    valued = {index: value for index, value in enumerate(values) if value is not None}
    order = sorted(valued, key=lambda index: (-valued[index], index))
    ranks: list[int | None] = [None] * len(values)
    rank = 1
    for place, index in enumerate(order):
        if all(frozenset((above, below)) in known for above in order[:place] for below in order[place:]):
            rank = place + 1
        ranks[index] = rank
    return tuple(ranks)
