"""How far each competitor's score is to be trusted: interval, and the probability of being best."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from autoquant.report.evidence_effort import Effort, generator
from autoquant.report.model import Race
from autoquant.report.returns import Floats, Returns
from autoquant.stats.standings import standings

COVERAGE = 0.95
SCORES = 1
NO_SEED = "no seed score yet"
NO_DAYS = "daily returns are not on record"


@dataclass(frozen=True)
class ScoreEstimate:
    """Of the score a competitor holds: its champion's, the seed's while there is none."""

    low: float | None
    """95 % interval of the score."""
    high: float | None
    best: float | None
    """Share of the resamples in which it has the highest score; sums to 1 over those that have one."""
    missing: str
    """Why there is no interval; empty when there is one."""

    @property
    def interval(self) -> tuple[float, float] | None:
        """Both ends, or none."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    @property
    def half(self) -> float | None:
        """Half the interval's width: score ± this."""
        return None if self.interval is None else (self.interval[1] - self.interval[0]) / 2.0


def champion_days(race: Race, returns: Returns) -> tuple[Floats | None, ...]:
    """(T,) daily returns of what each competitor holds, the seed's while nothing beat it; by the entrant's index."""
    return tuple(
        returns.champion(entrant.index, entrant.champion.number if entrant.champion else None)
        if entrant.score is not None
        else None
        for entrant in race.entrants
    )


def score_estimates(race: Race, returns: Returns, effort: Effort) -> tuple[ScoreEstimate, ...]:
    """By the entrant's index. All are resampled on the same days, so that their order can be counted."""
    days = champion_days(race, returns)
    known = [index for index, values in enumerate(days) if values is not None]
    found: dict[int, ScoreEstimate] = {}
    if known and returns.fold_days and min(returns.fold_days) >= 2:
        panel = np.column_stack([values for values in days if values is not None])
        folds = np.split(panel, np.cumsum(returns.fold_days)[:-1])
        drawn = standings(folds, generator(SCORES), samples=effort.resamples, coverage=COVERAGE)
        for index, one in zip(known, drawn, strict=True):
            score, half = race.entrants[index].score or 0.0, (one.high - one.low) / 2.0
            found[index] = ScoreEstimate(score - half, score + half, one.best, "")
    return tuple(
        found.get(entrant.index, ScoreEstimate(None, None, None, NO_SEED if entrant.score is None else NO_DAYS))
        for entrant in race.entrants
    )
