"""What comes back to a competitor: differences, likeness, the nearest miss."""

from __future__ import annotations

from dataclasses import replace

import pytest
from ratchet_cases import agreeing, failed, lifted, returns, scored, start, trial

from autoquant.oracle.records import Confirmation, Evaluation, Fault, GateResult, Outcome
from autoquant.ratchet.decide import propose, settle
from autoquant.ratchet.feedback import CostDelta, Feedback, Miss, feedback
from autoquant.ratchet.state import RatchetState

FLOOR = 0.3


def after_search() -> RatchetState:
    entry = trial(1, scored(lifted(0.1), daily=returns(1), cost=0.02))
    proposal = propose(start(), entry, noise_floor=FLOOR)
    return settle(start(), entry, proposal, agreeing(entry.evaluation), noise_floor=FLOOR, budget=50)[1]


def on(state: RatchetState, evaluation: Evaluation) -> Feedback:
    entry = trial(state.attempts + 1, evaluation)
    return feedback(state, entry, propose(state, entry, noise_floor=FLOOR))


def test_differences_are_taken_to_working_parent_and_champion() -> None:
    told = on(after_search(), scored(lifted(0.15, 5), daily=returns(2), cost=0.03, drawdown=0.2))
    assert told.parent is not None
    assert told.champion is not None
    assert (1, 0) == (told.parent.attempt, told.champion.attempt)
    assert pytest.approx([0.05] * 5 + [-0.1]) == list(told.parent.folds)
    assert pytest.approx([0.15] * 5 + [0.0]) == list(told.champion.folds)
    assert (5, 5) == (told.parent.folds_better, told.champion.folds_better)
    assert 0.05 == pytest.approx(told.champion.drawdown)
    kinds = told.champion.costs
    assert (0.12, 0.06, 0.04, -0.03) == pytest.approx((kinds.fee, kinds.spread, kinds.impact, kinds.funding))
    assert 6 == told.nearest_fold
    for comparison in (told.parent, told.champion):
        assert comparison.standard_error is not None
        assert comparison.standard_error > 0.0


def test_correlations_name_every_tip_of_the_archive() -> None:
    told = on(after_search(), scored(lifted(0.2), daily=returns(1)))
    assert ["best", "stable", "cost_robust", "distinct"] == list(told.correlations)
    assert 1.0 == pytest.approx(told.correlations["best"])
    assert told.correlations["distinct"] is None


def test_a_repetition_of_the_champion_differs_by_nothing() -> None:
    told = on(start(), scored())
    assert told.parent is not None
    assert told.parent == told.champion
    assert (0.0, 0, CostDelta(0.0, 0.0, 0.0, 0.0), 0.0, 0.0) == (
        told.parent.delta, told.parent.folds_better, told.parent.costs, told.parent.drawdown,
        told.parent.standard_error,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("evaluation", "miss"),
    [
        (scored(lifted(0.9), double=9.0), None),
        (scored(lifted(0.2)), ("official.score", 0.3, 0.2, 0.1)),
        (scored(lifted(0.9, 4)), ("official.folds", 5, 4, 1)),
        (scored(lifted(0.015), double=9.0), ("search.score", 0.02, 0.015, 0.005)),
        (scored(lifted(0.9, 3), double=9.0), ("search.folds", 4, 3, 1)),
        (scored(lifted(0.1), double=start().seed.score - 0.201), ("search.double_cost", 0.0, -0.001, 0.001)),
    ],
)
def test_the_nearest_miss_is_the_lowest_bar_that_was_closest(
    evaluation: Evaluation, miss: tuple[str, float, float, float] | None
) -> None:
    told = on(start(), evaluation).nearest_miss
    if miss is None:
        assert told is None
    else:
        assert told is not None
        assert miss[0] == told.rule
        assert miss[1:] == pytest.approx((told.required, told.got, told.lacking))


def test_a_failed_gate_is_the_nearest_miss_with_its_negative_headroom() -> None:
    gates = (GateResult("import", True), GateResult("turnover", False, 52.0, 40.0, -12.0))
    told = on(start(), replace(scored(lifted(0.5)), outcome=Outcome.GATE, gates=gates))
    assert Miss("turnover", 40.0, 52.0, 12.0) == told.nearest_miss
    assert told.parent is not None, "an economic gate leaves the score to learn from"


def test_without_a_score_there_is_nothing_to_compare() -> None:
    told = on(start(), failed(Outcome.CRASH, Fault("KeyError", 3)))
    assert Feedback() == told
    broken = on(start(), failed(Outcome.GATE, gate=GateResult("causality", False)))
    assert Feedback(nearest_miss=Miss("causality", None, None, None)) == broken


def test_a_leak_found_by_the_deep_check_gets_no_numbers() -> None:
    entry = trial(1, scored(lifted(5.0)))
    proposal = propose(start(), entry, noise_floor=FLOOR)
    decision, _ = settle(start(), entry, proposal, Confirmation(False, None, None), noise_floor=FLOOR, budget=50)
    assert Feedback(nearest_miss=Miss("causality", None, None, None)) == feedback(start(), entry, decision)
