"""What one competitor's search is worth after its number of tries: deflation, overfitting, calendar, climb.

Everything here treats the attempts as a fixed set. Where each attempt edits the champion that is optimistic, and the
page says so; the sealed year and the placebo races are what stays honest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from autoquant.report.evidence_effort import Effort, generator
from autoquant.report.evidence_scores import NO_DAYS
from autoquant.report.model import Entrant, Race
from autoquant.report.returns import Floats, Trials
from autoquant.stats.arrays import moving
from autoquant.stats.multiple import Deflation, deflate
from autoquant.stats.overfitting import BLOCKS, TRIALS_LEAST, backtest_overfitting, noise_band
from autoquant.stats.recursion import RecursionMetrics, Step, recursion_metrics
from autoquant.stats.sharpe import annualised, moments, sharpe_interval
from autoquant.stats.trials import effective_trials

NUMBER, BAND = 3, 4
NO_CHAMPION = "no champion: nothing was selected"


@dataclass(frozen=True)
class SharpeEstimate:
    """Of the champion's full path, per year."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Overfit:
    """PBO beside what pure noise gives."""

    probability: float
    low: float
    high: float
    """5 to 95 % of panels without skill."""
    trials: int
    """Different attempts it looks at."""


@dataclass(frozen=True)
class Shift:
    """The champion's score when all folds move by some days."""

    low: float
    high: float
    failed: int
    """Shifts at which it gave no usable answer."""
    shifts: int


@dataclass(frozen=True)
class Search:
    """One competitor's search. What is None has its reason in the field of the same name with `_missing`."""

    attempts: int
    """Counted attempts with a verdict: every one is a try, crashes too."""
    trials: int
    """Attempts that have daily returns here."""
    sharpe: SharpeEstimate | None
    sharpe_missing: str
    effective: float | None
    """N*."""
    effective_scaled: bool
    """Whether N* was scaled up from part of the attempts, which can only make it too large."""
    effective_missing: str
    deflation: Deflation | None
    deflation_missing: str
    overfit: Overfit | None
    overfit_missing: str
    shift: Shift | None
    shift_missing: str
    beyond: bool | None
    """Whether the champion's step was beyond its own error when it was taken."""
    keeps_beyond: int
    climb: RecursionMetrics | None


def search_of(entrant: Entrant, race: Race, trials: Trials, effort: Effort) -> Search:
    """One competitor's figures.

    Parameters
    ----------
    trials : its attempts with daily returns, in whole or in part. The raw count is the record's, never theirs.
    """
    panel, number = trials.panel, entrant.champion.number if entrant.champion else None
    days = trials.of(number) if number is not None else None
    effective, scaled = _effective(entrant, panel, effort)
    deflation = _deflated(entrant, days, panel, effective)
    overfit, why = _overfit(entrant, trials, effort)
    sharpe = _sharpe(entrant, days)
    shift = _shift(entrant)
    no_days = NO_CHAMPION if number is None else "" if days is not None else NO_DAYS
    return Search(
        attempts=entrant.closed,
        trials=panel.shape[1],
        sharpe=sharpe,
        sharpe_missing="" if sharpe else no_days or "its returns never move",
        effective=effective,
        effective_scaled=scaled,
        effective_missing="" if effective is not None else "no attempt has daily returns on record",
        deflation=deflation,
        deflation_missing="" if deflation else no_days or "its returns never move",
        overfit=overfit,
        overfit_missing=why,
        shift=shift,
        shift_missing="" if shift else NO_CHAMPION if number is None else "not on record, or no answer on any shift",
        beyond=entrant.champion.beyond_error if entrant.champion else None,
        keeps_beyond=sum(a.status == "keep" and a.beyond_error is True for a in entrant.attempts),
        climb=climb_of(entrant, race),
    )


def climb_of(entrant: Entrant, race: Race) -> RecursionMetrics | None:
    """How it climbed; None before the seed is scored."""
    if race.seed_score is None:
        return None
    steps = [Step(a.number, a.status, a.score) for a in entrant.attempts if a.status is not None]
    return recursion_metrics(race.seed_score, steps)


def _effective(entrant: Entrant, panel: Floats, effort: Effort) -> tuple[float | None, bool]:
    """N*, scaled up to all attempts that have a score where only some have returns here.

    N* of a set is at most the sum over its parts, so scaling errs toward more tries.
    """
    found = effective_trials(panel, generator(NUMBER, entrant.index), draws=effort.draws) if panel.shape[1] else None
    if found is None:
        return None, False
    scored = sum(a.score is not None for a in entrant.attempts)
    share = max(1.0, scored / panel.shape[1])
    return min(found.number * share, float(max(entrant.closed, 1))), share > 1.0


def _deflated(entrant: Entrant, days: Floats | None, panel: Floats, effective: float | None) -> Deflation | None:
    if days is None or effective is None:
        return None
    alive = panel[:, moving(panel)]
    sharpes = alive.mean(axis=0) / alive.std(axis=0, ddof=1)
    return deflate(days, sharpes, effective, trials=max(entrant.closed, len(sharpes))) if len(sharpes) else None


def _overfit(entrant: Entrant, trials: Trials, effort: Effort) -> tuple[Overfit | None, str]:
    panel = trials.panel
    if not panel.shape[1]:
        return None, "no attempt has daily returns on record"
    if len(panel) < 2 * BLOCKS:
        return None, f"{len(panel)} days are too few for {BLOCKS} blocks"
    panel = panel[:, even_columns(panel.shape[1], effort.columns, _place_of_champion(entrant, trials))]
    found = backtest_overfitting(panel)
    if found is None:
        return None, f"fewer than {TRIALS_LEAST} different attempts with returns"
    band = noise_band(panel, generator(BAND, entrant.index), draws=effort.panels)
    low, high = band if band is not None else (found.probability, found.probability)
    return Overfit(found.probability, low, high, found.trials), ""


def _place_of_champion(entrant: Entrant, trials: Trials) -> int | None:
    number = entrant.champion.number if entrant.champion else None
    return trials.numbers.index(number) if number in trials.numbers else None


def even_columns(columns: int, wanted: int | None, always: int | None = None) -> list[int]:
    """Places of `wanted` of the columns, evenly spread from first to last, one of them `always`.

    >>> even_columns(10, 4), even_columns(10, 4, always=5), even_columns(3, None)
    ([0, 3, 6, 9], [0, 3, 5, 6, 9], [0, 1, 2])
    """
    if wanted is None or columns <= wanted:
        return list(range(columns))
    chosen = {int(place) for place in np.linspace(0, columns - 1, wanted).round()}
    return sorted(chosen | ({always} if always is not None else set()))


def _sharpe(entrant: Entrant, days: Floats | None) -> SharpeEstimate | None:
    """From the days; else from what the deep check stored."""
    if days is not None:
        sample, interval = moments(days), sharpe_interval(days)
        if sample is None or interval is None:
            return None
        return SharpeEstimate(annualised(sample.sharpe), annualised(interval[0]), annualised(interval[1]))
    stress = entrant.champion.stress if entrant.champion else None
    if stress is None or stress.sharpe_low is None or stress.sharpe_high is None:
        return None
    return SharpeEstimate(stress.sharpe, stress.sharpe_low, stress.sharpe_high)


def _shift(entrant: Entrant) -> Shift | None:
    stress = entrant.champion.stress if entrant.champion else None
    if stress is None or stress.shifted_span is None:
        return None
    failed = sum(one.score is None for one in stress.shifted)
    return Shift(*stress.shifted_span, failed, len(stress.shifted))
