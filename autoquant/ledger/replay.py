"""Records to a race, record by record, under the rules that make it one.

What no sequence of records may do, whoever wrote it: name a race twice or later than first, join a name twice, number
attempts other than 1, 2, … budget, open one while another is open, close or commit what is not there, go on after an
end, reserve the lockbox twice or before everyone has ended, score what is not reserved, or score it twice, or give it a
reference before it is fetched, after it is closed, or twice.
Faults, violations, usage and incidents may always be recorded, also of a competitor that has ended: evidence is never
lost; so may the end of a session, whose process leaves a moment after the last attempt.
Times are not checked: a clock may jump back, `seq` orders.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from autoquant import bulk
from autoquant.errors import LedgerError
from autoquant.ledger import records as r
from autoquant.ledger.views import AttemptView, CompetitorView, LockboxView, RaceView, SessionView

Effect = Callable[[], None]
"""What taking a record in does; made only after its rules hold."""

__all__ = ["AttemptView", "CompetitorView", "LockboxView", "RaceView", "Replayer", "SessionView", "replay"]


def replay(records: Iterable[r.Record], where: str = "ledger") -> RaceView:
    """The race that `records` tell.

    Raises
    ------
    LedgerError : a rule of the module's docstring is broken; names `where` and the record. Also for no records.
    """
    replayer = Replayer(where)
    replayer.apply_all(records)
    return replayer.view()


@dataclass
class _Open:
    """The attempt that is charged and has no verdict yet. A view of it is made when one is asked for."""

    body: r.AttemptOpened
    utc: str
    tries: int = 0

    @property
    def attempt(self) -> int:
        """Its number."""
        return self.body.attempt

    def view(self) -> AttemptView:
        """As it stands."""
        return AttemptView(*self._charge(), final=self.body.final)

    def closed(self, utc: str, verdict: r.AttemptClosed) -> AttemptView:
        """With its verdict of that moment."""
        return AttemptView(
            *self._charge(),
            utc,
            verdict.status,
            verdict.score,
            verdict.double_cost,
            verdict.evaluation,
            verdict.score_file,
            verdict.decision,
            verdict.detail,
            final=self.body.final,
        )

    def _charge(self) -> tuple[str, int, str, str, str, int, str | None, str, int]:
        """The first fields of a view."""
        b = self.body
        return (
            b.competitor, b.attempt, b.request, b.strategy, b.description, b.parent, b.lineage, self.utc, self.tries,
        )  # fmt: skip


@dataclass
class _Racer:
    """A competitor while records come in."""

    joined: r.CompetitorJoined
    joined_utc: str
    attempts: list[AttemptView] = field(default_factory=list)
    """Those with a verdict."""
    running: _Open | None = None
    ended: str | None = None
    ended_utc: str | None = None
    faults: list[r.FaultSeen] = field(default_factory=list)
    violations: list[r.ViolationFound] = field(default_factory=list)
    sessions: list[SessionView] = field(default_factory=list)
    spent: list[r.UsageCounted] = field(default_factory=list)
    waits: list[r.BackedOff] = field(default_factory=list)

    def view(self) -> CompetitorView:
        """Frozen copy."""
        return CompetitorView(
            self.joined,
            self.joined_utc,
            (*self.attempts, self.running.view()) if self.running else tuple(self.attempts),
            self.ended,
            self.ended_utc,
            tuple(self.faults),
            tuple(self.violations),
            tuple(self.sessions),
            tuple(self.spent),
            tuple(self.waits),
        )


class Replayer:
    """A race being read. `check` tells whether a record may come next, `apply` takes it in, `view` shows the race."""

    def __init__(self, where: str = "ledger") -> None:
        self._where = where
        self._created: r.Record | None = None
        self._seed: r.SeedScored | None = None
        self._racers: dict[str, _Racer] = {}
        self._frozen: dict[str, CompetitorView] = {}
        self._lockbox = LockboxView()
        self._verdicts: dict[str, r.LockboxScored] = {}
        self._faults: list[r.FaultSeen] = []
        self._incidents: list[r.IncidentSeen] = []
        self._starts: list[r.ArenaStarted] = []
        self._readiness: list[r.ReadinessChecked | None] = []
        self._checked: r.ReadinessChecked | None = None
        self._stopped: str | None = None
        self._last: r.Record | None = None

    def check(self, record: r.Record) -> None:
        """Refuse a record that may not come next; nothing changes.

        Raises
        ------
        LedgerError : names the ledger, the record and the rule.
        """
        self._judge(record)

    def apply(self, record: r.Record) -> None:
        """Take `record` in.

        Raises
        ------
        LedgerError : as `check`; nothing changes then.
        """
        self._judge(record)()
        self._last = record
        if self._frozen:
            self._frozen.pop(getattr(record.body, "competitor", None) or "", None)

    def apply_all(self, records: Iterable[r.Record]) -> None:
        """Take one record after the other in.

        Raises
        ------
        LedgerError : as `check`; the records before the broken one stay taken in.
        """
        with bulk.uncollected():
            for record in records:
                self.apply(record)

    def view(self) -> RaceView:
        """The race so far.

        Raises
        ------
        LedgerError : no record yet.
        """
        if self._created is None or self._last is None:
            raise LedgerError(f"{self._where}: no record, so no race", "start a race first")
        for name, racer in self._racers.items():
            if name not in self._frozen:
                self._frozen[name] = racer.view()
        body = self._created.body
        assert isinstance(body, r.RaceCreated)
        return RaceView(
            created=body,
            created_utc=self._created.utc,
            competitors={name: self._frozen[name] for name in self._racers},
            seed=self._seed,
            lockbox=replace(self._lockbox, scores=dict(self._verdicts)),
            faults=tuple(self._faults),
            incidents=tuple(self._incidents),
            starts=tuple(self._starts),
            readiness=tuple(self._readiness),
            stopped=self._stopped,
            last_utc=self._last.utc,
            head=self._last.digest,
            length=self._last.seq,
        )

    def _judge(self, record: r.Record) -> Effect:
        if self._created is None and not isinstance(record.body, r.RaceCreated):
            raise self._broken(record, "the first record must create the race")
        return _RULES[type(record.body)](self, record, record.body)

    def _race_created(self, record: r.Record, body: r.RaceCreated) -> Effect:
        self._require(self._created is None, record, "the race was created before")

        def effect() -> None:
            self._created = record

        return effect

    def _seed_scored(self, record: r.Record, body: r.SeedScored) -> Effect:
        self._require(self._seed is None, record, "the seed was scored before")

        def effect() -> None:
            self._seed = body

        return effect

    def _joined(self, record: r.Record, body: r.CompetitorJoined) -> Effect:
        self._require(body.competitor not in self._racers, record, f"{body.competitor!r} joined before")
        self._require(body.budget > 0, record, f"{body.competitor!r} has no attempts")
        late = self._lockbox.is_reserved
        self._require(body.extension or not late, record, "only an extension joins after the lockbox was reserved")
        self._require(late or not body.extension, record, "an extension joins only after the lockbox was reserved")

        def effect() -> None:
            self._racers[body.competitor] = _Racer(body, record.utc)

        return effect

    def _readiness_checked(self, record: r.Record, body: r.ReadinessChecked) -> Effect:
        def effect() -> None:
            self._checked = body

        return effect

    def _arena_started(self, record: r.Record, body: r.ArenaStarted) -> Effect:
        def effect() -> None:
            self._starts.append(body)
            self._readiness.append(self._checked)
            self._checked = None
            self._stopped = None

        return effect

    def _arena_stopped(self, record: r.Record, body: r.ArenaStopped) -> Effect:
        def effect() -> None:
            self._stopped = body.reason

        return effect

    def _session_started(self, record: r.Record, body: r.SessionStarted) -> Effect:
        racer = self._racing(record, body.competitor)
        expected = len(racer.sessions) + 1
        self._require(body.session == expected, record, f"session {body.session} where {expected} is next")
        view = SessionView(body.session, record.utc, version=body.version, resumes=body.resumes)
        return lambda: racer.sessions.append(view)

    def _session_ended(self, record: r.Record, body: r.SessionEnded) -> Effect:
        racer = self._racer(record, body.competitor)
        known = 1 <= body.session <= len(racer.sessions)
        self._require(known, record, f"session {body.session} was never started")
        before = racer.sessions[body.session - 1]
        self._require(before.reason is None, record, f"session {body.session} ended before")
        after = replace(
            before,
            ended_utc=record.utc,
            reason=body.reason,
            exit_code=body.exit_code,
            seconds=body.seconds,
            outcome=body.outcome,
            conversation=body.conversation,
            detail=body.detail,
            judging_seconds=body.judging_seconds,
            lost_seconds=body.lost_seconds,
        )

        def effect() -> None:
            racer.sessions[body.session - 1] = after

        return effect

    def _usage_counted(self, record: r.Record, body: r.UsageCounted) -> Effect:
        racer = self._racer(record, body.competitor)
        if not 1 <= body.session <= len(racer.sessions):
            raise self._broken(record, f"session {body.session} was never started")
        return lambda: racer.spent.append(body)

    def _backed_off(self, record: r.Record, body: r.BackedOff) -> Effect:
        racer = self._racer(record, body.competitor)
        return lambda: racer.waits.append(body)

    def _attempt_opened(self, record: r.Record, body: r.AttemptOpened) -> Effect:
        racer = self._racing(record, body.competitor)
        running, expected = racer.running, len(racer.attempts) + 1
        if running is not None:
            raise self._broken(record, f"attempt {body.attempt} opened while {running.attempt} is open")
        if body.attempt != expected:
            raise self._broken(record, f"attempt {body.attempt} where {expected} is next")
        if expected > racer.joined.budget:
            raise self._broken(record, f"the budget of {racer.joined.budget} is used up")
        if racer.attempts and racer.attempts[-1].final:
            raise self._broken(record, f"attempt {body.attempt} behind a final submission")
        if body.final and not racer.joined.task:
            raise self._broken(record, f"attempt {body.attempt} is final, but {body.competitor!r} has no task")
        if not 0 <= body.parent < body.attempt:
            raise self._broken(record, f"attempt {body.attempt} from parent {body.parent}")

        def effect() -> None:
            racer.running = _Open(body, record.utc)

        return effect

    def _evaluation_started(self, record: r.Record, body: r.EvaluationStarted) -> Effect:
        _, running = self._open(record, body.competitor, body.attempt)
        expected = running.tries + 1
        if body.try_number != expected:
            raise self._broken(record, f"try {body.try_number} where {expected} is next")

        def effect() -> None:
            running.tries = expected

        return effect

    def _attempt_closed(self, record: r.Record, body: r.AttemptClosed) -> Effect:
        racer, running = self._open(record, body.competitor, body.attempt)
        known = (r.GRADED,) if racer.joined.task else r.STATUSES
        if body.status not in known:
            raise self._broken(record, f"status {body.status!r} does not exist")
        after = running.closed(record.utc, body)

        def effect() -> None:
            racer.attempts.append(after)
            racer.running = None

        return effect

    def _attempt_committed(self, record: r.Record, body: r.AttemptCommitted) -> Effect:
        racer = self._racing(record, body.competitor)
        is_open = racer.running is not None and racer.running.attempt == body.attempt
        self._require(not is_open, record, f"attempt {body.attempt} is committed before it is closed")
        known = 1 <= body.attempt <= len(racer.attempts)
        self._require(known, record, f"attempt {body.attempt} was never opened")
        before = racer.attempts[body.attempt - 1]
        self._require(before.commit is None, record, f"attempt {body.attempt} was committed before")

        def effect() -> None:
            racer.attempts[body.attempt - 1] = replace(before, commit=body.commit)

        return effect

    def _fault_seen(self, record: r.Record, body: r.FaultSeen) -> Effect:
        if body.competitor is None:
            return lambda: self._faults.append(body)
        racer = self._racer(record, body.competitor)
        return lambda: racer.faults.append(body)

    def _violation_found(self, record: r.Record, body: r.ViolationFound) -> Effect:
        racer = self._racer(record, body.competitor)
        return lambda: racer.violations.append(body)

    def _incident_seen(self, record: r.Record, body: r.IncidentSeen) -> Effect:
        return lambda: self._incidents.append(body)

    def _competitor_ended(self, record: r.Record, body: r.CompetitorEnded) -> Effect:
        racer = self._racing(record, body.competitor)
        running = racer.running
        if running is not None:
            raise self._broken(record, f"{body.competitor!r} ended while attempt {running.attempt} is open")

        def effect() -> None:
            racer.ended, racer.ended_utc = body.reason, record.utc

        return effect

    def _lockbox_reserved(self, record: r.Record, body: r.LockboxReserved) -> Effect:
        self._require(not self._lockbox.is_reserved, record, "the lockbox was reserved before")
        running = [name for name, racer in self._racers.items() if racer.ended is None]
        self._require(not running, record, f"the lockbox is reserved while {', '.join(running)} may go on")
        names = [entry.name for entry in body.entries]
        self._require(len(names) == len(set(names)) > 0, record, "the lockbox set is empty or names an entry twice")

        def effect() -> None:
            self._lockbox = replace(self._lockbox, entries=body.entries, reserved_utc=record.utc)

        return effect

    def _lockbox_fetched(self, record: r.Record, body: r.LockboxFetched) -> Effect:
        self._require(self._lockbox.is_reserved, record, "the lockbox is fetched before its set is reserved")
        self._require(self._lockbox.fetched is None, record, "the lockbox was fetched before")

        def effect() -> None:
            self._lockbox = replace(self._lockbox, fetched=body, fetched_utc=record.utc)

        return effect

    def _lockbox_reference(self, record: r.Record, body: r.LockboxReference) -> Effect:
        self._require(self._lockbox.fetched is not None, record, "the lockbox has a reference before it was fetched")
        self._require(not self._lockbox.is_closed, record, "the lockbox gets a reference after it was closed")
        known = [reference.name for reference in self._lockbox.references]
        self._require(body.name not in known, record, f"the reference {body.name!r} is there already")

        def effect() -> None:
            self._lockbox = replace(self._lockbox, references=(*self._lockbox.references, body))

        return effect

    def _lockbox_scored(self, record: r.Record, body: r.LockboxScored) -> Effect:
        self._require(self._lockbox.fetched is not None, record, "the lockbox scores before it was fetched")
        names = [entry.name for entry in self._lockbox.entries or ()]
        self._require(body.name in names, record, f"{body.name!r} is not in the reserved set")
        self._require(body.name not in self._verdicts, record, f"{body.name!r} has its verdict already")

        def effect() -> None:
            self._verdicts[body.name] = body

        return effect

    def _lockbox_closed(self, record: r.Record, body: r.LockboxClosed) -> Effect:
        self._require(self._lockbox.is_reserved, record, "the lockbox is closed before it was reserved")
        self._require(not self._lockbox.is_closed, record, "the lockbox was closed before")
        waiting = [e.name for e in self._lockbox.entries or () if e.name not in self._verdicts]
        self._require(not waiting, record, f"the lockbox is closed without a verdict on {', '.join(waiting)}")

        def effect() -> None:
            self._lockbox = replace(self._lockbox, closed_utc=record.utc)

        return effect

    def _racer(self, record: r.Record, name: str) -> _Racer:
        if name not in self._racers:
            raise self._broken(record, f"{name!r} never joined")
        return self._racers[name]

    def _racing(self, record: r.Record, name: str) -> _Racer:
        racer = self._racer(record, name)
        if racer.ended is not None:  # not `_require`, which words the complaint before it knows of any
            raise self._broken(record, f"{name!r} ended before ({racer.ended})")
        return racer

    def _open(self, record: r.Record, name: str, attempt: int) -> tuple[_Racer, _Open]:
        racer = self._racing(record, name)
        running = racer.running
        if running is None or running.attempt != attempt:
            raise self._broken(record, f"attempt {attempt} of {name!r} is not open")
        return racer, running

    def _require(self, holds: bool, record: r.Record, rule: str) -> None:
        if not holds:
            raise self._broken(record, rule)

    def _broken(self, record: r.Record, rule: str) -> LedgerError:
        return LedgerError(f"{self._where}:{record.seq}: {record.kind}: {rule}")


_RULES: dict[type, Callable[[Replayer, r.Record, Any], Effect]] = {
    r.RaceCreated: Replayer._race_created,
    r.SeedScored: Replayer._seed_scored,
    r.CompetitorJoined: Replayer._joined,
    r.ReadinessChecked: Replayer._readiness_checked,
    r.ArenaStarted: Replayer._arena_started,
    r.ArenaStopped: Replayer._arena_stopped,
    r.SessionStarted: Replayer._session_started,
    r.SessionEnded: Replayer._session_ended,
    r.UsageCounted: Replayer._usage_counted,
    r.BackedOff: Replayer._backed_off,
    r.AttemptOpened: Replayer._attempt_opened,
    r.EvaluationStarted: Replayer._evaluation_started,
    r.AttemptClosed: Replayer._attempt_closed,
    r.AttemptCommitted: Replayer._attempt_committed,
    r.FaultSeen: Replayer._fault_seen,
    r.ViolationFound: Replayer._violation_found,
    r.IncidentSeen: Replayer._incident_seen,
    r.CompetitorEnded: Replayer._competitor_ended,
    r.LockboxReserved: Replayer._lockbox_reserved,
    r.LockboxFetched: Replayer._lockbox_fetched,
    r.LockboxReference: Replayer._lockbox_reference,
    r.LockboxScored: Replayer._lockbox_scored,
    r.LockboxClosed: Replayer._lockbox_closed,
}
"""Not held by each replayer: bound methods would tie it to itself, and a long race to memory until the next search for
cycles."""
