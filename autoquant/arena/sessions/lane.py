"""One competitor's race in this arena: session after session, until the budget is used or nothing more can be done.

A turn: choose what follows the last end, wait if that asks for it, audit, start a session, answer its requests and
watch over it, end its whole tree, answer what is left in the mailbox, classify the end, audit.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from autoquant import files
from autoquant.arena.plain_text import plain
from autoquant.arena.sessions.listening import Evidence, Listener
from autoquant.arena.sessions.policy import INFRASTRUCTURE, End, Next, Outcome, classify, following, history
from autoquant.arena.sessions.prompts import prompt_for
from autoquant.arena.sessions.session import Session, home_of, logs_of
from autoquant.arena.sessions.track import Track
from autoquant.arena.sessions.watching import Watch
from autoquant.errors import HarnessFault
from autoquant.harness import Availability, Competitor, SessionRequest, harness_of
from autoquant.ledger import records as r
from autoquant.ledger.views import CompetitorView

LEFTOVERS = 100
"""Requests answered after a session whose program is gone: one is honest, more are a flood nobody waits for."""
DETAIL = 300


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

    def run(self) -> None:
        """The competitor's whole race in this arena."""
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
            past = history(track.ledger.records, name)
            step = following(past, retry_after=self._retry_after, draw=track.draw, pace=track.pace.waits)
            if step.step == "stalled":
                track.append(r.CompetitorEnded(name, "stalled"))
                return
            if step.step == "leave":
                self._leave(step.why, racer.sessions[-1].detail)
                return
            if not self._wait(step) or not self._turn(worktree, step.resume):
                return

    def _leave(self, why: str, detail: str) -> None:
        message = f"left alone after {why}" + (f": {detail}" if detail else "")
        self._track.append(r.FaultSeen(self._name, None, why, plain(message, DETAIL)))

    def _wait(self, step: Next) -> bool:
        """Back off, and as long as the account is held back; False when the arena stops meanwhile."""
        track, account = self._track, self._available.account
        begun = track.clock.monotonic()
        until = begun + step.wait_seconds
        if step.why in (Outcome.RATE_LIMIT, Outcome.QUOTA):
            track.accounts.hold_back(account, until)
        while not track.stopping.is_set():
            now = track.clock.monotonic()
            seconds = max(until - now, track.accounts.held_back(account, now))
            if seconds <= 0:
                break
            track.stopping.wait(min(seconds, 1.0))
        waited = track.clock.monotonic() - begun
        if step.wait_seconds > 0 or waited > 1.0:
            track.append(r.BackedOff(self._name, round(waited, 3), step.why or "account held back"))
        return not track.stopping.is_set()

    def _turn(self, worktree: Path, resume: str | None) -> bool:
        """One session from start to audit; False when the program could not be started or the arena stops."""
        track, name = self._track, self._name
        with track.accounts.slot(self._available.account, track.stopping) as free:
            if not free:
                return False
            number = len(self._racer().sessions) + 1
            track.referee.audit(name, None, owned=False)
            track.time_left.begin(name, self._competitor.session_minutes * 60)
            try:
                session = self._start(number, worktree, resume)
            except HarnessFault as error:
                self._not_started(number, error)
                return False
            watch = Watch(track, self._competitor, session, self._listener(number), self._count_for(number))
            try:
                watch.run()
            finally:
                self._conclude(session, watch, number, resume)
        for _ in range(LEFTOVERS):
            if track.stopping.is_set() or not track.referee.poll(name):
                break
        track.referee.audit(name, None)
        return True

    def _start(self, number: int, worktree: Path, resume: str | None) -> Session:
        track, name, racer = self._track, self._name, self._racer()
        home = home_of(track.layout, name)
        left = track.time_left.of(name)
        prompt = prompt_for(racer, track.ledger.view, resumed=resume is not None, seconds_left=left)
        path = home.parent / "prompt.md"
        files.atomic_write(path, prompt)
        request = SessionRequest(worktree, path, prompt, home, number, len(racer.attempts), resume)
        plan = self._harness.session(self._competitor, request, track.machine)
        track.append(r.SessionStarted(name, number, self._available.version or "", resume))
        return Session(
            track.layout,
            self._competitor,
            number,
            plan,
            clock=track.clock,
            surroundings=track.surroundings,
            prefix=track.confinement.prefix,
            launcher=track.launcher,
        )

    def _not_started(self, number: int, error: HarnessFault) -> None:
        track, name = self._track, self._name
        track.time_left.end(name)
        track.append(r.FaultSeen(name, None, "harness", error.message))
        if len(self._racer().sessions) == number:
            detail = plain(error.message, DETAIL)
            track.append(r.SessionEnded(name, number, "fault", None, 0.0, outcome=Outcome.SETUP, detail=detail))

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
        code = session.end()
        seconds, ended = session.seconds, track.clock.monotonic()
        track.time_left.end(name)
        heard.look(last=True)
        if watch.reason == "exited" and code is not None:
            heard.exit(code)
        self._count_for(number)(None)
        racer = self._racer()
        outcome = classify(End(watch.reason, code, 0 if racer.ended else racer.left, heard.trouble))
        self._retry_after = None if heard.trouble is None else heard.trouble.retry_after_seconds
        hurt = heard.last_hurt if outcome in INFRASTRUCTURE else None
        lost = ended - max(watch.progress, session.started) if outcome in INFRASTRUCTURE else 0.0
        track.append(
            r.SessionEnded(
                name,
                number,
                watch.reason,
                code,
                round(seconds, 3),
                outcome=outcome,
                conversation=heard.conversation or resume,
                detail="" if hurt is None else plain(hurt.message, DETAIL),
                judging_seconds=round(watch.judging, 3),
                lost_seconds=round(max(0.0, lost), 3),
            )
        )

    def _racer(self) -> CompetitorView:
        return self._track.ledger.view.competitors[self._name]
