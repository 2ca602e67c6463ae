"""Both ratchets, to the digit."""

from __future__ import annotations

from dataclasses import replace

import pytest
from ratchet_cases import SEED_FOLDS, agreeing, failed, lifted, returns, scored, start, trial
from scipy.special import ndtr

from autoquant.oracle.records import Confirmation, Evaluation, Fault, GateResult, Outcome, Status
from autoquant.ratchet.decide import (
    Decision,
    after_confirmation,
    correction,
    propose,
    quantile,
    reconsider,
    settle,
    violation,
)
from autoquant.ratchet.state import RatchetState, Trial, advance

FLOOR = 0.3


def judge(state: RatchetState, attempt: int, evaluation: Evaluation) -> tuple[Decision, RatchetState]:
    entry = trial(attempt, evaluation)
    proposal = propose(state, entry, noise_floor=FLOOR)
    confirmation = agreeing(evaluation) if proposal.needs_confirmation else None
    return settle(state, entry, proposal, confirmation, noise_floor=FLOOR, budget=50)


@pytest.mark.parametrize(("attempts", "z"), [(1, 1.0), (2, 1.191573), (10, 1.565993), (50, 1.878728)])
def test_the_bar_rises_with_the_number_of_attempts(attempts: int, z: float) -> None:
    assert z == pytest.approx(correction(attempts), abs=1e-6)
    assert 1 - 0.05 / attempts == pytest.approx(float(ndtr(quantile(attempts))), abs=1e-12)


def test_a_rise_above_the_floor_in_every_fold_is_kept_and_becomes_both_tips() -> None:
    decision, state = judge(start(), 1, scored(lifted(0.31)))
    assert Status.KEEP is decision.status
    assert (1, 1, 1, 49) == (state.champion.attempt, state.parent.attempt, state.attempts, decision.attempts_left)
    assert (1, 1) == (decision.champion, decision.working)
    assert (0.31, 6) == (pytest.approx(decision.delta), decision.folds_better)
    assert "beats the champion: Δscore > 0.3000 (got +0.3100), better folds ≥ 5 (got 6)" == decision.reason


def test_better_means_strictly_greater_than_the_floor() -> None:
    evaluation = replace(scored(lifted(0.5)), score=start().seed.score + FLOOR)
    entry = trial(1, evaluation)
    rule = propose(start(), entry, noise_floor=entry.score - start().seed.score).rules[0]
    assert ("official.score", False) == (rule.name, rule.passed)
    assert rule.required == rule.got


def test_the_same_rise_is_kept_at_the_first_attempt_and_only_search_at_the_second() -> None:
    assert Status.KEEP is judge(start(), 1, scored(lifted(0.31)))[0].status
    assert Status.SEARCH is judge(replace(start(), attempts=1), 2, scored(lifted(0.31)))[0].status


@pytest.mark.parametrize(
    ("folds", "status"), [(6, Status.KEEP), (5, Status.KEEP), (4, Status.SEARCH), (3, Status.ARCHIVE)]
)
def test_official_asks_for_five_better_folds_and_search_for_four(folds: int, status: Status) -> None:
    assert status is judge(start(), 1, scored(lifted(0.9, folds), double=1.0))[0].status


@pytest.mark.parametrize(
    ("delta", "double", "status"),
    [(0.021, 0.001, Status.SEARCH), (0.019, 0.001, Status.ARCHIVE), (0.021, 0.0, Status.ARCHIVE)],
)
def test_search_asks_for_a_material_gain_that_survives_double_costs(
    delta: float, double: float, status: Status
) -> None:
    state = start()
    before = state.parent.evaluation.score_double_cost or 0.0
    assert status is judge(state, 1, scored(lifted(delta), double=before + double))[0].status


def test_search_moves_the_working_parent_alone_and_measures_against_it_next() -> None:
    _, state = judge(start(), 1, scored(lifted(0.1)))
    assert (0, 1) == (state.champion.attempt, state.parent.attempt)
    decision, state = judge(state, 2, scored(lifted(0.11)))
    assert (Status.ARCHIVE, 0.01) == (decision.status, pytest.approx(decision.delta))
    assert 1 == state.parent.attempt
    decision, state = judge(state, 3, scored(lifted(0.13)))
    assert (Status.SEARCH, 0.03) == (decision.status, pytest.approx(decision.delta))


def test_stepping_stones_add_up_to_a_keep_against_the_seed() -> None:
    state = start()
    statuses = []
    for attempt, gain in enumerate((0.15, 0.3, 0.45, 0.6), start=1):
        decision, state = judge(state, attempt, scored(lifted(gain)))
        statuses.append(decision.status)
    assert [Status.SEARCH, Status.SEARCH, Status.KEEP, Status.SEARCH] == statuses
    assert (3, 4) == (state.champion.attempt, state.parent.attempt)


def test_the_dust_of_another_mask_makes_no_fold_better_and_no_slot_change_hands() -> None:
    """A copy of the parent scores 1e-14 higher or lower by luck: that must not fill up "four better folds"."""
    state, dust = start(), (1e-14, 2e-14, -1e-14, 1e-14, 3e-14, 1e-14)
    copy = tuple(sharpe + more for sharpe, more in zip(SEED_FOLDS, dust, strict=True))
    decision = propose(state, trial(1, scored(copy)), noise_floor=0.3)
    assert (Status.DISCARD, 0, ()) == (decision.status, decision.folds_better, decision.slots)
    one_fold = (SEED_FOLDS[0] + 0.3, *copy[1:])
    decision = propose(state, trial(1, scored(one_fold)), noise_floor=0.3)
    assert (1, False) == (decision.folds_better, decision.status is Status.SEARCH)


def test_a_worse_attempt_is_discarded_and_the_reason_names_what_search_asks_for() -> None:
    decision, state = judge(start(), 1, scored(lifted(-0.1)))
    assert Status.DISCARD is decision.status
    assert (0, 0, ()) == (state.parent.attempt, state.champion.attempt, decision.slots)
    expected = (
        "search asks for Δscore > 0.0200 (got -0.1000), better folds ≥ 4 (got 0), Δscore at 2× costs > 0.0000 "
        "(got -0.1000)"
    )
    assert expected == decision.reason


@pytest.mark.parametrize(
    ("evaluation", "status", "gate", "reason"),
    [
        (
            failed(Outcome.GATE, gate=GateResult("turnover", False, 52.0, 40.0, -12.0)),
            Status.GATE,
            "turnover",
            "the gate turnover failed",
        ),
        (
            failed(Outcome.INVALID, Fault("ImportGateError", 3), GateResult("import", False)),
            Status.INVALID,
            "import",
            "ImportGateError at line 3 of strategy.py",
        ),
        (
            failed(Outcome.CRASH, Fault("KeyError", 12, "'BTC'")),
            Status.CRASH,
            None,
            "KeyError at line 12 of strategy.py",
        ),
        (failed(Outcome.TIMEOUT, Fault("LimitError")), Status.TIMEOUT, None, "LimitError"),
        (failed(Outcome.CRASH), Status.CRASH, None, "no score: crash"),
    ],
)
def test_what_has_no_score_is_passed_on_and_counts(
    evaluation: Evaluation, status: Status, gate: str | None, reason: str
) -> None:
    decision, state = judge(start(), 1, evaluation)
    assert (status, gate, reason) == (decision.status, decision.gate, decision.reason)
    assert ((), 1, 49) == (decision.rules, state.attempts, decision.attempts_left)
    assert start().archive == state.archive


def test_a_scored_attempt_that_fails_an_economic_gate_earns_nothing_but_shows_its_difference() -> None:
    evaluation = replace(
        scored(lifted(2.0)), outcome=Outcome.GATE, gates=(GateResult("drawdown", False, 0.4, 0.25, -0.15),)
    )
    decision, state = judge(start(), 1, evaluation)
    assert (Status.GATE, (), 6) == (decision.status, decision.slots, decision.folds_better)
    assert 2.0 == pytest.approx(decision.delta)
    assert 0 == state.champion.attempt


def test_a_violation_counts_and_changes_nothing_else() -> None:
    decision, state = violation(start(), 7, "run.py", budget=50)
    assert (Status.VIOLATION, 43) == (decision.status, decision.attempts_left)
    assert replace(start(), attempts=7) == state


def test_a_leak_found_by_the_deep_check_makes_a_gate_and_leaves_no_number() -> None:
    entry = trial(1, scored(lifted(5.0)))
    proposal = propose(start(), entry, noise_floor=FLOOR)
    confirmation = Confirmation(False, None, None, causality_detail="bar 1204")
    decision, state = settle(start(), entry, proposal, confirmation, noise_floor=FLOOR, budget=50)
    assert (Status.GATE, "causality", ()) == (decision.status, decision.gate, decision.slots)
    assert (None, ()) == (decision.delta, decision.rules)
    assert replace(start(), attempts=1) == state
    left = after_confirmation(entry.evaluation, decision)
    assert (Outcome.GATE, None, (), (), "causality") == (
        left.outcome, left.score, left.folds, left.daily_returns, left.failed_gate,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("second", "status"),
    [
        (scored(lifted(0.9)), Status.KEEP),
        (scored(lifted(0.2)), Status.SEARCH),
        (scored(lifted(0.01)), Status.ARCHIVE),
        (scored(lifted(-0.5)), Status.DISCARD),
        (failed(Outcome.GATE, gate=GateResult("drawdown", False)), Status.DISCARD),
        (failed(Outcome.CRASH, Fault("KeyError", 3)), Status.DISCARD),
        (None, Status.DISCARD),
    ],
)
def test_an_attempt_earns_what_holds_under_both_masks(second: Evaluation | None, status: Status) -> None:
    entry = trial(1, scored(lifted(0.8)))
    proposal = propose(start(), entry, noise_floor=FLOOR)
    assert Status.KEEP is proposal.status
    confirmation = Confirmation(True, second, 0.0 if second is None else 0.5)
    decision, state = settle(start(), entry, proposal, confirmation, noise_floor=FLOOR, budget=50)
    assert status is decision.status
    assert (status is Status.KEEP) == (state.champion == entry)
    assert (status in (Status.KEEP, Status.SEARCH)) == (state.parent == entry)
    assert decision.mask_dependent
    if status is not Status.KEEP:
        assert "second mask" in decision.reason
        assert decision.beyond_error is None


def test_a_rule_that_only_the_second_mask_fails_is_listed_as_such() -> None:
    entry = trial(1, scored(lifted(0.8)))
    proposal = propose(start(), entry, noise_floor=FLOOR)
    confirmation = Confirmation(True, scored(lifted(0.2)), 0.6)
    decision, _ = settle(start(), entry, proposal, confirmation, noise_floor=FLOOR, budget=50)
    failing = [(rule.name, round(rule.got or 0, 6)) for rule in decision.rules if not rule.passed]
    assert [("official.score (second mask)", 0.2)] == failing


def test_nothing_is_accepted_without_its_confirmation() -> None:
    for gain in (0.8, 0.1, 0.01):
        entry = trial(1, scored(lifted(gain)))
        proposal = propose(start(), entry, noise_floor=FLOOR)
        assert proposal.needs_confirmation
        with pytest.raises(ValueError, match="only after its confirmation"):
            settle(start(), entry, proposal, None, noise_floor=FLOOR, budget=50)


def test_a_strategy_too_slow_for_the_deep_check_is_a_timeout_and_no_leak() -> None:
    entry = trial(1, scored(lifted(0.8)))
    proposal = propose(start(), entry, noise_floor=FLOOR)
    slow = Confirmation(False, None, None, failure=failed(Outcome.TIMEOUT, Fault("CpuLimit")))
    entry, decision = reconsider(start(), entry, proposal, slow, noise_floor=FLOOR)
    decision, after = settle(start(), entry, decision, slow, noise_floor=FLOOR, budget=50)
    assert (Status.TIMEOUT, None, "CpuLimit") == (decision.status, decision.gate, decision.reason)
    assert entry.evaluation.score is None, "no partial score"
    assert 0 == after.champion.attempt


def test_attempts_are_settled_in_order() -> None:
    with pytest.raises(ValueError, match="attempt 3 after attempt 3"):
        propose(replace(start(), attempts=3), trial(3, scored()), noise_floor=FLOOR)


def test_a_keep_is_labelled_beyond_error_only_when_its_days_say_so() -> None:
    near = scored(lifted(0.5), daily=returns(0))
    far = scored(lifted(0.5), daily=returns(1, days=12))
    assert judge(start(), 1, near)[0].beyond_error, "the same days differ by nothing"
    assert judge(start(), 1, far)[0].beyond_error is False, "six times twelve unlike days say nothing"
    assert judge(start(), 1, scored(lifted(0.1)))[0].beyond_error is None, "not a keep"
    other_days = scored(lifted(0.5), daily=returns(1, days=11))
    assert judge(start(), 1, other_days)[0].beyond_error is None


def test_replaying_recorded_decisions_gives_the_state_back() -> None:
    state = start()
    recorded: list[tuple[Trial, Status, tuple[str, ...]]] = []
    for attempt, gain in enumerate((0.1, -0.2, 0.5, 0.51, 0.9), start=1):
        evaluation = scored(lifted(gain), daily=returns(attempt))
        decision, state = judge(state, attempt, evaluation)
        recorded.append((trial(attempt, evaluation), decision.status, decision.slots))
    again = start()
    for entry, status, slots in recorded:
        again = advance(again, entry, status, slots)
    assert state == again
    assert SEED_FOLDS == again.seed.evaluation.fold_sharpes
