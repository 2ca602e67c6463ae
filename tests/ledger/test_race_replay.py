"""Records to a race, and the rules that make them one."""

from __future__ import annotations

from dataclasses import replace

import pytest
from ledger_cases import REFERENCE, UTC, closed, counted, created, joined, older_race, opened, todays_race, whole_race

from autoquant.errors import LedgerError
from autoquant.ledger import records as r
from autoquant.ledger.lines import seal
from autoquant.ledger.replay import Replayer, replay
from autoquant.ledger.views import RaceView


def told(bodies: list[r.RecordBody], utcs: list[str] | None = None) -> RaceView:
    records, head = [], r.GENESIS
    for seq, body in enumerate(bodies, start=1):
        record, _ = seal(body, seq=seq, utc=utcs[seq - 1] if utcs else UTC, previous=head)
        records.append(record)
        head = record.digest
    return replay(records, "autumn")


START: list[r.RecordBody] = [created(), joined()]
OVER: list[r.RecordBody] = [*START, r.CompetitorEnded("random", "done")]
ENTRY = r.LockboxEntry("seed", None, 0, "06" * 32)
RESERVED: list[r.RecordBody] = [*OVER, r.LockboxReserved((ENTRY,))]
FETCHED: list[r.RecordBody] = [*RESERVED, r.LockboxFetched({}, False)]
VERDICT = r.LockboxScored("seed", "0d" * 32, 0.2, "rejected", 0.1)


def test_a_whole_race_adds_up() -> None:
    view = told(whole_race())
    random, late = view.competitors["random"], view.competitors["late"]
    assert ("autumn", 0.4, True) == (view.created.race, view.seed.score if view.seed else None, view.is_terminal)
    assert ["discard", "keep", "violation"] == [attempt.status for attempt in random.attempts]
    assert [2, 1, 0] == [attempt.tries for attempt in random.attempts]
    assert ["c0" * 20, "c1" * 20, None] == [attempt.commit for attempt in random.attempts]
    assert (2, 2, 0) == (random.champion, random.working, random.left)
    assert ("done", 1, 1) == (random.ended, len(random.faults), len(random.violations))
    assert (0, 12.5) == (random.sessions[0].exit_code, random.sessions[0].seconds)
    assert (0, True) == (late.champion, late.joined.extension)
    assert view.lockbox.is_closed
    assert () == view.lockbox.pending
    assert ["seed", "random"] == list(view.lockbox.scores or {})
    assert ("all terminal", 1, 1) == (view.stopped, len(view.incidents), len(view.starts))


def test_usage_adds_up_per_race_attempt_and_session() -> None:
    random = told(whole_race()).competitors["random"]
    assert ("rand", "http://127.0.0.1:9", ("--a", "b c"), ("no web search",)) == (
        random.joined.group, random.joined.endpoint, random.joined.args, random.joined.settings,
    )  # fmt: skip
    assert (6, 1_800, 900, 270, 120, 2_070) == (
        random.usage.requests, random.usage.input, random.usage.cached, random.usage.output, random.usage.reasoning,
        random.usage.tokens,
    )  # fmt: skip
    assert 0.625 == random.usage.cost_usd  # 3 × 0.25, corrected by −0.125
    assert [1_000, 500, 0] == [random.usage_of_attempt(number).input for number in (1, 2, 3)]
    assert (1_800, 0) == (random.usage_of_session(1).input, random.usage_of_session(2).input)
    assert None is random.usage_of_attempt(3).cost_usd


def test_a_session_tells_its_version_its_conversation_and_its_end() -> None:
    (session,) = told(whole_race()).competitors["random"].sessions
    assert ("paper 1.0", "c-0", "rate limit", "c-1", "429 twice") == (
        session.version, session.resumes, session.outcome, session.conversation, session.detail,
    )  # fmt: skip


def test_time_is_the_agents_without_judging_and_without_what_infrastructure_took() -> None:
    random = told(whole_race()).competitors["random"]
    assert 12.5 - 4.5 - 2.0 == random.agent_seconds
    assert 2.0 + 60.0 == random.infrastructure_seconds


def test_an_unknown_cost_is_none_and_no_usage_is_no_cost() -> None:
    start = [*START, r.SessionStarted("random", 1)]
    assert None is told(start).competitors["random"].usage.cost_usd
    unknown = told([*start, counted(cost=None)]).competitors["random"]
    assert (1_000, None) == (unknown.usage.input, unknown.usage.cost_usd)
    assert None is told([*start, counted(), counted(cost=None)]).competitors["random"].usage.cost_usd


def test_a_race_from_before_usage_has_none() -> None:
    random = told(older_race()).competitors["random"]
    assert ((), (), 0, None) == (random.spent, random.waits, random.usage.tokens, random.usage.cost_usd)
    assert (12.5, 0.0, "") == (random.agent_seconds, random.infrastructure_seconds, random.sessions[0].outcome)


def test_a_reference_is_no_entry_and_waits_for_no_verdict() -> None:
    box = told([*FETCHED, REFERENCE, VERDICT, r.LockboxClosed()]).lockbox
    assert ((REFERENCE,), ["seed"], True) == (box.references, list(box.scores or {}), box.is_closed)
    assert () == told([*FETCHED, VERDICT, r.LockboxClosed()]).lockbox.references


def test_a_start_has_the_check_that_came_before_it_and_an_older_one_has_none() -> None:
    good, bad = r.ReadinessChecked(True), r.ReadinessChecked(False, ("disk: 1 GB free",))
    first, second = r.ArenaStarted(1, "h", ("random",)), r.ArenaStarted(2, "h")
    view = told([*START, bad, good, first, r.ArenaStopped("interrupted"), second])
    assert ((first, second), (good, None)) == (view.starts, view.readiness)
    assert (None,) == told(whole_race()).readiness
    assert ("random",) == told(todays_race()).starts[0].competitors


def test_an_open_attempt_is_charged_and_has_no_verdict() -> None:
    racer = told([*START, opened(1), r.EvaluationStarted("random", 1, 1)]).competitors["random"]
    assert racer.open_attempt is not None
    assert (1, 1, 2, ()) == (racer.open_attempt.attempt, racer.open_attempt.tries, racer.left, racer.closed)
    assert {"best": 0, "stable": 0, "cost_robust": 0, "distinct": None} == racer.archive


def test_search_moves_the_working_parent_and_not_the_champion() -> None:
    racer = told([*START, opened(1), closed(1, "search"), opened(2), closed(2, "archive")]).competitors["random"]
    assert (0, 1) == (racer.champion, racer.working)


def test_a_clock_that_jumps_back_changes_nothing() -> None:
    bodies: list[r.RecordBody] = [*START, opened(1), closed(1)]
    view = told(bodies, [UTC, UTC, "2026-11-30T12:00:00Z", "2019-01-01T00:00:00Z"])
    assert "2019-01-01T00:00:00Z" == view.competitors["random"].attempts[0].closed_utc


def test_evidence_about_a_competitor_that_ended_is_still_taken() -> None:
    view = told(
        [*OVER, r.ViolationFound("random", None, "run.py", "", ""), r.FaultSeen("random", None, "Disk", "full")]
    )
    assert (1, 1) == (len(view.competitors["random"].violations), len(view.competitors["random"].faults))


def test_usage_and_waits_of_a_competitor_that_ended_are_still_taken() -> None:
    wait = r.BackedOff("random", 3.0, "rate limit")
    view = told([*START, r.SessionStarted("random", 1), r.CompetitorEnded("random", "done"), counted(), wait])
    racer = view.competitors["random"]
    assert (1_000, (wait,)) == (racer.usage.input, racer.waits)


def test_a_session_may_end_after_its_competitor_did() -> None:
    end = r.SessionEnded("random", 1, "budget used", -15, 3.0)
    view = told([*START, r.SessionStarted("random", 1), r.CompetitorEnded("random", "done"), end])
    assert "budget used" == view.competitors["random"].sessions[0].reason


@pytest.mark.parametrize(
    ("before", "record", "rule"),
    [
        ([], joined(), "the first record must create the race"),
        ([created()], created(), "created before"),
        ([created(), r.SeedScored("0c", 0.4)], r.SeedScored("0c", 0.4), "seed was scored before"),
        (START, joined(), "'random' joined before"),
        ([created()], joined(budget=0), "'random' has no attempts"),
        (START, joined("early", extension=True), "only after the lockbox was reserved"),
        (RESERVED, joined("late"), "only an extension joins after"),
        (START, opened(1, "nobody"), "'nobody' never joined"),
        (START, opened(2), "attempt 2 where 1 is next"),
        (START, opened(0), "attempt 0 where 1 is next"),
        ([*START, opened(1)], opened(2), "attempt 2 opened while 1 is open"),
        ([*START, opened(1)], opened(1), "attempt 1 opened while 1 is open"),
        ([*START, opened(1), closed(1)], opened(1), "attempt 1 where 2 is next"),
        ([created(), joined(budget=1), opened(1), closed(1)], opened(2), "budget of 1 is used up"),
        (START, opened(1, parent=1), "attempt 1 from parent 1"),
        (START, closed(1), "attempt 1 of 'random' is not open"),
        ([*START, opened(1), closed(1)], closed(1), "attempt 1 of 'random' is not open"),
        ([*START, opened(1)], closed(2), "attempt 2 of 'random' is not open"),
        ([*START, opened(1)], closed(1, "brilliant"), "status 'brilliant' does not exist"),
        (START, r.EvaluationStarted("random", 1, 1), "is not open"),
        ([*START, opened(1)], r.EvaluationStarted("random", 1, 2), "try 2 where 1 is next"),
        ([*START, opened(1)], r.AttemptCommitted("random", 1, "c0"), "committed before it is closed"),
        (START, r.AttemptCommitted("random", 1, "c0"), "never opened"),
        (
            [*START, opened(1), closed(1), r.AttemptCommitted("random", 1, "c0")],
            r.AttemptCommitted("random", 1, "c0"),
            "committed before",
        ),
        ([*START, opened(1)], r.CompetitorEnded("random", "done"), "ended while attempt 1 is open"),
        (OVER, r.CompetitorEnded("random", "done"), "ended before (done)"),
        (OVER, opened(1), "ended before (done)"),
        (OVER, r.SessionStarted("random", 1), "ended before (done)"),
        (START, r.SessionStarted("random", 2), "session 2 where 1 is next"),
        (START, r.SessionEnded("random", 1, "exit", 0, 1.0), "session 1 was never started"),
        (START, r.FaultSeen("nobody", None, "x", "y"), "'nobody' never joined"),
        (START, counted("nobody"), "'nobody' never joined"),
        (START, counted(), "session 1 was never started"),
        ([*START, r.SessionStarted("random", 1)], counted(session=0), "session 0 was never started"),
        (START, r.BackedOff("nobody", 1.0, "x"), "'nobody' never joined"),
        (START, r.LockboxReserved((ENTRY,)), "reserved while random may go on"),
        (OVER, r.LockboxReserved(()), "empty or names an entry twice"),
        (OVER, r.LockboxReserved((ENTRY, ENTRY)), "empty or names an entry twice"),
        (RESERVED, r.LockboxReserved((ENTRY,)), "reserved before"),
        (OVER, r.LockboxFetched({}, False), "fetched before its set is reserved"),
        (FETCHED, r.LockboxFetched({}, False), "fetched before"),
        (RESERVED, VERDICT, "before it was fetched"),
        (FETCHED, r.LockboxScored("random", "0d", 0.2, "rejected", 0.1), "'random' is not in the reserved set"),
        ([*FETCHED, VERDICT], VERDICT, "'seed' has its verdict already"),
        (RESERVED, REFERENCE, "has a reference before it was fetched"),
        ([*FETCHED, REFERENCE], REFERENCE, "'buy-and-hold' is there already"),
        ([*FETCHED, VERDICT, r.LockboxClosed()], REFERENCE, "gets a reference after it was closed"),
        (OVER, r.LockboxClosed(), "closed before it was reserved"),
        (FETCHED, r.LockboxClosed(), "without a verdict on seed"),
        ([*FETCHED, VERDICT, r.LockboxClosed()], r.LockboxClosed(), "closed before"),
    ],
)
def test_a_record_out_of_turn_is_refused_with_its_place_and_rule(
    before: list[r.RecordBody], record: r.RecordBody, rule: str
) -> None:
    with pytest.raises(LedgerError) as caught:
        told([*before, record])
    assert f"autumn:{len(before) + 1}: " in caught.value.message
    assert rule in caught.value.message


def test_a_refused_record_leaves_the_race_as_it_was() -> None:
    replayer, head = Replayer(), r.GENESIS
    for seq, body in enumerate([*START, opened(1)], start=1):
        record, _ = seal(body, seq=seq, utc=UTC, previous=head)
        replayer.apply(record)
        head = record.digest
    before = replayer.view()
    for body in (opened(2), closed(3), joined(), created(), r.CompetitorEnded("random", "done"), r.LockboxClosed()):
        record, _ = seal(body, seq=4, utc=UTC, previous=head)
        for attempt in (replayer.check, replayer.apply):
            with pytest.raises(LedgerError):
                attempt(record)
    assert before == replayer.view()


def test_no_record_is_no_race() -> None:
    with pytest.raises(LedgerError, match="no record, so no race"):
        replay([])


def test_only_a_racer_with_a_task_hands_in_finally() -> None:
    with pytest.raises(LedgerError, match="attempt 1 is final, but 'random' has no task"):
        told([created(), r.SeedScored("0a" * 32, 0.4), joined(), replace(opened(1), final=True)])


def start(isolation: str, *unsealed: str) -> list[r.RecordBody]:
    return [r.ReadinessChecked(True, isolation=isolation, unsealed=unsealed), r.ArenaStarted(1, "h")]


def test_a_race_is_as_isolated_as_the_weakest_of_its_starts() -> None:
    """INV-42."""
    whole: list[r.RecordBody] = [created(isolation="sealed"), joined(), *start("sealed")]
    assert ("sealed", ()) == (told(whole).isolation, told(whole).unsealed)
    weaker = [*whole, *start("tamper-evident", "agents: no bubblewrap"), *start("sealed")]
    assert ("tamper-evident", ("agents: no bubblewrap",)) == (told(weaker).isolation, told(weaker).unsealed)
    assert "tamper-evident" == told([*whole, r.ArenaStarted(2, "h")]).isolation
    assert "tamper-evident" == told([created(isolation="tamper-evident"), joined(), *start("sealed")]).isolation
