"""Of a race's records, the few that tell how it went: arenas, sessions, ends, faults, violations.

An arena holds these and the view, and no other record: a race of ten thousand attempts has forty thousand.
"""

from __future__ import annotations

from autoquant.ledger import records as r

_TOLD = (r.ArenaStarted, r.SessionStarted, r.SessionEnded, r.CompetitorEnded, r.FaultSeen, r.ViolationFound)


class Course:
    """Records that `pauses`, `history` and the newest troubles are made of; of attempts the first of all and the first
    after each session's start or end, which say that there was one."""

    def __init__(self) -> None:
        self._records: list[r.Record] = []
        self._opened: set[str] = set()

    def add(self, record: r.Record) -> None:
        """Take `record` in if it tells something."""
        body = record.body
        if isinstance(body, r.AttemptOpened):
            if body.competitor in self._opened:
                return
            self._opened.add(body.competitor)
        elif not isinstance(body, _TOLD):
            return
        elif isinstance(body, r.SessionStarted | r.SessionEnded):
            self._opened.discard(body.competitor)
        self._records.append(record)

    @property
    def records(self) -> tuple[r.Record, ...]:
        """In their order."""
        return tuple(self._records)
