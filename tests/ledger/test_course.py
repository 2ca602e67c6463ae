"""An arena that holds a few of its records tells the same of sessions and troubles as one that held them all."""

from __future__ import annotations

from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st
from ledger_cases import UTC, closed, created, joined, opened

from autoquant.arena.sessions.policy import history
from autoquant.arena.show.trouble import newest_faults, newest_violations, pauses
from autoquant.ledger import records as r
from autoquant.ledger.course import Course
from autoquant.ledger.ledger import Ledger, read_records

NAMES = st.sampled_from(["alice", "bob"])
BODIES = st.one_of(
    st.builds(lambda name: opened(1, name), NAMES),
    st.builds(lambda name: r.EvaluationStarted(name, 1, 1), NAMES),
    st.builds(lambda name: closed(1, name=name), NAMES),
    st.builds(lambda names: r.ArenaStarted(1, "here", names), st.sampled_from([(), ("alice",), ("alice", "bob")])),
    st.builds(lambda name, old: r.SessionStarted(name, 1, resumes=old), NAMES, st.sampled_from([None, "talk"])),
    st.builds(
        lambda name, how: r.SessionEnded(name, 1, "exited", 1, 2.0, outcome=how, conversation="talk"),
        NAMES,
        st.sampled_from(["", "rate limit", "crash", "lost"]),
    ),
    st.builds(lambda name: r.CompetitorEnded(name, "stalled"), NAMES),
    st.builds(lambda name, n: r.FaultSeen(name, n, "auth", "no key"), NAMES, st.sampled_from([None, 1])),
    st.builds(lambda name: r.ViolationFound(name, 1, "run.py", "aa", "bb", ""), NAMES),
)


STARTED, RESUMED = (r.SessionStarted("alice", 1, resumes=old) for old in (None, "talk"))
ENDED = r.SessionEnded("alice", 1, "exited", 1, 2.0, outcome="crash", conversation="talk")
LATE = [RESUMED, ENDED, opened(1, "alice"), STARTED, opened(2, "alice"), ENDED]
"""The first attempt came when its session had gone, the second in a session of its own."""


@example(LATE)
@example([RESUMED, ENDED, r.CompetitorEnded("alice", "stalled")])
@given(st.lists(BODIES, max_size=40))
def test_sessions_waits_faults_and_violations_are_told_alike(bodies: list[r.RecordBody]) -> None:
    records = [r.Record(n, f"{UTC[:-3]}{n:02}Z", "kind", body, "", "") for n, body in enumerate(bodies, start=1)]
    course = Course()
    for record in records:
        course.add(record)
    for name in ("alice", "bob"):
        assert history(records, name) == history(course.records, name)
    assert pauses(records) == pauses(course.records)
    assert newest_faults(records) == newest_faults(course.records)
    assert newest_violations(records) == newest_violations(course.records)


def test_attempts_add_nothing_to_what_is_held_and_all_can_be_read_again(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path / "ledger.jsonl")
    ledger.append(created(budget=3), UTC)
    ledger.append(r.SeedScored("0c" * 32, 0.4), UTC)
    ledger.append(joined(), UTC)
    for attempt in (1, 2, 3):
        ledger.append(opened(attempt), UTC)
        ledger.append(r.EvaluationStarted("random", attempt, 1), UTC)
        ledger.append(closed(attempt), UTC)
    again = Ledger.open(tmp_path / "ledger.jsonl")
    for one in (ledger, again):
        assert ["attempt_opened"] == [record.kind for record in one.course]
        assert (12, 12) == (one.length, len(read_records(one.path)))
        assert read_records(one.path)[-1].digest == one.head
