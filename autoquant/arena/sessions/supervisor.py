"""Runs a race: one lane per competitor, each in its thread, until every budget is used or somebody says stop."""

from __future__ import annotations

import contextlib
import os
import random
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait

from autoquant import heap, process
from autoquant.arena.sessions.accounts import Accounts
from autoquant.arena.sessions.confinement import Confinement
from autoquant.arena.sessions.lane import Lane
from autoquant.arena.sessions.listening import Evidence, read_back
from autoquant.arena.sessions.place import run_mark
from autoquant.arena.sessions.policy import Outcome
from autoquant.arena.sessions.prompts import Prompt, prompt_for
from autoquant.arena.sessions.time_left import TimeLeft
from autoquant.arena.sessions.track import Pace, RefereeDuties, Track
from autoquant.clock import Clock
from autoquant.errors import AutoQuantError
from autoquant.harness import Availability, Competitor
from autoquant.harness.machine import Machine
from autoquant.ledger import records as r
from autoquant.ledger.layout import RaceLayout
from autoquant.ledger.ledger import Ledger
from autoquant.ledger.views import CompetitorView, RaceView

__all__ = ["Pace", "Supervisor"]
_UNKNOWN = Availability(ok=True)


class Supervisor:
    """One arena process on one race.

    Parameters
    ----------
    layout, ledger, referee : the race; its lock is held by the caller.
    competitors : whom to run; others of the race are left as they are.
    surroundings : environment from which sessions get a few variables.
    machine : where programs and credentials are found.
    available : what each competitor's check said.
    accounts : provider accounts that several racers share.
    time_left : told when sessions begin and end; its deadline pauses the arena.
    confinement : what is put around sessions.
    parallel : sessions at a time; None for no limit.
    draw : jitter of waits.
    prompt : makes the text of a session's start.
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
        machine: Machine,
        available: Mapping[str, Availability],
        accounts: Accounts,
        time_left: TimeLeft,
        confinement: Confinement,
        parallel: int | None = None,
        pace: Pace | None = None,
        launcher: process.Launcher = process.spawn,
        draw: random.Random | None = None,
        prompt: Prompt = prompt_for,
        on_tick: Callable[[RaceView], None] = lambda view: None,
    ) -> None:
        self._competitors = tuple(competitors)
        self._available = available
        self._on_tick = on_tick
        self._reason = "finished"
        self._evidence: dict[str, Evidence] = {}
        self._track = Track(
            layout=layout,
            ledger=ledger,
            referee=referee,
            clock=clock,
            surroundings=surroundings,
            machine=machine,
            confinement=confinement,
            accounts=accounts,
            seats=Accounts(parallel),
            time_left=time_left,
            pace=pace or Pace(),
            launcher=launcher,
            stopping=threading.Event(),
            draw=draw or random.Random(),
            prompt=prompt,
        )

    def stop(self, reason: str) -> None:
        """Ask for a clean pause; safe from a signal handler and from any thread. The first reason is recorded."""
        if not self._track.stopping.is_set():
            self._reason = reason
            self._track.stopping.set()

    def run(self) -> str:
        """Run to the end or to a pause; returns the reason that stands in the record, `finished` for the end.

        Raises
        ------
        AutoQuantError : an infrastructure fault; everything is paused, nothing is charged for it.
        """
        track = self._track
        process.adopt_orphans()
        heap.share_heaps()
        for racer in track.ledger.view.competitors.values():
            self._take_over(racer)
        runs = tuple(competitor.name for competitor in self._competitors)
        track.append(r.ArenaStarted(os.getpid(), socket.gethostname(), runs))
        failure: BaseException | None = None
        try:
            track.referee.recover()
            self._run_all()
        except BaseException as error:
            failure = error
        process.end_strays(())
        unfinished = any(track.ledger.view.competitors[c.name].ended is None for c in self._competitors)
        if failure is not None:
            self._reason = f"failed: {failure}"[:300]
        elif unfinished and self._reason == "finished":
            self._reason = "harness faults"
        with contextlib.suppress(*((AutoQuantError,) if failure else ())):
            track.append(r.ArenaStopped(self._reason))
        track.layout.stop_request.unlink(missing_ok=True)
        if failure is not None:
            raise failure
        return self._reason

    def _take_over(self, racer: CompetitorView) -> None:
        """End what a killed arena left running, and read what its sessions left, before anything else is touched."""
        track, name = self._track, racer.name
        process.end_marked(run_mark(track.layout, name))
        lost = [session for session in racer.sessions if session.reason is None]
        if racer.ended is not None and not lost:
            return
        evidence, conversations = read_back(track.layout, racer)
        self._evidence[name] = evidence
        if racer.sessions:
            attempt = len(racer.attempts) + 1 if racer.left else None
            if (due := evidence.meter.due(racer.spent, racer.sessions[-1].number, attempt)) is not None:
                track.append(due)
        for session in lost:
            conversation = conversations.get(session.number) or session.resumes
            track.append(
                r.SessionEnded(
                    name, session.number, "lost", None, None, outcome=Outcome.LOST, conversation=conversation
                )
            )

    def _run_all(self) -> None:
        track = self._track
        with ThreadPoolExecutor(max(1, len(self._competitors)), thread_name_prefix="competitor") as pool:
            futures: list[Future[None]] = [pool.submit(self._run_one, c) for c in self._competitors]
            tidied = track.clock.monotonic()
            try:
                while wait(futures, timeout=track.pace.tick).not_done:
                    if track.clock.monotonic() - tidied >= track.pace.give_back:
                        heap.give_back()
                        tidied = track.clock.monotonic()
                    if track.layout.stop_request.exists():
                        self.stop("stop requested")
                    deadline = track.time_left.deadline
                    if deadline is not None and track.clock.monotonic() >= deadline:
                        self.stop("time limit")
                    if any(future.done() and future.exception() for future in futures):
                        self.stop("failed")
                    self._show(track.ledger.view)
            except BaseException:
                self.stop("failed")
                raise
        self._show(track.ledger.view)
        for future in futures:
            future.result()

    def _show(self, view: RaceView) -> None:
        """Tell whoever looks. A terminal, pipe or log that is gone or full is no reason to end a race."""
        try:
            self._on_tick(view)
        except OSError:
            self._on_tick = lambda _: None

    def _run_one(self, competitor: Competitor) -> None:
        name = competitor.name
        evidence = self._evidence.get(name)
        if evidence is not None:
            Lane(self._track, competitor, self._available.get(name, _UNKNOWN), evidence).run()
