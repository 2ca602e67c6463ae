"""What a competitor has reached: trials, champion, working parent, and the four lineages of the archive.

The archive at the start: the seed is best, stable and cost_robust, since each of these names a maximum or minimum over
what exists, and distinct is empty, since nothing can differ from itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from autoquant.oracle.records import Evaluation, Status
from autoquant.protocol import PROTOCOL

SLOTS = ("best", "stable", "cost_robust", "distinct")
NOISE = PROTOCOL.causality.mask_tolerance
"""A difference that a change of mask alone can make: nothing is better by so little.

The order of the shuffled assets moves the last digits of every sum (about 1e-14 of a Sharpe ratio). Without this, the
sign of that dust would make folds "better" and archive slots change hands among copies of one strategy.
"""


@dataclass(frozen=True)
class Trial:
    """One evaluated strategy: attempt number (0 is the seed), digest of its bytes, what the oracle said."""

    attempt: int
    strategy: str
    evaluation: Evaluation

    @property
    def score(self) -> float:
        """The score, for a trial that has one.

        Raises
        ------
        ValueError : the evaluation has no score.
        """
        if self.evaluation.score is None:
            raise ValueError(f"attempt {self.attempt} has no score")
        return self.evaluation.score

    @property
    def fold_std(self) -> float:
        """Population standard deviation of the fold Sharpe ratios."""
        return float(np.std(self.evaluation.fold_sharpes))


@dataclass(frozen=True)
class Archive:
    """The tips of the four lineages; None for an empty slot."""

    best: Trial | None = None
    stable: Trial | None = None
    cost_robust: Trial | None = None
    distinct: Trial | None = None

    def tips(self) -> Iterator[tuple[str, Trial | None]]:
        """Slot name and trial, in the order of `SLOTS`."""
        for name in SLOTS:
            yield name, getattr(self, name)

    def attempts(self) -> dict[str, int | None]:
        """Attempt number in each slot."""
        return {name: None if tip is None else tip.attempt for name, tip in self.tips()}


@dataclass(frozen=True)
class RatchetState:
    """Where a competitor stands after `attempts` counted attempts."""

    seed: Trial
    parent: Trial
    champion: Trial
    archive: Archive
    attempts: int = 0

    @classmethod
    def start(cls, seed: Trial) -> RatchetState:
        """Before the first attempt: the seed is champion and working parent."""
        return cls(seed, seed, seed, Archive(best=seed, stable=seed, cost_robust=seed), 0)


def correlation(first: Trial, second: Trial) -> float | None:
    """Pearson correlation of two trials' daily returns over all folds; None where one is flat or days differ."""
    a = np.concatenate([np.asarray(fold, dtype=float) for fold in first.evaluation.daily_returns] or [np.empty(0)])
    b = np.concatenate([np.asarray(fold, dtype=float) for fold in second.evaluation.daily_returns] or [np.empty(0)])
    if a.shape != b.shape or a.size < 2:
        return None
    a, b = a - a.mean(), b - b.mean()
    scale = float(np.sqrt((a @ a) * (b @ b)))
    return None if scale == 0.0 else float(np.clip((a @ b) / scale, -1.0, 1.0))


def slots_gained(state: RatchetState, trial: Trial) -> tuple[str, ...]:
    """Archive slots that `trial` would take, each by a strict gain, of more than `NOISE`, over the tip that holds it.

    best: higher score. stable: lower std of fold Sharpes, with a score of at least the seed's. cost_robust: higher
    score at the cost stress. distinct: lower daily-return correlation with best, at most the protocol's limit, with a
    score of at least the seed's; a trial that takes best is the thing to differ from and never distinct as well.
    """
    archive, gained = state.archive, []
    good = trial.score >= state.seed.score
    takes_best = archive.best is None or trial.score > archive.best.score + NOISE
    if takes_best:
        gained.append("best")
    if good and (archive.stable is None or trial.fold_std < archive.stable.fold_std - NOISE):
        gained.append("stable")
    if _double_cost(trial) > (-np.inf if archive.cost_robust is None else _double_cost(archive.cost_robust) + NOISE):
        gained.append("cost_robust")
    if good and not takes_best and archive.best is not None:
        distance = _distinctness(trial, archive.best)
        holder = None if archive.distinct is None else _distinctness(archive.distinct, archive.best)
        if distance is not None and (holder is None or distance < holder - NOISE):
            gained.append("distinct")
    return tuple(gained)


def advance(state: RatchetState, trial: Trial, status: Status, slots: tuple[str, ...]) -> RatchetState:
    """The state after `trial` was settled with `status` and took `slots`.

    A new best asks the holder of distinct again: it stays only while its correlation with the new best is within the
    limit, else the slot is empty until an attempt earns it. (Replaying recorded decisions through this function gives
    the state of an interrupted race.)
    """
    archive = state.archive
    for name in slots:
        archive = replace(archive, **{name: trial})
    if "best" in slots and archive.distinct is not None and _distinctness(archive.distinct, trial) is None:
        archive = replace(archive, distinct=None)
    return RatchetState(
        seed=state.seed,
        parent=trial if status in (Status.KEEP, Status.SEARCH) else state.parent,
        champion=trial if status is Status.KEEP else state.champion,
        archive=archive,
        attempts=trial.attempt,
    )


def _double_cost(trial: Trial) -> float:
    value = trial.evaluation.score_double_cost
    return -np.inf if value is None else value


def _distinctness(trial: Trial, best: Trial) -> float | None:
    """Correlation with best; None when it is too high, or not known."""
    value = correlation(trial, best)
    return None if value is None or value > PROTOCOL.ratchet.distinct_correlation else value
