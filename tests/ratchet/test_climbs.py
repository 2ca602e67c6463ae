"""Properties of any climb, whatever a competitor tries."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ratchet_cases import agreeing, returns, scored, start, trial

from autoquant.oracle.records import Confirmation, Evaluation, Status
from autoquant.ratchet.decide import correction, propose, settle
from autoquant.ratchet.state import SLOTS, correlation

WORTH = {Status.KEEP: 3, Status.SEARCH: 2, Status.ARCHIVE: 1, Status.DISCARD: 0}

sharpes = st.tuples(*[st.floats(-1.0, 2.0, allow_nan=False).map(lambda x: round(x, 3))] * 6)
evaluations = st.builds(
    lambda folds, double, seed: scored(folds, double=double, daily=returns(seed)),
    sharpes,
    st.floats(-2.0, 2.0),
    st.integers(0, 5),
)
floors = st.floats(0.0, 0.5)


@settings(max_examples=60, deadline=None)
@given(attempts=st.lists(st.tuples(evaluations, evaluations, st.booleans()), max_size=8), floor=floors)
def test_a_climb_only_ever_goes_up(attempts: list[tuple[Evaluation, Evaluation, bool]], floor: float) -> None:
    state = start()
    for number, (evaluation, other, agree) in enumerate(attempts, start=1):
        entry = trial(number, evaluation)
        proposal = propose(state, entry, noise_floor=floor)
        confirmation = agreeing(evaluation) if agree else Confirmation(True, other, 1.0)
        needed = confirmation if proposal.needs_confirmation else None
        decision, after = settle(state, entry, proposal, needed, noise_floor=floor, budget=8)
        assert WORTH[decision.status] <= WORTH[proposal.status], "confirmation never promotes"
        if agree:
            assert replace(proposal, mask_dependent=decision.mask_dependent) == replace(
                decision, working=None, champion=None, archive=None, attempts_left=None
            )
        if decision.status is Status.KEEP:
            assert entry.score - state.champion.score > floor * correction(number)
            assert after.champion == after.parent == entry
        else:
            assert state.champion == after.champion
        if decision.status is Status.SEARCH:
            assert entry.score > state.parent.score + 0.02
            assert entry == after.parent
        if WORTH[decision.status] < 2:
            assert state.parent == after.parent
        assert (decision.status is Status.DISCARD) <= (not decision.slots)
        assert after.champion.score >= state.champion.score
        _archive_only_gains(state, after, decision.slots)
        assert (number, 8 - number) == (after.attempts, decision.attempts_left)
        state = after


def _archive_only_gains(before: object, after: object, slots: tuple[str, ...]) -> None:
    old, new = before.archive, after.archive  # type: ignore[attr-defined]
    for slot in SLOTS:
        was, now = getattr(old, slot), getattr(new, slot)
        if slot in slots:
            assert now.attempt == after.attempts  # type: ignore[attr-defined]
        elif not (slot == "distinct" and "best" in slots and now is None):
            assert was == now
    if "best" in slots:
        assert new.best.score > old.best.score
    if "stable" in slots:
        assert new.stable.fold_std < old.stable.fold_std
    if "cost_robust" in slots:
        assert new.cost_robust.evaluation.score_double_cost > old.cost_robust.evaluation.score_double_cost
    if new.distinct is not None:
        likeness = correlation(new.distinct, new.best)
        assert likeness is not None
        assert likeness <= 0.7
        if "distinct" in slots and old.distinct is not None:
            held = correlation(old.distinct, old.best)
            assert held is not None
            assert likeness < held


@settings(max_examples=40, deadline=None)
@given(evaluation=evaluations, floor=floors)
def test_the_same_evaluation_is_never_accepted_twice(evaluation: Evaluation, floor: float) -> None:
    state = start()
    first = trial(1, evaluation)
    proposal = propose(state, first, noise_floor=floor)
    confirmation = agreeing(evaluation) if proposal.needs_confirmation else None
    decision, state = settle(state, first, proposal, confirmation, noise_floor=floor, budget=50)
    again = propose(state, trial(2, evaluation), noise_floor=floor)
    if decision.status is not Status.DISCARD:
        assert again.status is Status.DISCARD, "all that it could gain, it has gained"
    if decision.status is Status.KEEP:
        assert 0.0 == again.delta


@settings(max_examples=60, deadline=None)
@given(evaluation=evaluations, floor=st.floats(0.01, 0.5), n=st.integers(1, 200), more=st.integers(1, 200))
def test_more_attempts_never_lower_the_bar(evaluation: Evaluation, floor: float, n: int, more: int) -> None:
    early = propose(replace(start(), attempts=n - 1), trial(n, evaluation), noise_floor=floor)
    late = propose(replace(start(), attempts=n + more - 1), trial(n + more, evaluation), noise_floor=floor)
    assert early.rules[0].required < late.rules[0].required
    assert early.rules[0].passed or not late.rules[0].passed
    assert early.rules[2:] == late.rules[2:], "search does not count attempts"


@pytest.mark.parametrize("n", [1, 10, 1000])
def test_the_correction_is_at_least_one(n: int) -> None:
    assert 1.0 <= correction(n) < correction(n + 1)
