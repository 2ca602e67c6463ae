"""Four lineages, each changed by a strict gain alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from ratchet_cases import SEED_FOLDS, lifted, returns, scored, start, trial

from autoquant.oracle.records import Status
from autoquant.ratchet.state import RatchetState, Trial, advance, correlation, slots_gained

LEVEL = (0.6, 0.6, 0.6, 0.6, 0.6, 0.6)


def blend(first: int, second: int, weight: float) -> tuple[tuple[float, ...], ...]:
    """Daily returns that correlate with those of seed `first` the more, the greater `weight`."""
    mixed = weight * np.array(returns(first, 60)) + np.sqrt(1 - weight**2) * np.array(returns(second, 60))
    return tuple(tuple(row) for row in mixed.tolist())


def take(state: RatchetState, entry: Trial) -> tuple[tuple[str, ...], RatchetState]:
    slots = slots_gained(state, entry)
    return slots, advance(state, entry, Status.ARCHIVE if slots else Status.DISCARD, slots)


def test_the_seed_holds_every_slot_but_distinct_at_the_start() -> None:
    assert {"best": 0, "stable": 0, "cost_robust": 0, "distinct": None} == start().archive.attempts()


def test_an_equal_trial_gains_nothing() -> None:
    """INV-14."""
    assert () == slots_gained(start(), trial(1, scored(daily=returns(0))))


def test_stable_wants_a_lower_spread_and_at_least_the_seeds_score() -> None:
    base = start().seed.score
    even = (base + 1e-9,) * 6
    assert "stable" in slots_gained(start(), trial(1, scored(even)))
    assert "stable" not in slots_gained(start(), trial(1, scored((base - 1e-9,) * 6)))
    assert "stable" not in slots_gained(start(), trial(1, scored(tuple(2 * sharpe for sharpe in SEED_FOLDS))))


def test_cost_robust_wants_the_highest_score_at_double_costs_whatever_the_score() -> None:
    before = start().seed.evaluation.score_double_cost or 0.0
    assert ("cost_robust",) == slots_gained(start(), trial(1, scored(lifted(-0.1), double=before + 1e-5)))
    assert () == slots_gained(start(), trial(1, scored(lifted(-0.1), double=before)))


@pytest.mark.parametrize(("weight", "slots"), [(0.0, ("distinct",)), (0.6, ("distinct",)), (0.8, ())])
def test_distinct_wants_a_correlation_of_at_most_the_limit(weight: float, slots: tuple[str, ...]) -> None:
    state = RatchetState.start(trial(0, scored(daily=returns(1, 60))))
    assert slots == slots_gained(state, trial(1, scored(daily=blend(1, 2, weight))))


def test_distinct_wants_at_least_the_seeds_score() -> None:
    state = RatchetState.start(trial(0, scored(daily=returns(1, 60))))
    assert () == slots_gained(state, trial(1, scored(lifted(-0.01), daily=returns(2, 60), double=-9.0)))


def test_distinct_changes_for_a_lower_correlation_only() -> None:
    state = RatchetState.start(trial(0, scored(daily=returns(1, 60))))
    _, state = take(state, trial(1, scored(daily=blend(1, 2, 0.4))))
    assert () == slots_gained(state, trial(2, scored(daily=blend(1, 2, 0.4))))
    assert () == slots_gained(state, trial(2, scored(daily=blend(1, 2, 0.5))))
    assert ("distinct",) == slots_gained(state, trial(2, scored(daily=blend(1, 2, 0.2))))


def test_a_new_best_is_never_distinct_as_well() -> None:
    state = RatchetState.start(trial(0, scored(daily=returns(1, 60))))
    slots = slots_gained(state, trial(1, scored(lifted(0.1), daily=returns(2, 60))))
    assert "best" in slots
    assert "distinct" not in slots


def test_a_new_best_that_resembles_distinct_empties_the_slot() -> None:
    state = RatchetState.start(trial(0, scored(daily=returns(1, 60))))
    _, state = take(state, trial(1, scored(daily=returns(2, 60))))
    assert 1 == state.archive.attempts()["distinct"]
    _, state = take(state, trial(2, scored(lifted(0.1), daily=blend(2, 3, 0.95))))
    assert (2, None) == (state.archive.attempts()["best"], state.archive.attempts()["distinct"])
    _, state = take(state, trial(3, scored(daily=returns(4, 60))))
    assert 3 == state.archive.attempts()["distinct"]


def test_a_new_best_that_differs_leaves_distinct_in_place() -> None:
    state = RatchetState.start(trial(0, scored(daily=returns(1, 60))))
    _, state = take(state, trial(1, scored(daily=returns(2, 60))))
    _, state = take(state, trial(2, scored(lifted(0.1), daily=returns(3, 60))))
    assert (2, 1) == (state.archive.attempts()["best"], state.archive.attempts()["distinct"])


def test_correlation_is_pearsons_over_all_days_and_unknown_for_a_flat_path() -> None:
    a, b = trial(1, scored(daily=blend(1, 2, 0.5))), trial(2, scored(daily=returns(1, 60)))
    flat = trial(3, scored(daily=((0.0,) * 60,) * 6))
    expected = np.corrcoef(np.ravel(a.evaluation.daily_returns), np.ravel(b.evaluation.daily_returns))[0, 1]
    assert expected == pytest.approx(correlation(a, b))
    assert 1.0 == pytest.approx(correlation(a, a))
    assert correlation(a, flat) is None
    assert correlation(a, trial(4, scored(daily=returns(1, 59)))) is None
    assert correlation(a, trial(5, replace(scored(), daily_returns=()))) is None


def test_a_trial_without_a_score_has_none_to_give() -> None:
    with pytest.raises(ValueError, match="attempt 4 has no score"):
        _ = trial(4, replace(scored(SEED_FOLDS), score=None)).score
    assert 0.0 == trial(1, scored(LEVEL)).fold_std
