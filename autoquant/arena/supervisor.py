"""Runs a race: one thread per competitor, session after session, until every budget is used or somebody says stop.

A thread's turn: prepare the worktree, audit, start a session, answer its requests, end its whole tree, answer what is
left in the mailbox, audit. What a session says about itself is not believed: only the ledger counts.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from autoquant import files, process
from autoquant.arena.session import Session, home_of, run_mark
from autoquant.clock import Clock, utc_iso
from autoquant.errors import AutoQuantError, HarnessFault
from autoquant.harness import Competitor, SessionRequest, harness_of
from autoquant.ledger import records as r
from autoquant.ledger.layout import RaceLayout
from autoquant.ledger.ledger import Ledger
from autoquant.ledger.views import CompetitorView, RaceView

LEFTOVERS = 100
"""Requests answered after a session whose program is gone: one is honest, more are a flood nobody waits for."""
NOT_IDLE = ("paused", "lost", "fault")
"""Ends of a session that say nothing about the competitor."""


class RefereeDuties(Protocol):
    """What the supervisor asks of the referee."""

    def prepare(self, competitor: str) -> Path:
        """Make or mend the worktree."""
        ...

    def recover(self) -> None:
        """Finish what a former arena left open."""
        ...

    def poll(self, competitor: str) -> bool:
        """Answer one request; False when there was none."""
        ...

    def audit(self, competitor: str, attempt: int | None, *, owned: bool = True) -> object:
        """Restore and record changed protected files; `owned`: whether the competitor's programs ran meanwhile."""
        ...


@dataclass(frozen=True)
class Pace:
    """How often to look, how long to wait. Seconds."""

    poll: float = 0.05
    tick: float = 0.25
    farewell: float = 30.0
    """What a session may go on saying after its last attempt."""
    idle_sessions: int = 3
    """So many sessions in a row without an attempt, and the competitor is stalled."""
    idle_wait: float = 20.0
    """Wait before a session that follows an idle one; twice that after two."""


class Supervisor:
    """One arena process on one race.

    Parameters
    ----------
    layout, ledger, referee : the race; its lock is held by the caller.
    competitors : whom to run; others of the race are left as they are.
    parallel : competitors at a time; None runs all at once.
    surroundings : environment from which sessions get a few variables.
    on_tick : called with the race's view from the calling thread, several times a second.
    """

    def __init__(
        self,
        layout: RaceLayout,
        ledger: Ledger,
        referee: RefereeDuties,
        competitors: Sequence[Competitor],
        *,
        clock: Clock,
        surroundings: Mapping[str, str],
        parallel: int | None = None,
        pace: Pace | None = None,
        launcher: process.Launcher = process.spawn,
        on_tick: Callable[[RaceView], None] = lambda view: None,
    ) -> None:
        self._layout = layout
        self._ledger = ledger
        self._referee = referee
        self._competitors = tuple(competitors)
        self._clock = clock
        self._surroundings = surroundings
        self._parallel = min(parallel or len(self._competitors), len(self._competitors))
        self._pace = pace or Pace()
        self._launcher = launcher
        self._on_tick = on_tick
        self._stopping = threading.Event()
        self._reason = "finished"

    def stop(self, reason: str) -> None:
        """Ask for a clean pause; safe from a signal handler and from any thread. The first reason is recorded."""
        if not self._stopping.is_set():
            self._reason = reason
            self._stopping.set()

    def run(self) -> str:
        """Run to the end or to a pause; returns the reason that stands in the record, `finished` for the end.

        Raises
        ------
        AutoQuantError : an infrastructure fault; everything is paused, nothing is charged for it.
        """
        self._layout.stop_request.unlink(missing_ok=True)
        process.adopt_orphans()
        self._take_over()
        self._append(r.ArenaStarted(os.getpid(), socket.gethostname()))
        failure: BaseException | None = None
        try:
            self._referee.recover()
            self._run_all()
        except BaseException as error:
            failure = error
        unfinished = any(self._competitor(c.name).ended is None for c in self._competitors)
        if failure is not None:
            self._reason = f"failed: {failure}"[:300]
        elif unfinished and self._reason == "finished":
            self._reason = "harness faults"
        with contextlib.suppress(*((AutoQuantError,) if failure else ())):
            self._append(r.ArenaStopped(self._reason))
        self._layout.stop_request.unlink(missing_ok=True)
        if failure is not None:
            raise failure
        return self._reason

    def _take_over(self) -> None:
        """End what a killed arena left running, before anything of its race is touched."""
        for racer in self._view().competitors.values():
            process.end_marked(run_mark(self._layout, racer.name))
            for session in racer.sessions:
                if session.reason is None:
                    self._append(r.SessionEnded(racer.name, session.number, "lost", None, 0.0))

    def _run_all(self) -> None:
        with ThreadPoolExecutor(max(1, self._parallel), thread_name_prefix="competitor") as pool:
            futures: list[Future[None]] = [pool.submit(self._run_one, c) for c in self._competitors]
            try:
                while wait(futures, timeout=self._pace.tick).not_done:
                    if self._layout.stop_request.exists():
                        self.stop("stop requested")
                    if any(future.done() and future.exception() for future in futures):
                        self.stop("failed")
                    self._on_tick(self._view())
            except BaseException:
                self.stop("failed")
                raise
        self._on_tick(self._view())
        for future in futures:
            future.result()

    def _run_one(self, competitor: Competitor) -> None:
        """A competitor's whole race in this arena."""
        name = competitor.name
        if self._stopping.is_set() or self._competitor(name).ended is not None:
            return
        worktree = self._referee.prepare(name)
        while not self._stopping.is_set():
            racer = self._competitor(name)
            if racer.ended is not None:
                return
            if racer.left == 0 and racer.open_attempt is None:
                self._append(r.CompetitorEnded(name, "done"))
                return
            idle = idle_sessions(self._ledger.records, name)
            if idle >= self._pace.idle_sessions:
                self._append(r.CompetitorEnded(name, "stalled"))
                return
            if self._stopping.wait(idle * self._pace.idle_wait):
                return
            if not self._run_session(competitor, racer, worktree):
                return

    def _run_session(self, competitor: Competitor, racer: CompetitorView, worktree: Path) -> bool:
        """One session from start to audit; False when the program could not be started."""
        name, number = competitor.name, len(racer.sessions) + 1
        self._referee.audit(name, None, owned=False)
        try:
            plan = harness_of(competitor).session(competitor, self._request(racer, number, worktree))
            self._append(r.SessionStarted(name, number))
            session = Session(
                self._layout,
                competitor,
                number,
                plan,
                clock=self._clock,
                surroundings=self._surroundings,
                launcher=self._launcher,
            )
        except HarnessFault as error:
            self._append(r.FaultSeen(name, None, "harness", error.message))
            if len(self._competitor(name).sessions) == number:
                self._append(r.SessionEnded(name, number, "fault", None, 0.0))
            return False
        reason, code = "fault", None
        try:
            reason = self._watch(competitor, session)
        finally:
            code = session.end()
            seconds = session.seconds
            self._append(r.SessionEnded(name, number, reason, code, round(seconds, 3)))
        for _ in range(LEFTOVERS):
            if self._stopping.is_set() or not self._referee.poll(name):
                break
        self._referee.audit(name, None)
        return True

    def _request(self, racer: CompetitorView, number: int, worktree: Path) -> SessionRequest:
        home = home_of(self._layout, racer.name)
        prompt = home.parent / "prompt.md"
        files.atomic_write(prompt, kickoff(len(racer.attempts), racer.joined.budget))
        return SessionRequest(worktree, prompt, home, number, len(racer.attempts))

    def _watch(self, competitor: Competitor, session: Session) -> str:
        """Answer requests until the session is over; returns why it is."""
        name, started = competitor.name, self._clock.monotonic()
        attempts, progress, farewell = len(self._competitor(name).attempts), started, 0.0
        while True:
            if self._stopping.is_set():
                return "paused"
            if session.exit_code() is not None:
                return "exited"
            answered = self._referee.poll(name)
            racer, now = self._competitor(name), self._clock.monotonic()
            if racer.ended is not None:
                return racer.ended
            if len(racer.attempts) > attempts:
                attempts, progress = len(racer.attempts), now
            if racer.left == 0:
                farewell = farewell or now
                if now - farewell > self._pace.farewell:
                    return "budget used"
            elif now - progress > competitor.quiet_minutes * 60:
                return "no progress"
            if now - started > competitor.session_minutes * 60:
                return "time limit"
            if not answered:
                self._stopping.wait(self._pace.poll)

    def _append(self, body: r.RecordBody) -> None:
        self._ledger.append(body, utc_iso(self._clock.now()))

    def _view(self) -> RaceView:
        return self._ledger.view

    def _competitor(self, name: str) -> CompetitorView:
        return self._view().competitors[name]


def idle_sessions(records: Sequence[r.Record], competitor: str) -> int:
    """Sessions in a row, up to the last one, that ended on their own without the competitor opening an attempt."""
    idle, opened = 0, False
    for record in records:
        match record.body:
            case r.SessionStarted(competitor=name) if name == competitor:
                opened = False
            case r.AttemptOpened(competitor=name) if name == competitor:
                idle, opened = 0, True
            case r.SessionEnded(competitor=name, reason=reason) if name == competitor and reason not in NOT_IDLE:
                idle += not opened
    return idle


def kickoff(used: int, budget: int) -> str:
    """The prompt a session starts with: the same words for everybody."""
    again = f"{used} of {budget} experiments are used. Continue where the last session ended.\n" if used else ""
    return (
        "You are in a race of quant researchers. Read program.md in this folder first: it is your whole task.\n"
        f"You have {budget} experiments. Edit strategy.py, submit each experiment with `python run.py -m TEXT`, learn\n"
        "from its answer, and go on without asking anybody until the budget is used.\n" + again
    )
