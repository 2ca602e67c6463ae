"""Start, watch and end process trees. The only place that starts a program.

Every program gets its own session, so that one signal reaches the whole group; `end_tree` also finds children that left
the group, by parentage and by the run mark in their environment, and returns only when all are gone.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Protocol

import psutil

RUN_MARK = "AUTOQUANT_RUN"


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
    return subprocess.Popen(
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
    try:
        stdout, stderr = process.communicate(input_bytes, timeout=timeout_seconds)
    except subprocess.TimeoutExpired:
        end_tree(process.pid)
        process.communicate()
        raise TimeoutError(f"{argv[0]} did not end within {timeout_seconds:.0f} s") from None
    return Finished(process.returncode, stdout, stderr)


def marked(run_id: str) -> list[psutil.Process]:
    """Living processes that carry `AUTOQUANT_RUN=run_id` in their environment, however they were re-parented."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if process.pid != os.getpid() and process.environ().get(RUN_MARK) == run_id:
                found.append(process)
    return found


def end_tree(pid: int, *, run_id: str | None = None, grace_seconds: float = 2.0) -> int:
    """End `pid`, its session and all it started; returns how many outlived the polite signal.

    SIGTERM first, SIGKILL after `grace_seconds`. With a `run_id`, processes that only carry the mark are ended too.
    """
    targets = _family(pid, run_id)
    for process in targets:
        with contextlib.suppress(psutil.Error):
            process.send_signal(signal.SIGCONT)
            process.terminate()
    psutil.wait_procs(targets, timeout=grace_seconds)
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
        psutil.wait_procs(alive, timeout=0.5)
    return stubborn


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
