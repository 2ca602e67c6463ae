"""Probability of backtest overfitting: does what wins on one half of the days win on the other half?

It speaks of the choice among a fixed set of trials, not of an adaptive search, and pure noise gives anything from
0.24 to 0.66: show the band of `noise_band` beside it, and never make it a gate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from autoquant.protocol import PROTOCOL
from autoquant.stats.arrays import DUST, Floats, check_share, finite_panel

Objective = Literal["score", "sharpe"]
"""What picks the winner and ranks it. "score" is the race's own rule, mean(fold Sharpe) − 0.5 · std(fold Sharpe), with
each block of the half as a fold; "sharpe" is mean / std (ddof 1) of the half's days."""

BLOCKS = 16
CELLS = 20_000
"""Splits × trials looked at together: they stay in the cache, and their products stay on one thread."""
TRIALS_LEAST = 10
"""Below so many distinct trials a rank says next to nothing."""
BAND_SPLITS = 500
"""Splits drawn for one panel of the noise band: its own error is 0.02 where panels differ by 0.1."""


@dataclass(frozen=True)
class Overfitting:
    """How the winners of one half fared in the other."""

    probability: float
    """PBO: share of the splits in which the winner comes out at or below the median of the other half."""
    mean_rank: float
    """Mean relative rank ω of the winner in the other half, between 0 and 1; 0.5 without skill."""
    splits: int
    trials: int
    """Distinct return columns."""
    periods: int
    """Rows used; what does not fill a block is dropped at the end."""


def backtest_overfitting(
    returns: ArrayLike,
    *,
    blocks: int = BLOCKS,
    objective: Objective = "score",
    trials_least: int = TRIALS_LEAST,
) -> Overfitting | None:
    """Probability of backtest overfitting by combinatorially symmetric cross-validation (CSCV).

    The rows are cut into S contiguous blocks of equal length. For each choice of S/2 blocks the best trial on them is
    ranked on the others: ω = rank / (N + 1), ties sharing their mean rank, λ = ln(ω / (1 − ω)); PBO is the share of
    λ ≤ 0. A tie for best goes to the first column. All S-choose-S/2 splits are made, from block sums alone.

    Parameters
    ----------
    returns : (T, n) per-period returns of all trials in time order; identical columns count once.
    blocks : S, even.
    objective : "score" (the race's selection rule) or "sharpe".
    trials_least : fewer distinct trials give None.

    Returns
    -------
    None for fewer than `trials_least` distinct columns.

    Raises
    ------
    ValueError : not two-dimensional, a value is not finite, S odd or below 2, or blocks of fewer than two rows.

    References
    ----------
    Bailey, Borwein, López de Prado & Zhu (2017), The Probability of Backtest Overfitting, J. Computational Finance
    20(4), section 3.

    >>> noise = np.random.default_rng(0).normal(size=(160, 12))
    >>> backtest_overfitting(noise, blocks=8).splits
    70
    >>> skill = noise + np.where(np.arange(12) == 3, 1.0, 0.0)
    >>> backtest_overfitting(skill, blocks=8, objective="sharpe").probability
    0.0
    """
    panel = distinct_columns(finite_panel(returns))
    length = block_length(len(panel), blocks)
    if panel.shape[1] < max(trials_least, 2):
        return None
    panel = panel[: blocks * length]
    chosen = half_splits(blocks)
    below, rank = winners_ranks(summed(panel.reshape(blocks, length, -1)), chosen, objective)
    return Overfitting(
        probability=float(below.mean()),
        mean_rank=float(rank.mean()),
        splits=2 * len(chosen),
        trials=panel.shape[1],
        periods=len(panel),
    )


def noise_band(
    returns: ArrayLike,
    rng: np.random.Generator,
    *,
    blocks: int = BLOCKS,
    objective: Objective = "score",
    trials_least: int = TRIALS_LEAST,
    draws: int = 100,
    coverage: float = 0.9,
) -> tuple[float, float] | None:
    """Band in which PBO falls when the same trials have no skill.

    Each draw centres the columns and turns the sign of whole days at random: means go, volatility and the correlation
    of the trials stay. Of its splits a random few hundred are looked at.

    Parameters
    ----------
    returns, blocks, objective, trials_least : as for `backtest_overfitting`.
    rng : source of signs and splits.
    draws : panels without skill.
    coverage : share of the draws inside the band, between its equal tails.

    Returns
    -------
    Low and high; None where `backtest_overfitting` is None.

    Raises
    ------
    ValueError : as for `backtest_overfitting`; coverage outside (0, 1), or no draws.

    >>> noise = np.random.default_rng(0).normal(size=(160, 12))
    >>> low, high = noise_band(noise, np.random.default_rng(1), blocks=8)
    >>> 0.1 < low < 0.5 < high < 0.9
    True
    """
    check_share("coverage", coverage)
    if draws < 1:
        raise ValueError(f"at least one draw is needed, not {draws}")
    panel = distinct_columns(finite_panel(returns))
    length = block_length(len(panel), blocks)
    if panel.shape[1] < max(trials_least, 2):
        return None
    cube = (panel[: blocks * length] - panel[: blocks * length].mean(axis=0)).reshape(blocks, length, -1)
    squares = (cube * cube).sum(axis=1)  # a turned sign leaves them alone
    splits = half_splits(blocks)
    few = min(len(splits), BAND_SPLITS // 2)
    found = np.empty(draws)
    for draw in range(draws):
        signs = rng.choice((-1.0, 1.0), size=(blocks, 1, length))
        chosen = splits[rng.choice(len(splits), size=few, replace=False)]
        below, _ = winners_ranks(BlockSums((signs @ cube)[:, 0], squares, length), chosen, objective)
        found[draw] = below.mean()
    low, high = np.quantile(found, ((1.0 - coverage) / 2.0, (1.0 + coverage) / 2.0))
    return float(low), float(high)


@dataclass(frozen=True)
class BlockSums:
    """All that a Sharpe ratio of any choice of blocks needs."""

    sums: Floats
    """(S, N) of returns less `centre`."""
    squares: Floats
    """(S, N) of their squares."""
    length: int
    """Rows of a block."""
    centre: Floats | float = 0.0
    """(N,) taken from each return: keeps the digits of a small variance."""


def summed(cube: Floats) -> BlockSums:
    """Sums by block of (S, rows, N) returns, around each column's mean."""
    centre = cube.mean(axis=(0, 1))
    moved = cube - centre
    return BlockSums(moved.sum(axis=1), (moved * moved).sum(axis=1), cube.shape[1], centre)


def winners_ranks(panel: BlockSums, chosen: Floats, objective: Objective) -> tuple[NDArray[np.bool_], Floats]:
    """Where the winner of each half stands in the other half; both halves of a split take their turn as the first.

    Parameters
    ----------
    panel : the trials' returns by block.
    chosen : (splits, S) 1 where a block is in the first half, else 0.

    Returns
    -------
    (2·splits,) whether λ ≤ 0, and the relative rank ω.
    """
    count = panel.sums.shape[1]
    twice = np.empty((2, len(chosen)), dtype=np.int64)
    step = max(1, CELLS // count)
    for first in range(0, len(chosen), step):
        part = slice(first, first + step)
        performances = [performance(panel, half, objective) for half in (chosen[part], 1.0 - chosen[part])]
        for turn, (inside, outside) in enumerate((performances, performances[::-1])):
            winner = np.take_along_axis(outside, inside.argmax(axis=1)[:, None], axis=1)
            worse = np.count_nonzero(outside < winner, axis=1)
            equal = np.count_nonzero(outside == winner, axis=1)  # the winner itself among them
            twice[turn, part] = 2 * worse + equal + 1
    return (twice <= count + 1).ravel(), twice.ravel() / (2.0 * (count + 1))  # twice the mean rank is whole: λ is exact


def performance(panel: BlockSums, half: Floats, objective: Objective) -> Floats:
    """Objective of each trial on each half: (splits, N). A Sharpe ratio whose std vanishes beside the mean is 0."""
    blocks = len(panel.sums)
    if objective == "sharpe":
        return ratios(half @ panel.sums, half @ panel.squares, panel.length * blocks // 2, panel.centre)
    folds = ratios(panel.sums, panel.squares, panel.length, panel.centre)
    level = folds.mean(axis=0)
    weight, centred = half * (2.0 / blocks), folds - level
    mean = weight @ centred
    score: Floats = weight @ (centred * centred)
    score -= mean * mean
    np.sqrt(np.maximum(score, 0.0, out=score), out=score)
    score *= -PROTOCOL.score_std_weight
    score += mean
    score += level
    return score


def ratios(sums: Floats, squares: Floats, rows: int, centre: Floats | float) -> Floats:
    """Sharpe ratios (ddof 1) from sums and sums of squares of returns that `centre` was taken from."""
    mean = centre + sums / rows
    spread = np.sqrt(np.maximum(squares - sums * sums / rows, 0.0) / (rows - 1))
    return np.divide(mean, spread, out=np.zeros_like(mean), where=spread > np.maximum(DUST * np.abs(mean), 1e-15))


@cache
def half_splits(blocks: int) -> Floats:
    """One of each pair of complementary halves, the one with the first block: (splits, S) of 0 and 1, read-only.

    >>> half_splits(4).tolist()
    [[1.0, 1.0, 0.0, 0.0], [1.0, 0.0, 1.0, 0.0], [1.0, 0.0, 0.0, 1.0]]
    """
    members = np.array(list(combinations(range(1, blocks), blocks // 2 - 1)), dtype=np.int64)
    chosen = np.zeros((math.comb(blocks - 1, blocks // 2 - 1), blocks))
    chosen[:, 0] = 1.0
    np.put_along_axis(chosen, members.reshape(len(chosen), -1), 1.0, axis=1)
    chosen.flags.writeable = False
    return chosen


def block_length(rows: int, blocks: int) -> int:
    """Rows of a block.

    Raises
    ------
    ValueError : S odd, below 2 or above 20, or a block has fewer than two rows.

    >>> block_length(732, 16)
    45
    """
    if blocks % 2 or not 2 <= blocks <= 20:
        raise ValueError(f"the number of blocks is even and between 2 and 20, not {blocks}")
    if rows // blocks < 2:
        raise ValueError(f"{rows} rows are too few for {blocks} blocks of at least two")
    return rows // blocks


def distinct_columns(panel: Floats) -> Floats:
    """The panel without columns that repeat an earlier one, in their order.

    >>> distinct_columns(np.array([[1.0, 2.0, 1.0], [3.0, 4.0, 3.0]])).tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """
    seen: dict[bytes, int] = {}
    for column, values in enumerate(np.ascontiguousarray((panel + 0.0).T)):  # + 0.0: −0 and 0 are one value
        seen.setdefault(values.tobytes(), column)
    return panel[:, list(seen.values())]
