"""What a race's records tell of trouble: newest faults and violations, who is between sessions and why. Reads only."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from autoquant.arena.plain_text import plain
from autoquant.ledger import records as r

NEWEST = 5
MESSAGE = 200
"""Characters of a fault's message that are shown."""
WAITED_FOR = frozenset(
    {"rate limit", "server error", "quota", "crash", "model switched", "early stop", "stall", "context full"}
)
"""Ends of sessions that the policy answers with a wait. What it answers with leaving tells it by a fault."""


@dataclass(frozen=True)
class FaultStatus:
    """A fault as the record has it, its words made inert."""

    utc: str
    competitor: str | None
    attempt: int | None
    kind: str
    message: str


@dataclass(frozen=True)
class ViolationStatus:
    """A forbidden change as the record has it, its words made inert."""

    utc: str
    competitor: str
    attempt: int | None
    path: str
    before: str
    after: str
    """Digests; empty where there was no file."""
    diff: str
    """Digest of the kept diff in the race's evidence/ folder; empty where there is none."""


@dataclass(frozen=True)
class Pause:
    """Why a competitor that races has no session now."""

    left: bool
    """This arena will not start another one; otherwise it waits for the next."""
    why: str
    """How the last session ended, or the fault for which the competitor was left."""
    since_utc: str


def newest_faults(records: Iterable[r.Record]) -> tuple[FaultStatus, ...]:
    """The last few faults of anybody, oldest first."""
    faults = [(record.utc, record.body) for record in records if isinstance(record.body, r.FaultSeen)]
    return tuple(
        FaultStatus(utc, fault.competitor, fault.attempt, plain(fault.kind, 40), plain(fault.message, MESSAGE))
        for utc, fault in faults[-NEWEST:]
    )


def newest_violations(records: Iterable[r.Record]) -> tuple[ViolationStatus, ...]:
    """The last few forbidden changes of anybody, oldest first."""
    found = [(record.utc, record.body) for record in records if isinstance(record.body, r.ViolationFound)]
    return tuple(
        ViolationStatus(utc, one.competitor, one.attempt, plain(one.path, MESSAGE), one.before, one.after, one.diff)
        for utc, one in found[-NEWEST:]
    )


def pauses(records: Iterable[r.Record]) -> dict[str, Pause]:
    """Who is between sessions, by name: the last one ended in a way that asks for a wait, or a fault followed its end.

    A new arena tries everybody it runs again, so what an earlier one waited for is past with its start. Whom it does
    not run, and an earlier one left, is still left.
    """
    found: dict[str, Pause] = {}
    for record in records:
        match record.body:
            case r.ArenaStarted(competitors=names):
                found = {name: one for name, one in found.items() if names and one.left and name not in names}
            case r.SessionStarted(competitor=name) | r.CompetitorEnded(competitor=name):
                found.pop(name, None)
            case r.FaultSeen(competitor=str(name), attempt=None, kind=kind):
                found[name] = Pause(True, plain(kind, 40), record.utc)
            case r.SessionEnded(competitor=name) as body:
                found.pop(name, None)
                if (outcome := body.outcome or body.reason) in WAITED_FOR:
                    found[name] = Pause(False, outcome, record.utc)
            case _:
                pass
    return found
