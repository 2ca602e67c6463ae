"""How a session ended, and what follows from it. Pure.

What the arena itself knows comes first (budget used, ended by us), what the program's stream said second, the exit code
last: CLIs report success after failures of every kind. What a provider, a program or a machine did is never the
competitor's end: the arena waits, tries again, and at last leaves the competitor as it is, to be resumed.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from autoquant.harness.events import Hurt, Trouble
from autoquant.ledger import records as r

OURS = ("paused", "time limit", "output limit", "disk limit", "fault")
"""Reasons for which the arena ends a session that did nothing wrong in the stream."""
SILENT = ("no first output", "silent", "no progress", "did not exit")
"""Reasons for which the watchdogs end one."""


class Outcome(StrEnum):
    """Class of a session's end."""

    DONE = "done"
    EARLY_STOP = "early stop"
    RATE_LIMIT = "rate limit"
    QUOTA = "quota"
    AUTH = "auth"
    CONTEXT_FULL = "context full"
    SERVER = "server error"
    SETUP = "setup"
    CRASH = "crash"
    STALL = "stall"
    KILLED = "ended by us"
    MODEL_SWITCHED = "model switched"
    LOST = "lost"
    """The arena died in it."""


_OF_TROUBLE = {
    Trouble.RATE_LIMIT: Outcome.RATE_LIMIT,
    Trouble.QUOTA: Outcome.QUOTA,
    Trouble.AUTH: Outcome.AUTH,
    Trouble.CONTEXT_FULL: Outcome.CONTEXT_FULL,
    Trouble.SERVER: Outcome.SERVER,
    Trouble.SETUP: Outcome.SETUP,
}
INFRASTRUCTURE = frozenset(
    {
        Outcome.RATE_LIMIT, Outcome.QUOTA, Outcome.AUTH, Outcome.SERVER, Outcome.SETUP, Outcome.CRASH, Outcome.STALL,
        Outcome.MODEL_SWITCHED,
    }
)  # fmt: skip
"""Ends whose last stretch without progress is infrastructure time, not the agent's."""


@dataclass(frozen=True)
class End:
    """What is known about a session that is over."""

    reason: str
    """`exited`, or why the arena ended it."""
    exit_code: int | None
    attempts_left: int
    trouble: Hurt | None
    """The last complaint that nothing good followed."""


def classify(end: End) -> Outcome:
    """The class of an end.

    >>> classify(End("exited", 0, 33, None)), classify(End("exited", 0, 33, Hurt(Trouble.AUTH, "401")))
    (<Outcome.EARLY_STOP: 'early stop'>, <Outcome.AUTH: 'auth'>)
    """
    if end.attempts_left <= 0:
        return Outcome.DONE
    if end.reason in OURS:
        return Outcome.KILLED
    if end.reason == "model switched":
        return Outcome.MODEL_SWITCHED
    if end.trouble is not None:
        return _OF_TROUBLE[end.trouble.trouble]
    if end.reason == "did not exit":
        return Outcome.EARLY_STOP
    if end.reason in SILENT:
        return Outcome.STALL
    return Outcome.EARLY_STOP if end.exit_code == 0 else Outcome.CRASH


@dataclass(frozen=True)
class Rule:
    """What follows an end. Seconds; rows count sessions without an attempt that ended alike."""

    resume: bool
    """Go on with the same conversation, if the program can."""
    first_wait: float = 0.0
    """Before the next session; doubled for each further one in the row."""
    longest_wait: float = 0.0
    leave_after: int | None = None
    """A row of so many, and this arena leaves the competitor alone; the next `start` tries again."""
    idle: bool = False
    """The agent had its chance: a row of idle ones, of whatever class, is a stall."""


_MINUTE = 60.0
POLICY: dict[Outcome, Rule] = {
    Outcome.EARLY_STOP: Rule(resume=True, idle=True),
    Outcome.STALL: Rule(resume=False, idle=True),
    Outcome.CONTEXT_FULL: Rule(resume=False, idle=True),
    Outcome.KILLED: Rule(resume=False, leave_after=3),
    Outcome.LOST: Rule(resume=True),
    Outcome.CRASH: Rule(resume=True, first_wait=10.0, longest_wait=5 * _MINUTE, leave_after=5),
    Outcome.RATE_LIMIT: Rule(resume=True, first_wait=15.0, longest_wait=30 * _MINUTE, leave_after=20),
    Outcome.SERVER: Rule(resume=True, first_wait=15.0, longest_wait=10 * _MINUTE, leave_after=12),
    Outcome.QUOTA: Rule(resume=True, first_wait=30 * _MINUTE, longest_wait=60 * _MINUTE, leave_after=8),
    Outcome.MODEL_SWITCHED: Rule(resume=False, first_wait=_MINUTE, longest_wait=10 * _MINUTE, leave_after=3),
    Outcome.AUTH: Rule(resume=True, leave_after=1),
    Outcome.SETUP: Rule(resume=False, leave_after=1),
}
REMEDIES = {
    Outcome.AUTH: "log in again or mend the key, then the same command goes on",
    Outcome.QUOTA: "raise the quota or wait for its reset, then the same command goes on",
    Outcome.RATE_LIMIT: "wait, or let fewer share the account (--parallel-per-account), then the same command goes on",
    Outcome.SERVER: "wait until the provider answers again, then the same command goes on",
    Outcome.SETUP: "see arena.py doctor, then the same command goes on",
}
"""What a person can do for a competitor that was left alone."""
_STALE = {Outcome.EARLY_STOP: 1, Outcome.CRASH: 1, Outcome.SETUP: 1, Outcome.SERVER: 2}
"""Ends of a resumed session without an attempt that may lie in the conversation itself, and after how many in a row."""
IDLE = frozenset(outcome for outcome, rule in POLICY.items() if rule.idle)
IDLE_ROW = 3
"""So many idle sessions in a row, and the competitor is stalled."""
IDLE_WAIT = 20.0
"""Before a session that follows an idle one; twice that after two."""
LONGEST_ASKED = 6 * 60 * _MINUTE
"""A provider may ask for a longer wait than the table's, but not for more than this."""
JITTER = 0.25
"""So that racers of one account do not come back in the same second."""


@dataclass(frozen=True)
class Past:
    """One ended session as the record tells it."""

    outcome: str
    opened: bool
    """Whether it opened an attempt."""
    conversation: str | None
    resumed: bool
    reason: str
    this_arena: bool
    """Whether the arena that runs now has seen it: a new `start` gives a left competitor a new chance."""


def history(records: Sequence[r.Record], competitor: str) -> tuple[Past, ...]:
    """The ended sessions of a competitor, in order."""
    past: list[Past] = []
    opened = resumed = running = False
    for record in records:
        match record.body:
            case r.ArenaStarted():
                past = [replace(session, this_arena=False) for session in past]
            case r.SessionStarted(competitor=name, resumes=resumes) if name == competitor:
                opened, resumed, running = False, resumes is not None, True
            case r.AttemptOpened(competitor=name) if name == competitor:
                if not running and past:  # answered after its session had gone: a CLI may drop a command it began
                    past[-1] = replace(past[-1], opened=True)
                opened = True
            case r.SessionEnded(competitor=name) as body if name == competitor:
                outcome = body.outcome or _of_reason(body)
                past.append(Past(outcome, opened, body.conversation, resumed, body.reason, True))
                opened = running = False
            case _:
                pass
    return tuple(past)


def _of_reason(body: r.SessionEnded) -> Outcome:
    """The class of an end in a record that has none."""
    if body.reason == "lost":
        return Outcome.LOST
    return classify(End(body.reason, body.exit_code, 1, None))


@dataclass(frozen=True)
class Next:
    """What to do now."""

    step: str
    """`session`, `stalled`, or `leave`."""
    resume: str | None = None
    wait_seconds: float = 0.0
    why: str = ""
    """Of a wait, a stall or a leave."""


def following(past: Sequence[Past], *, retry_after: float | None, draw: random.Random, pace: float = 1.0) -> Next:
    """What follows the ends so far.

    Parameters
    ----------
    past : from `history`.
    retry_after : seconds the provider asked to wait, after the last session.
    draw : gives the jitter.
    pace : factor on the table's waits, for tests and trials.
    """
    if not past:
        return Next("session")
    last = past[-1]
    rule = POLICY.get(Outcome(last.outcome))
    if rule is None:
        return Next("session")
    idle = _row(past, lambda p: POLICY[Outcome(p.outcome)].idle)
    if rule.idle and idle >= IDLE_ROW:
        return Next("stalled", why=f"{idle} sessions in a row without an attempt, the last one: {last.outcome}")
    alike = _row(past, lambda p: p.outcome == last.outcome and p.this_arena and p.reason != "paused")
    # A conversation that cannot be gone on with must not hold the night up: a fresh one is tried before anything else.
    stale = last.resumed and not last.opened and alike >= _STALE.get(Outcome(last.outcome), len(past) + 1)
    if rule.leave_after is not None and alike >= rule.leave_after and not (stale and alike == 1):
        return Next("leave", why=last.outcome)
    resume = last.conversation if (rule.resume or last.reason == "paused") and not stale else None
    if rule.idle:
        return Next("session", resume, idle * IDLE_WAIT * pace, last.outcome)
    wait = 0.0
    if rule.first_wait and last.this_arena:
        wait = min(rule.longest_wait, rule.first_wait * 2.0 ** max(0, alike - 1)) * pace
        wait = max(wait, min(retry_after or 0.0, LONGEST_ASKED))
        wait *= 1.0 + JITTER * draw.random()
    return Next("session", resume, wait, last.outcome)


def _row(past: Sequence[Past], counts: Callable[[Past], bool]) -> int:
    """Sessions up to the last one without an attempt for which `counts` holds; others between do not break the row."""
    row = 0
    for session in reversed(past):
        if session.opened:
            break
        if session.outcome in POLICY and counts(session):
            row += 1
    return row
