"""How long a competitor's own sessions had run when it handed in an attempt, read off the record. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from autoquant.ledger import records as r
from autoquant.report import instants

_Mark = r.SessionStarted | r.SessionEnded | r.AttemptOpened | r.AttemptClosed
"""Records that the time hangs on."""


def agent_times(records: Iterable[r.Record]) -> dict[str, dict[int, float]]:
    """Seconds of agent time up to the opening of each attempt, by competitor.

    Inside a session the wall clock runs from its first record to the attempt's, without the spans in which the referee
    judged earlier attempts (opened to closed). What a session cannot have given is cut off: its agent time is `seconds`
    without `judging_seconds` and `lost_seconds`, as in `CompetitorView.agent_seconds`. Waits lie between sessions and
    never count. Nobody saw the end of a lost session: of it the time up to its last attempt counts, a lower bound.

    Parameters
    ----------
    records : the whole ledger in its order; `seq` orders, so a clock that jumps back gives 0 and never a negative span.

    Returns
    -------
    Never falling from one attempt to the next. An attempt handed in before any session began is not in it.
    """
    racers: dict[str, _Clock] = {}
    for record in records:
        body = record.body
        if isinstance(body, _Mark):
            racers.setdefault(body.competitor, _Clock()).take(body, instants.seconds(record.utc))
    return {name: racer.times for name, racer in racers.items()}


@dataclass
class _Clock:
    """One competitor's time while records come in. All numbers are seconds."""

    times: dict[int, float] = field(default_factory=dict)
    before: float | None = None
    """Agent time of the sessions that have ended; None before the first one has started."""
    started: float | None = None
    """Moment at which the running session began; None between sessions."""
    judged: float = 0.0
    opened: float | None = None
    """Moment at which the open attempt was handed in."""
    inside: dict[int, float] = field(default_factory=dict)
    """Attempts of the running session: time in it."""
    latest: float = 0.0
    """The last of those times."""

    def take(self, body: _Mark, now: float) -> None:
        """Go on to a record of that moment."""
        match body:
            case r.SessionStarted():
                self._settle(None)
                self.before, self.started, self.judged, self.opened = self.before or 0.0, now, 0.0, None
                self.inside, self.latest = {}, 0.0
            case r.AttemptOpened(attempt=attempt):
                self.opened = now
                if self.started is not None:
                    self.latest = max(self.latest, now - self.started - self.judged)
                    self.inside[attempt] = self.latest
                    self.times[attempt] = (self.before or 0.0) + self.latest
                elif self.before is not None:
                    self.times[attempt] = self.before
            case r.AttemptClosed():
                if self.opened is not None:
                    self.judged += max(0.0, now - self.opened)
                self.opened = None
            case r.SessionEnded(seconds=seconds):
                told = None if seconds is None else max(0.0, seconds - body.judging_seconds - body.lost_seconds)
                self._settle(told)

    def _settle(self, told: float | None) -> None:
        """Close the running session; `told` is its agent time as recorded, None when nobody knows."""
        if self.started is None:
            return
        base, length = self.before or 0.0, self.latest if told is None else told
        for attempt, seconds in self.inside.items():
            self.times[attempt] = base + min(seconds, length)
        self.before, self.started = base + length, None
