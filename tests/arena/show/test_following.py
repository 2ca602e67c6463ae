"""Who looks at a race again and again is told the same as who looks once, and looks again only at what changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hypothesis import given
from hypothesis import strategies as st
from ledger_cases import UTC, closed, created, joined, opened

from autoquant.arena.show.following import Follower
from autoquant.arena.show.status import status_of
from autoquant.errors import LedgerError
from autoquant.ledger import records as r
from autoquant.ledger.replay import Replayer

HAPPENS: dict[str, Callable[[str, int], r.RecordBody]] = {
    "scored": lambda name, attempt: r.SeedScored("0c" * 32, 0.4),
    "opened": lambda name, attempt: opened(attempt + 1, name),
    "judged": lambda name, attempt: closed(attempt, name=name),
    "arena": lambda name, attempt: r.ArenaStarted(1, "here", ("alice", "bob")),
    "session": lambda name, attempt: r.SessionStarted(name, 1),
    "left": lambda name, attempt: r.SessionEnded(name, 1, "exited", 1, 2.0, outcome="rate limit"),
    "fault": lambda name, attempt: r.FaultSeen(name, None, "auth", "left alone after auth: no key"),
    "violation": lambda name, attempt: r.ViolationFound(name, None, "run.py", "aa", "bb"),
    "ended": lambda name, attempt: r.CompetitorEnded(name, "stalled"),
}


class Raced:
    """A race of alice and bob, of which impossible records are left out."""

    def __init__(self) -> None:
        self.replayer, self.records = Replayer(), list[r.Record]()
        for body in (created(budget=9), joined("alice"), joined("bob")):
            self.take(body)

    def take(self, body: r.RecordBody) -> None:
        seq = len(self.records) + 1
        record = r.Record(seq, f"{UTC[:-3]}{seq % 60:02}Z", "kind", body, "", "")
        try:
            self.replayer.apply(record)
        except LedgerError:
            return
        self.records.append(record)

    def happens(self, word: str, name: str) -> None:
        self.take(HAPPENS[word](name, len(self.replayer.view().competitors[name].attempts)))


@given(st.lists(st.tuples(st.sampled_from(sorted(HAPPENS)), st.sampled_from(["alice", "bob"])), max_size=30))
def test_each_look_says_what_a_first_look_says(course: Sequence[tuple[str, str]]) -> None:
    raced, follower = Raced(), Follower()
    for word, name in course:
        raced.happens(word, name)
        view = raced.replayer.view()
        assert status_of(view, "me", raced.records) == follower.status(view, "me", raced.records)


def test_only_a_competitor_that_changed_is_looked_at_again() -> None:
    raced, follower = Raced(), Follower()
    alice, bob = follower.status(raced.replayer.view(), "me").competitors
    raced.happens("opened", "bob")
    again, changed = follower.status(raced.replayer.view(), "me").competitors
    assert alice is again
    assert (0, 1) == (bob.attempts, changed.attempts)
    raced.happens("scored", "bob")
    assert 0.4 == follower.status(raced.replayer.view(), "me").competitors[0].champion.score
