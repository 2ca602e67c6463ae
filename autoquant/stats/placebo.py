"""How often searchers without skill do as well: the selection test that an adaptive ratchet cannot fool.

A placebo goes through the same loop as an agent (same budget, same ratchets), so whatever the loop adds to luck it adds
on both sides. Nothing is assumed but that an agent without skill and the placebos are exchangeable.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from autoquant.protocol import PROTOCOL
from autoquant.stats.arrays import Floats, check_share
from autoquant.stats.recursion import KEEP

ALPHA = PROTOCOL.ratchet.alpha
"""Level of the tests, the ratchet's own."""
TIE = PROTOCOL.causality.mask_tolerance
"""What a mask alone can move is a tie, and a tie counts against the competitor: two seeds of one text are."""


@dataclass(frozen=True)
class Placebo:
    """One agent's figure among those of placebo runs."""

    p_value: float
    """One-sided: chance of so high a figure without skill."""
    at_least: int
    """Placebos at or above the agent."""
    runs: int


def placebo_test(figure: float, placebos: ArrayLike) -> Placebo:
    """Chance of the agent's figure without skill: p = (1 + number of placebos ≥ agent) / (runs + 1).

    Parameters
    ----------
    figure : the agent's: score of its retained champion, or its best score.
    placebos : (runs,) the same figure of each placebo run.

    Returns
    -------
    p from 1/(runs + 1), its floor, to 1; a tie counts against the agent.

    Raises
    ------
    ValueError : no placebo, or a figure that is not finite.

    References
    ----------
    Barnard (1963); Phipson & Smyth (2010), Permutation p-values should never be zero, eq. 2.

    >>> placebo_test(1.4, [0.9] * 38 + [1.6])
    Placebo(p_value=0.05, at_least=1, runs=39)
    """
    values = checked(placebos)
    if not np.isfinite(figure):
        raise ValueError(f"the figure to test is finite, not {figure}")
    at_least = int((values >= figure).sum())
    return Placebo(p_value=(1 + at_least) / (len(values) + 1), at_least=at_least, runs=len(values))


def no_skill_band(placebos: ArrayLike, coverage: float = 0.9) -> tuple[float, float, float]:
    """Low end, median and high end of what searchers without skill reach; linear quantiles.

    Parameters
    ----------
    placebos : (runs,) figures of the placebo runs.
    coverage : share of the runs inside, between equal tails.

    Raises
    ------
    ValueError : no placebo, a figure that is not finite, or coverage outside (0, 1).

    >>> no_skill_band([0.0, 1.0, 2.0, 3.0, 4.0], 0.5)
    (1.0, 2.0, 3.0)
    """
    check_share("coverage", coverage)
    low, middle, high = np.quantile(checked(placebos), ((1.0 - coverage) / 2.0, 0.5, (1.0 + coverage) / 2.0))
    return float(low), float(middle), float(high)


def runs_needed(alpha: float, tests: int = 1) -> int:
    """Fewest placebo runs with which the best of `tests` agents can be significant after Holm: ⌈tests / α⌉ − 1.

    Raises
    ------
    ValueError : alpha outside (0, 1), or no test.

    >>> runs_needed(0.05), runs_needed(0.05, tests=5)
    (19, 99)
    """
    check_share("alpha", alpha)
    if tests < 1:
        raise ValueError(f"the number of tests is at least 1, not {tests}")
    return int(np.ceil(tests / alpha - 1e-9)) - 1


class Run(Protocol):
    """What a stored placebo race says of itself: on which market, by whom, how far it came."""

    @property
    def reference(self) -> str:
        """Kind of market."""

    @property
    def searcher(self) -> str:
        """Who raced."""

    @property
    def champion(self) -> float:
        """Score of the retained champion."""

    @property
    def best(self) -> float:
        """Highest score that passed the gates."""

    @property
    def statuses(self) -> Sequence[str]:
        """Of each attempt."""


@dataclass(frozen=True)
class Null:
    """What one searcher without skill reached on one kind of market, run by run."""

    reference: str
    searcher: str
    champion: tuple[float, ...]
    """Scores of the retained champions."""
    best: tuple[float, ...]
    """Highest scores."""
    champion_band: tuple[float, float, float]
    """5 %, median and 95 % of the champions."""
    best_band: tuple[float, float, float]
    keeps: float
    """Official promotions per race, on average."""

    @property
    def runs(self) -> int:
        """Races."""
        return len(self.champion)

    def champion_test(self, score: float) -> Placebo:
        """A retained champion's score among these; what is nearer than `TIE` is a tie."""
        return placebo_test(score - TIE, self.champion)

    def best_test(self, score: float) -> Placebo:
        """The same of a highest score."""
        return placebo_test(score - TIE, self.best)


def null_distributions(runs: Iterable[Run]) -> tuple[Null, ...]:
    """The distributions of placebo runs, one per kind of market and searcher, in the order in which they come up.

    Raises
    ------
    ValueError : a figure that is not finite.
    """
    groups: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        groups.setdefault((run.reference, run.searcher), []).append(run)
    nulls = []
    for (reference, searcher), some in groups.items():
        champion, best = tuple(run.champion for run in some), tuple(run.best for run in some)
        keeps = sum(status == KEEP for run in some for status in run.statuses) / len(some)
        nulls.append(Null(reference, searcher, champion, best, no_skill_band(champion), no_skill_band(best), keeps))
    return tuple(nulls)


def checked(placebos: ArrayLike) -> Floats:
    """The placebos' figures as a row.

    Raises
    ------
    ValueError : none, not one row, or one is not finite.

    >>> checked([1.0]).tolist()
    [1.0]
    """
    values: Floats = np.asarray(placebos, dtype=np.float64)
    if values.ndim != 1 or not len(values) or not np.isfinite(values).all():
        raise ValueError("placebo figures are one row of finite numbers, at least one")
    return values
