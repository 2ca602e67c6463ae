"""How ends are classed, and what follows them."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoquant.arena.sessions.policy import (
    IDLE_ROW,
    JITTER,
    LONGEST_ASKED,
    POLICY,
    End,
    Next,
    Outcome,
    Past,
    classify,
    following,
    history,
)
from autoquant.harness.events import Hurt, Trouble
from autoquant.ledger import records as r

RATE = Hurt(Trouble.RATE_LIMIT, "429")
AUTH = Hurt(Trouble.AUTH, "401")


def past(outcome: Outcome, *, opened: bool = False, conversation: str | None = "c", **changes: object) -> Past:
    facts = {"resumed": False, "reason": "exited", "this_arena": True} | changes
    return Past(outcome, opened, conversation, **facts)  # type: ignore[arg-type]


def after(*sessions: Past, retry_after: float | None = None) -> Next:
    return following(sessions, retry_after=retry_after, draw=random.Random(1))


@pytest.mark.parametrize(
    ("end", "outcome"),
    [
        (End("exited", 0, 33, None), Outcome.EARLY_STOP),
        (End("exited", 1, 33, None), Outcome.CRASH),
        (End("exited", -9, 33, None), Outcome.CRASH),
        (End("exited", 0, 0, AUTH), Outcome.DONE),
        (End("exited", 0, 33, AUTH), Outcome.AUTH),
        (End("exited", 1, 33, RATE), Outcome.RATE_LIMIT),
        (End("exited", 1, 33, Hurt(Trouble.QUOTA, "402")), Outcome.QUOTA),
        (End("exited", 1, 33, Hurt(Trouble.CONTEXT_FULL, "too long")), Outcome.CONTEXT_FULL),
        (End("exited", 1, 33, Hurt(Trouble.SERVER, "500")), Outcome.SERVER),
        (End("exited", 1, 33, Hurt(Trouble.SETUP, "not as root")), Outcome.SETUP),
        (End("silent", None, 33, None), Outcome.STALL),
        (End("no first output", None, 33, None), Outcome.STALL),
        (End("no progress", None, 33, None), Outcome.STALL),
        (End("silent", None, 33, RATE), Outcome.RATE_LIMIT),
        (End("did not exit", None, 33, None), Outcome.EARLY_STOP),
        (End("paused", None, 33, RATE), Outcome.KILLED),
        (End("time limit", None, 33, None), Outcome.KILLED),
        (End("output limit", None, 33, None), Outcome.KILLED),
        (End("model switched", None, 33, None), Outcome.MODEL_SWITCHED),
        (End("budget used", None, 0, None), Outcome.DONE),
    ],
)
def test_own_knowledge_comes_first_the_stream_second_the_exit_code_last(end: End, outcome: Outcome):
    assert outcome is classify(end)


def test_the_first_session_is_fresh_and_starts_at_once():
    assert Next("session") == after()


def test_an_early_stop_goes_on_with_the_same_conversation():
    step = after(past(Outcome.EARLY_STOP, opened=True))
    assert ("session", "c", 0.0) == (step.step, step.resume, step.wait_seconds)


def test_a_conversation_that_does_nothing_when_resumed_is_given_up_for_a_fresh_one():
    step = after(past(Outcome.EARLY_STOP, opened=True), past(Outcome.EARLY_STOP, resumed=True))
    assert ("session", None) == (step.step, step.resume)
    assert step.wait_seconds > 0


def test_three_sessions_without_an_attempt_are_a_stall_whatever_their_class():
    idle = [past(Outcome.EARLY_STOP), past(Outcome.STALL), past(Outcome.CONTEXT_FULL)]
    assert "session" == after(*idle[:2]).step
    assert "stalled" == after(*idle).step
    assert "session" == after(past(Outcome.EARLY_STOP), past(Outcome.STALL, opened=True), *idle[:2]).step


def test_what_a_provider_does_never_ends_a_competitor():
    """INV-25."""
    for outcome, rule in POLICY.items():
        if not rule.idle:
            assert "stalled" != after(*[past(outcome)] * 50).step


@pytest.mark.parametrize("outcome", [Outcome.AUTH, Outcome.SETUP])
def test_what_waiting_does_not_mend_is_left_at_once(outcome: Outcome):
    assert Next("leave", why=outcome) == after(past(outcome))


def test_the_next_start_gives_a_left_competitor_a_new_chance_in_the_same_conversation():
    step = after(past(Outcome.AUTH, this_arena=False))
    assert ("session", "c", 0.0) == (step.step, step.resume, step.wait_seconds)


def test_rate_limits_wait_longer_each_time_and_an_attempt_starts_the_count_anew():
    waits = [after(*[past(Outcome.RATE_LIMIT)] * n).wait_seconds for n in range(1, 10)]
    assert waits == sorted(waits)
    assert 15 <= waits[0] <= 15 * (1 + JITTER)
    assert waits[-1] <= 1800 * (1 + JITTER)
    again = after(*[past(Outcome.RATE_LIMIT)] * 5, past(Outcome.RATE_LIMIT, opened=True))
    assert again.wait_seconds <= 15 * (1 + JITTER)


def test_a_providers_own_wish_is_honoured_up_to_a_ceiling():
    assert 900 <= after(past(Outcome.RATE_LIMIT), retry_after=900).wait_seconds <= 900 * (1 + JITTER)
    assert after(past(Outcome.QUOTA), retry_after=1e9).wait_seconds <= LONGEST_ASKED * (1 + JITTER)


def test_a_full_context_a_stall_and_a_switched_model_start_afresh():
    for outcome in (Outcome.CONTEXT_FULL, Outcome.STALL, Outcome.MODEL_SWITCHED):
        assert after(past(outcome, opened=True)).resume is None


def test_a_pause_and_a_lost_arena_resume_without_a_wait():
    for session in (past(Outcome.KILLED, reason="paused"), past(Outcome.LOST, reason="lost")):
        step = after(session)
        assert ("session", "c", 0.0) == (step.step, step.resume, step.wait_seconds)
    assert "session" == after(*[past(Outcome.KILLED, reason="paused")] * 9).step


def test_crashes_in_a_row_leave_the_competitor_for_the_next_start():
    row = [past(Outcome.CRASH)] * 4
    assert "session" == after(*row).step
    assert "leave" == after(*row, past(Outcome.CRASH)).step


@given(
    st.lists(
        st.builds(
            Past,
            st.sampled_from(Outcome),
            st.booleans(),
            st.none() | st.just("c"),
            st.booleans(),
            st.sampled_from(["exited", "paused", "silent"]),
            st.booleans(),
        )
    ),
    st.none() | st.floats(0, 1e12),
)
def test_any_history_has_a_next_step_within_the_ceilings(sessions: list[Past], retry_after: float | None):
    step = following(sessions, retry_after=retry_after, draw=random.Random(1))
    assert step.step in ("session", "stalled", "leave")
    assert 0 <= step.wait_seconds <= LONGEST_ASKED * (1 + JITTER)
    if step.step == "stalled":
        assert IDLE_ROW <= sum(POLICY[p.outcome].idle for p in sessions if p.outcome in POLICY)


def records(*bodies: r.RecordBody) -> list[r.Record]:
    return [r.Record(i, "2026-11-30T00:00:00Z", r.kind_of(type(b)), b, "", "") for i, b in enumerate(bodies, 1)]


def test_history_tells_sessions_apart_by_competitor_arena_and_attempt():
    ended = r.SessionEnded("a", 1, "exited", 0, 1.0, outcome="rate limit", conversation="c1")
    seen = history(
        records(
            r.ArenaStarted(1, "h"),
            r.SessionStarted("a", 1),
            r.SessionStarted("b", 1),
            r.AttemptOpened("b", 1, "x", "0" * 64, "", 0),
            ended,
            r.ArenaStarted(2, "h"),
            r.SessionStarted("a", 2, "", "c1"),
            r.AttemptOpened("a", 1, "x", "0" * 64, "", 0),
            r.SessionEnded("a", 2, "no progress", None, 1.0),
        ),
        "a",
    )
    assert (
        Past("rate limit", False, "c1", False, "exited", False),
        Past("stall", True, None, True, "no progress", True),
    ) == seen


def test_an_attempt_answered_after_its_session_had_gone_is_that_sessions_progress():
    seen = history(
        records(
            r.SessionStarted("a", 1),
            r.SessionEnded("a", 1, "exited", 0, 1.0, outcome="early stop"),
            r.AttemptOpened("a", 1, "x", "0" * 64, "", 0),
            r.SessionStarted("a", 2),
            r.SessionEnded("a", 2, "exited", 0, 1.0, outcome="early stop"),
        ),
        "a",
    )
    assert [True, False] == [session.opened for session in seen]


@pytest.mark.parametrize(("outcome", "sessions"), [(Outcome.SETUP, 1), (Outcome.CRASH, 1), (Outcome.SERVER, 2)])
def test_what_may_lie_in_the_conversation_is_tried_in_a_fresh_one_before_anything_is_given_up(
    outcome: Outcome, sessions: int
):
    row = [past(outcome, resumed=True)] * sessions
    assert ("session", None) == (after(*row).step, after(*row).resume)
    assert "leave" == after(past(Outcome.SETUP, resumed=True), past(Outcome.SETUP)).step


def test_the_machines_own_fault_in_a_session_is_not_the_programs_crash():
    assert Outcome.KILLED is classify(End("fault", None, 3, None))
