"""One competitor's race in this arena: session after session, until the budget is used or nothing more can be done.

A turn: choose what follows the last end, wait if that asks for it, audit, start a session, answer its requests and
watch over it, end its whole tree, answer what is left in the mailbox, classify the end, audit.
"""

from __future__ import annotations

import errno
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from autoquant import files
from autoquant.arena.plain_text import plain
from autoquant.arena.sessions.activity import volume
from autoquant.arena.sessions.listening import Evidence, Listener, plausible
from autoquant.arena.sessions.place import home_of, logs_of, prompt_of, run_mark
from autoquant.arena.sessions.policy import (
    IDLE,
    INFRASTRUCTURE,
    REMEDIES,
    End,
    Next,
    Outcome,
    Past,
    classify,
    following,
    history,
)
from autoquant.arena.sessions.session import Session
from autoquant.arena.sessions.track import Track
from autoquant.arena.sessions.watchdogs import Limits
from autoquant.arena.sessions.watching import Watch
from autoquant.errors import AutoQuantError, HarnessFault, InfrastructureFault
from autoquant.harness import Availability, Competitor, SessionRequest, harness_of
from autoquant.ledger import records as r
from autoquant.ledger.views import CompetitorView

LEFTOVERS = 100
"""Requests answered after a session whose program is gone: one is honest, more are a flood nobody waits for."""
DETAIL = 300
_WORTH_TELLING = 1.0
"""Seconds of waiting below which there is nothing to record."""


@dataclass(frozen=True)
class Plan:
    """What follows the sessions so far, and when it may begin (monotonic seconds)."""

    past: tuple[Past, ...]
    step: Next
    until: float


class Lane:
    """See the module.

    Parameters
    ----------
    track : the race.
    competitor : as the roster has it now.
    available : what its check said before the start.
    evidence : what its former sessions left, read.
    """

    def __init__(self, track: Track, competitor: Competitor, available: Availability, evidence: Evidence) -> None:
        self._track = track
        self._competitor = competitor
        self._name = competitor.name
        self._available = available
        self._harness = harness_of(competitor)
        self._evidence = evidence
        self._retry_after: float | None = None
        self._plan = Plan((), Next("session"), 0.0)

    def run(self) -> None:
        """The competitor's whole race in this arena.

        Raises
        ------
        AutoQuantError : the record, the referee or the machine failed; that concerns everybody.
        """
        try:
            self._run()
        except AutoQuantError:
            raise
        except Exception as error:  # one competitor's folders or programs must not take the others' night
            text = f"{type(error).__name__}: {error}"
            self._track.append(r.FaultSeen(self._name, None, "internal", plain(text, DETAIL)))

    def _run(self) -> None:
        track, name = self._track, self._name
        if track.stopping.is_set() or self._racer().ended is not None:
            return
        worktree = track.referee.prepare(name)
        while not track.stopping.is_set():
            racer = self._racer()
            if racer.ended is not None:
                return
            if racer.left == 0 and racer.open_attempt is None:
                track.append(r.CompetitorEnded(name, "done"))
                return
            step = self._next()
            if step.step == "stalled":
                track.append(r.CompetitorEnded(name, "stalled"))
                return
            if step.step == "leave":
                self._leave(step.why, racer.sessions[-1].detail)
                return
            if not self._wait() or not self._turn(worktree, step.resume):
                return

    def _next(self) -> Next:
        """What follows the sessions so far, decided once after each. A provider's limit holds for its whole account."""
        track = self._track
        past = history(track.ledger.course, self._name)
        if self._plan.past != past:
            step = following(past, retry_after=self._retry_after, draw=track.draw, pace=track.pace.waits)
            until = track.clock.monotonic() + step.wait_seconds
            self._plan = Plan(past, step, until)
            if step.why in (Outcome.RATE_LIMIT, Outcome.QUOTA):
                track.accounts.hold_back(self._available.account, until)
        return self._plan.step

    def _leave(self, why: str, detail: str) -> None:
        remedy = REMEDIES.get(Outcome(why))
        message = f"left alone after {why}" + (f" ({remedy})" if remedy else "") + (f": {detail}" if detail else "")
        self._track.append(r.FaultSeen(self._name, None, why, plain(message, DETAIL)))

    def _wait(self) -> bool:
        """Back off, and as long as the account is held back; False when the arena stops meanwhile."""
        track, step = self._track, self._plan.step
        begun = track.clock.monotonic()
        while not track.stopping.is_set():
            seconds = max(self._plan.until - track.clock.monotonic(), self._held_back())
            if seconds <= 0:
                break
            track.stopping.wait(min(seconds, 1.0))
        waited = track.clock.monotonic() - begun
        if waited > _WORTH_TELLING and step.why not in IDLE:
            track.append(r.BackedOff(self._name, round(waited, 3), step.why or "account held back"))
        return not track.stopping.is_set()

    def _held_back(self) -> float:
        return self._track.accounts.held_back(self._available.account, self._track.clock.monotonic())

    def _turn(self, worktree: Path, resume: str | None) -> bool:
        """One session from start to audit; False when nothing of it can be ended, or the arena stops."""
        track, name = self._track, self._name
        with (
            track.accounts.slot(self._available.account, track.stopping) as free,
            track.seats.slot("seat", track.stopping) as seated,
        ):
            if not (free and seated):
                return False
            if self._held_back() > 0:  # a racer of the same account met its limit while this one waited for the slot
                return True
            number = len(self._racer().sessions) + 1
            track.referee.audit(name, None, owned=False)
            track.time_left.begin(name, self._competitor.session_minutes * 60)
            if resume is not None and not plausible(resume):
                resume = None
            track.append(r.SessionStarted(name, number, self._available.version or "", resume))
            try:
                self._require_room(worktree)
                listener = self._listener(number)
                session = self._start(number, worktree, resume)
            except HarnessFault as error:
                self._not_started(number, error)
                return True
            watch = Watch(track, self._competitor, session, listener, self._count_for(number))
            mark = run_mark(track.layout, name)
            track.marks.add(mark)
            try:
                watch.run()
            finally:
                track.marks.discard(mark)
                self._conclude(session, watch, number, resume)
            if session.survivors:
                message = f"{session.survivors} processes of session {number} cannot be ended"
                track.append(r.FaultSeen(name, None, "survivors", message))
                return False
        for _ in range(LEFTOVERS):
            if track.stopping.is_set() or not track.referee.poll(name):
                break
        track.referee.audit(name, None)
        return True

    def _require_room(self, worktree: Path) -> None:
        """A session that starts over the limit would be ended at its first sample, and so would all that follow.

        Raises
        ------
        HarnessFault : names what takes the room.
        """
        limits = Limits(0, 0, 0, 0)
        home = home_of(self._track.layout, self._name)
        for folder in (home, worktree):
            found = volume([folder], worktree)
            if found.bytes >= limits.disk_bytes or found.files >= limits.disk_files:
                raise HarnessFault(
                    f"{self._name}: {folder} holds {found.bytes / 1e9:.1f} GB in {found.files:,} files", "clear it"
                )

    def _start(self, number: int, worktree: Path, resume: str | None) -> Session:
        track, name, racer = self._track, self._name, self._racer()
        left = track.time_left.of(name)
        prompt = track.prompt(racer, track.ledger.view, resumed=resume is not None, seconds_left=left)
        path = prompt_of(track.layout, name)
        try:
            files.atomic_write(path, prompt)
        except InfrastructureFault as error:
            raise HarnessFault(error.message, error.hint) from error
        home = home_of(track.layout, name)
        request = SessionRequest(worktree, path, prompt, home, number, len(racer.attempts), resume)
        return Session(
            track.layout,
            self._competitor,
            number,
            self._harness.session(self._competitor, request, track.machine),
            clock=track.clock,
            surroundings=track.surroundings,
            around=track.confinement.around(track.layout, name, track.machine),
            launcher=track.launcher,
        )

    def _not_started(self, number: int, error: HarnessFault) -> None:
        """What is not there stays away; what the machine could not do now it may do in a moment."""
        track, name, cause = self._track, self._name, error.__cause__
        passing = isinstance(cause, OSError) and cause.errno in (errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE)
        outcome = Outcome.CRASH if passing else Outcome.SETUP
        track.time_left.end(name)
        detail = plain(f"{error.message} ({error.hint})" if error.hint else error.message, DETAIL)
        track.append(r.SessionEnded(name, number, "not started", None, 0.0, outcome=outcome, detail=detail))

    def _listener(self, number: int) -> Listener:
        return Listener(self._harness.reader(), logs_of(self._track.layout, self._name, number), self._evidence)

    def _count_for(self, session: int) -> Callable[[int | None], None]:
        """Records what the evidence shows and the record does not have yet, for one attempt or the next one."""

        def count(attempt: int | None) -> None:
            racer = self._racer()
            upcoming = len(racer.attempts) + 1 if racer.left else None
            due = self._evidence.meter.due(racer.spent, session, attempt or upcoming)
            if due is not None:
                self._track.append(due)

        return count

    def _conclude(self, session: Session, watch: Watch, number: int, resume: str | None) -> None:
        """End the session's tree, then say what it was."""
        track, name, heard = self._track, self._name, watch.listener
        ended, seconds = track.clock.monotonic(), session.seconds  # to end a stubborn tree is not the agent's time
        code = session.end(tuple(track.marks))
        track.time_left.end(name)
        heard.look(last=True)
        if watch.reason == "exited" and code is not None:
            heard.exit(code)
        self._count_for(number)(None)
        racer = self._racer()
        if watch.switched:
            message = f"session {number}: {watch.switched} answered, {self._competitor.model} was asked for"
            track.append(r.FaultSeen(name, None, Outcome.MODEL_SWITCHED, plain(message, DETAIL)))
        outcome = classify(
            End(
                "model switched" if watch.switched else watch.reason,
                code,
                0 if racer.ended else racer.left,
                heard.trouble,
            )
        )
        self._retry_after = None if heard.trouble is None else heard.trouble.retry_after_seconds
        hurt = heard.last_hurt if outcome in INFRASTRUCTURE else None
        detail = hurt.message if hurt is not None else watch.reason if outcome is Outcome.KILLED else ""
        track.append(
            r.SessionEnded(
                name,
                number,
                watch.reason,
                code,
                round(seconds, 3),
                outcome=outcome,
                conversation=heard.conversation or resume,
                detail=plain(detail, DETAIL),
                judging_seconds=round(watch.judging, 3),
                lost_seconds=round(watch.wasted(ended), 3) if outcome in INFRASTRUCTURE else 0.0,
            )
        )
        self._next()  # a limit is on the account before its slot is free

    def _racer(self) -> CompetitorView:
        return self._track.ledger.view.competitors[self._name]
