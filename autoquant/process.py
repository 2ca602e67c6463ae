"""Start, watch and end process trees. The only place that starts a program.

Every program gets its own session, so that one signal reaches the whole group; `end_tree` also finds children that left
the group, by parentage and by the run mark in their environment, and returns only when all are gone. What left the
group, lost its parent and dropped the mark comes to whoever called `adopt_orphans`, and `end_strays` ends it (Linux).
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Protocol

import psutil

RUN_MARK = "AUTOQUANT_RUN"

_PR_SET_CHILD_SUBREAPER = 36
_starting = threading.Lock()
_started: set[int] = set()
"""Process numbers of `spawn`, so that `end_strays` can tell an adopted stranger from a child of our own."""


class Launcher(Protocol):
    """Starts a program; passed in, so that a test can watch or replace it."""

    def __call__(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        stdin: int | IO[Any] | None = ...,
        stdout: int | IO[Any] | None = ...,
        stderr: int | IO[Any] | None = ...,
        pass_fds: Sequence[int] = ...,
    ) -> subprocess.Popen[bytes]:
        """Start `argv`."""
        ...


def spawn(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    stdin: int | IO[Any] | None = subprocess.DEVNULL,
    stdout: int | IO[Any] | None = subprocess.DEVNULL,
    stderr: int | IO[Any] | None = subprocess.DEVNULL,
    pass_fds: Sequence[int] = (),
) -> subprocess.Popen[bytes]:
    """Start `argv` in its own session with exactly `env`; no descriptor is inherited but those named."""
    with _starting:
        child = subprocess.Popen(
            list(argv),
            cwd=cwd,
            env=dict(env),
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            pass_fds=tuple(pass_fds),
            close_fds=True,
            start_new_session=True,
        )
        _started.add(child.pid)
    return child


@dataclass(frozen=True)
class Finished:
    """What a short program left behind."""

    returncode: int
    stdout: bytes
    stderr: bytes


def run(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str] | None = None,
    input_bytes: bytes = b"",
    timeout_seconds: float = 60.0,
) -> Finished:
    """Run a short program to its end; past the time-out its tree is ended and TimeoutError raised."""
    environment = dict(os.environ if env is None else env)
    process = spawn(
        argv, cwd=cwd, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    with process:
        try:
            stdout, stderr = process.communicate(input_bytes, timeout=timeout_seconds)
        except subprocess.TimeoutExpired:
            end_tree(process.pid)
            process.communicate()
            raise TimeoutError(f"{argv[0]} did not end within {timeout_seconds:.0f} s") from None
    return Finished(process.returncode, stdout, stderr)


def peek_exit(child: subprocess.Popen[bytes]) -> int | None:
    """Exit code of a child that has ended (negative: the signal), None while it runs.

    The child is left unreaped where the system can look without reaping (not macOS before Python 3.13), so that its
    number cannot be given to a stranger before `end_tree` has looked for what it left behind. A child that was reaped
    elsewhere counts as ended, with code 0.
    """
    if not hasattr(os, "waitid"):
        return child.poll()
    try:
        facts = os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return 0
    if facts is None:
        return None
    return facts.si_status if facts.si_code == os.CLD_EXITED else -facts.si_status


def end_marked(run_id: str, *, grace_seconds: float = 2.0) -> int:
    """End every process that carries the run mark, with all it started; returns how many carried it."""
    found = marked(run_id)
    for process in found:
        end_tree(process.pid, run_id=run_id, grace_seconds=grace_seconds)
    return len(found)


def count_living(pid: int, run_id: str) -> int:
    """How many of `pid`'s tree, and of those that carry the mark, are alive."""
    return len(_family(pid, run_id))


def marked(run_id: str) -> list[psutil.Process]:
    """Living processes that carry `AUTOQUANT_RUN=run_id` in their environment, however they were re-parented."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if process.pid != os.getpid() and process.environ().get(RUN_MARK) == run_id:
                found.append(process)
    return found


def adopt_orphans() -> bool:
    """Make this process the parent of every descendant that loses its own; False where the system cannot do that."""
    if sys.platform != "linux":
        return False
    return bool(ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)


def end_strays(living: Collection[str]) -> int:
    """End adopted processes, with all they started, whose run mark is not one of `living`; returns how many.

    The mark of a session that goes on protects a process. Nobody has a reason to drop the mark, or to carry one that
    nobody has: what did so belongs to nobody.
    """
    ended = 0
    for stray in _adopted():
        with contextlib.suppress(psutil.Error, OSError):
            if stray.status() == psutil.STATUS_ZOMBIE:
                os.waitpid(stray.pid, os.WNOHANG)
            elif stray.environ().get(RUN_MARK) not in living:
                end_tree(stray.pid, grace_seconds=0.2)
                os.waitpid(stray.pid, os.WNOHANG)
                ended += 1
    return ended


def _adopted() -> list[psutil.Process]:
    """Children of this process that it did not start: those of `spawn` are known, others share our session."""
    with _starting:
        children = psutil.Process().children()
        _started.intersection_update(child.pid for child in children)
        own = os.getsid(0)
        strangers = []
        for child in children:
            with contextlib.suppress(OSError):
                if child.pid not in _started and os.getsid(child.pid) != own:
                    strangers.append(child)
    return strangers


def busy_seconds(pid: int) -> float:
    """Processor time that `pid` and everything below it have used, ended children that were waited for included."""
    total = 0.0
    for process in _family(pid, None):
        with contextlib.suppress(psutil.Error):
            times = process.cpu_times()
            total += times.user + times.system + times.children_user + times.children_system
    return total


def end_tree(pid: int, *, run_id: str | None = None, grace_seconds: float = 2.0, wrapped: bool = False) -> int:
    """End `pid`, its session and all it started; returns how many outlived the polite signal.

    SIGTERM first, SIGKILL after `grace_seconds`. With a `run_id`, processes that only carry the mark are ended too.
    `wrapped`: `pid` only holds a namespace, and all in it would die with it at once; it gets no polite signal.
    """
    targets = _family(pid, run_id)
    for process in targets:
        if wrapped and process.pid == pid:
            continue
        with contextlib.suppress(psutil.Error):
            process.send_signal(signal.SIGCONT)
            process.terminate()
    _wait_until_dead(targets, grace_seconds)
    stubborn = 0
    deadline = time.monotonic() + 10.0
    while time.monotonic() < deadline:
        alive = [process for process in _family(pid, run_id) + targets if _lives(process)]
        if not alive:
            break
        stubborn = max(stubborn, len(set(alive)))
        for process in alive:
            with contextlib.suppress(psutil.Error):
                process.kill()
        _wait_until_dead(alive, 0.5)
    return stubborn


def _wait_until_dead(processes: list[psutil.Process], seconds: float) -> None:
    # Not psutil.wait_procs: it reaps our own children and their Popen would never learn the exit code.
    deadline = time.monotonic() + seconds
    while any(_lives(process) for process in processes) and time.monotonic() < deadline:
        time.sleep(0.01)


def _lives(process: psutil.Process) -> bool:
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False


def _family(pid: int, run_id: str | None) -> list[psutil.Process]:
    family: dict[int, psutil.Process] = {}
    with contextlib.suppress(psutil.Error):
        root = psutil.Process(pid)
        family = {process.pid: process for process in [root, *root.children(recursive=True)]}
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if process.pid not in family and process.pid != os.getpid() and os.getsid(process.pid) == pid:
                family[process.pid] = process
    if run_id is not None:
        family |= {process.pid: process for process in marked(run_id)}
    return [process for process in family.values() if _lives(process)]
