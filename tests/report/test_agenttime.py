"""Agent time up to each attempt, from records with moments of their own."""

from __future__ import annotations

import datetime as dt

import pytest
from race_cases import SEED_FOLDS, RaceCase, shifted

from autoquant.ledger import records as r
from autoquant.report.agenttime import agent_times
from autoquant.report.collect import collect

START = dt.datetime(2026, 11, 1, tzinfo=dt.UTC)


def ledger(*moments: tuple[float, r.RecordBody]) -> list[r.Record]:
    """Records at seconds after the start."""
    return [
        r.Record(seq, (START + dt.timedelta(seconds=at)).isoformat(), "", body, "", "")
        for seq, (at, body) in enumerate(moments, 1)
    ]


def begun(number: int = 1, name: str = "a") -> r.SessionStarted:
    return r.SessionStarted(name, number)


def ended(seconds: float | None, judging: float = 0.0, lost: float = 0.0, number: int = 1) -> r.SessionEnded:
    return r.SessionEnded("a", number, "exited", 0, seconds, judging_seconds=judging, lost_seconds=lost)


def opened(attempt: int, name: str = "a") -> r.AttemptOpened:
    return r.AttemptOpened(name, attempt, f"r{attempt}", "00" * 32, "", 0)


def closed(attempt: int, name: str = "a") -> r.AttemptClosed:
    return r.AttemptClosed(name, attempt, "discard", 0.1, None, None, None)


def test_time_runs_from_the_start_of_the_session_and_stands_still_while_the_referee_judges():
    records = ledger((0, begun()), (100, opened(1)), (160, closed(1)), (200, opened(2)), (260, closed(2)))
    assert {"a": {1: 100.0, 2: 140.0}} == agent_times(records)


def test_a_second_session_goes_on_where_the_first_had_ended_and_waits_do_not_count():
    records = ledger(
        (0, begun()), (100, opened(1)), (110, closed(1)), (300, ended(300, judging=10)),
        (300, r.BackedOff("a", 5_000, "rate limit")), (5_300, begun(2)), (5_350, opened(2)), (5_360, closed(2)),
    )  # fmt: skip
    assert {"a": {1: 100.0, 2: 290.0 + 50.0}} == agent_times(records)


def test_no_attempt_lies_beyond_what_its_session_gave_the_agent():
    records = ledger((0, begun()), (400, opened(1)), (420, closed(1)), (500, ended(500, judging=20, lost=200)))
    assert {"a": {1: 280.0}} == agent_times(records)


def test_of_a_session_whose_end_nobody_saw_the_time_up_to_its_last_attempt_counts():
    records = ledger(
        (0, begun()), (100, opened(1)), (110, closed(1)), (9_000, ended(None)), (9_000, begun(2)), (9_030, opened(2)),
    )  # fmt: skip
    assert {"a": {1: 100.0, 2: 130.0}} == agent_times(records)
    unsaid = [record for record in records if not isinstance(record.body, r.SessionEnded)]
    assert {"a": {1: 100.0, 2: 130.0}} == agent_times(unsaid)


def test_an_attempt_after_the_end_of_a_session_stands_at_all_its_time_and_one_before_any_has_none():
    assert {"a": {1: 300.0}} == agent_times(ledger((0, begun()), (300, ended(300)), (305, opened(1))))
    assert {"a": {}} == agent_times(ledger((0, opened(1)), (10, closed(1))))


def test_a_clock_that_jumps_back_never_makes_time_fall():
    records = ledger((1_000, begun()), (1_100, opened(1)), (900, closed(1)), (950, opened(2)), (960, closed(2)))
    assert {"a": {1: 100.0, 2: 100.0}} == agent_times(records)


def test_competitors_have_clocks_of_their_own():
    records = ledger(
        (0, begun()),
        (10, begun(name="b")),
        (30, opened(1, "b")),
        (70, closed(1, "b")),
        (90, opened(1)),
        (95, closed(1)),
    )
    assert {"a": {1: 90.0}, "b": {1: 20.0}} == agent_times(records)


def test_the_pages_attempts_carry_it_and_end_with_the_time_its_competitor_had(tmp_path):
    case = RaceCase(tmp_path)
    case.join("a")
    case.add(r.SessionStarted("a", 1))  # a minute between records: opened at 60 s, closed at 120 s
    case.attempt("a", "discard", shifted(SEED_FOLDS, 0.1))
    case.attempt("a", "keep", shifted(SEED_FOLDS, 0.9))
    case.add(ended(400.0, judging=120.0))
    entrant = collect(tmp_path, "autumn").race.entrants[0]
    assert [60.0, 120.0] == [attempt.agent_seconds for attempt in entrant.attempts]
    assert entrant.work is not None
    assert pytest.approx(280.0) == entrant.work.agent_seconds
