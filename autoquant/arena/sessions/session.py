"""One harness session: a program in its own process tree, home and log files, watched until it is gone."""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import IO

from autoquant import files, process
from autoquant.arena.sessions.confinement import Around, unconfined
from autoquant.arena.sessions.furnishing import furnish
from autoquant.arena.sessions.place import environment, logs_of, profiles, run_mark
from autoquant.clock import Clock
from autoquant.errors import HarnessFault
from autoquant.harness import Competitor, SessionPlan
from autoquant.ledger.layout import RaceLayout

LOG_BYTES = 64 << 20
"""Of each stream. Reaching it ends a session: what is not kept could not be read either."""
_TRIES = 3
"""Times a tree is ended again while something of it lives."""


class Session:
    """A started program.

    Parameters
    ----------
    layout, competitor, number : where its logs go, and how its processes are marked.
    plan : what the adapter wants started.
    surroundings : the arena's environment, from which a few variables are copied.
    around : what goes before the command line, asked once the competitor's folders are there; see `confinement`.
    launcher : starts the program.

    Raises
    ------
    HarnessFault : the program could not be started; names it.
    """

    def __init__(
        self,
        layout: RaceLayout,
        competitor: Competitor,
        number: int,
        plan: SessionPlan,
        *,
        clock: Clock,
        surroundings: Mapping[str, str],
        around: Around = unconfined,
        launcher: process.Launcher = process.spawn,
    ) -> None:
        self._clock = clock
        self._mark = run_mark(layout, competitor.name)
        self.started = clock.monotonic()
        env = environment(layout, competitor, plan, surroundings)
        furnish(layout, competitor.name, replace(plan, files={**profiles(env["PATH"]), **plan.files}))
        prefix = around(plan, env)
        self._wrapped = bool(prefix)
        logs = _open_logs(layout, competitor.name, number)
        try:
            self._child = launcher(
                (*prefix, *plan.argv),
                cwd=plan.cwd,
                env=env,
                stdin=subprocess.PIPE if plan.stdin else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
        except (OSError, ValueError) as error:
            for log in logs:
                log.close()
            said = error.strerror if isinstance(error, OSError) else str(error)
            raise HarnessFault(
                f"{competitor.name}: {plan.argv[0]} could not be started ({said or error})",
                "see arena.py doctor --competitors",
            ) from error
        self.pid = self._child.pid
        self.survivors = 0
        """Processes that could not be ended; known after `end`."""
        try:
            pipes = (self._child.stdout, self._child.stderr)
            self._threads = [_thread(_pump, pipe, log) for pipe, log in zip(pipes, logs, strict=True)]
            if plan.stdin:
                self._threads.append(_thread(_feed, self._child.stdin, plan.stdin))
        except BaseException:
            process.end_tree(self.pid, run_id=self._mark, grace_seconds=0.0)
            raise

    @property
    def seconds(self) -> float:
        """Since its start."""
        return self._clock.monotonic() - self.started

    def exit_code(self) -> int | None:
        """Exit code of the program itself (negative: the signal that ended it); None while it runs."""
        return process.peek_exit(self._child)

    def end(self, others: Collection[str] = ()) -> int | None:
        """End the program and everything it started; returns the exit code when it had ended on its own.

        Parameters
        ----------
        others : run marks of the sessions that go on; what left our tree and carries none of them is ended too.
        """
        code = self.exit_code()
        for _ in range(_TRIES):
            process.end_tree(self.pid, run_id=self._mark, wrapped=self._wrapped)
            process.end_strays([mark for mark in others if mark != self._mark])
            self.survivors = process.count_living(self.pid, self._mark)
            if not self.survivors:
                break
        with contextlib.suppress(subprocess.TimeoutExpired):  # stuck in the kernel: nothing more can be done
            self._child.wait(timeout=30)
        for thread in self._threads:
            thread.join(timeout=10)
        return code


def _open_logs(layout: RaceLayout, competitor: str, number: int) -> list[files.CappedLog]:
    """Both logs, before anything is started that would have to be ended if they cannot be opened."""
    opened: list[files.CappedLog] = []
    try:
        for path in logs_of(layout, competitor, number):
            opened.append(files.CappedLog(path, LOG_BYTES))
    except OSError as error:
        for log in opened:
            log.close()
        raise HarnessFault(f"{layout.logs / competitor}: {error.strerror or error}", "free disk space") from error
    return opened


def _thread(target: object, *arguments: object) -> threading.Thread:
    thread = threading.Thread(target=target, args=arguments, daemon=True)  # type: ignore[arg-type]
    thread.start()
    return thread


def _pump(pipe: IO[bytes], log: files.CappedLog) -> None:
    try:
        while data := os.read(pipe.fileno(), 1 << 16):
            log.write(data)
    finally:
        log.close()
        pipe.close()


def _feed(pipe: IO[bytes], data: bytes) -> None:
    try:
        pipe.write(data)
        pipe.close()
    except OSError:  # a program that reads nothing has closed it
        return
