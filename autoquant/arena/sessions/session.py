"""One harness session: a program in its own process tree, home and log files, watched until it is gone."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import IO

from autoquant import files, process
from autoquant.clock import Clock
from autoquant.errors import HarnessFault
from autoquant.harness import Competitor, SessionPlan
from autoquant.ledger.layout import RaceLayout

LOG_BYTES = 64 << 20
"""Of each stream. Reaching it ends a session: what is not kept could not be read either."""
PASSED_ON = (
    "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy",
    "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS",
)  # fmt: skip
"""How to reach the network is the machine's business, not the competitor's."""


def run_mark(layout: RaceLayout, competitor: str) -> str:
    """Value of AUTOQUANT_RUN: the same for every arena on this race, different between folders of races."""
    place = files.sha256_bytes(str(layout.root.resolve()).encode())[:16]
    return f"{layout.race}/{competitor}/{place}"


def home_of(layout: RaceLayout, competitor: str) -> Path:
    """The competitor's private HOME."""
    return layout.homes / competitor / "home"


def temporary_of(layout: RaceLayout, competitor: str) -> Path:
    """The competitor's private TMPDIR, emptied before each session."""
    return layout.homes / competitor / "tmp"


def logs_of(layout: RaceLayout, competitor: str, number: int) -> tuple[Path, Path]:
    """Logs of a session's standard output and standard error."""
    folder = layout.logs / competitor
    return folder / f"{number:04d}.stdout", folder / f"{number:04d}.stderr"


PROFILES = (".bash_profile", ".profile", ".zprofile")
"""Read by login shells after the system's own profile, which sets PATH anew. Codex runs each command in one."""


def profiles(path: str) -> dict[str, str]:
    """Files below HOME that keep the session's PATH in login shells."""
    return dict.fromkeys(PROFILES, f"export PATH={shlex.quote(path)}\n")


def furnish(home: Path, plan: SessionPlan) -> None:
    """Write a plan's configuration and link its credentials below the private home.

    A program of an earlier session may have put anything there: links and folders in the way are replaced, never
    followed. A credential that was replaced by a file stays replaced: the program has renewed it there.

    Raises
    ------
    HarnessFault : the home cannot be written.
    """
    try:
        for name, content in plan.files.items():
            path = _inside(home, name)
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            files.atomic_write(path, content, mode=0o600)
        for name, target in plan.links.items():
            path = _inside(home, name)
            if path.is_symlink():
                path.unlink()
            if not path.exists():
                path.symlink_to(target)
    except OSError as error:
        raise HarnessFault(f"{home}: {error.strerror or error}", "check that the folder can be written") from error


def _inside(home: Path, name: str) -> Path:
    """`home/name` with real folders on the way."""
    folder = home
    for part in Path(name).parts[:-1]:
        folder = folder / part
        if folder.is_symlink() or folder.is_file():
            folder.unlink()
        folder.mkdir(exist_ok=True)
    return folder / Path(name).name


def python_folder(layout: RaceLayout) -> Path:
    """Folder with `python` and `python3` that start the arena's own interpreter, in its environment.

    Scripts and not links: an interpreter started through a link does not find the environment it belongs to.
    """
    folder = layout.root / "bin"
    script = f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n'.encode()
    for name in ("python", "python3"):
        path = folder / name
        if not path.is_file() or path.read_bytes() != script:
            files.atomic_write(path, script, mode=0o555)
            path.chmod(0o555)
    return folder


def environment(
    layout: RaceLayout, competitor: Competitor, plan: SessionPlan, surroundings: Mapping[str, str]
) -> dict[str, str]:
    """Everything the session's program sees of the environment; nothing else of the arena's is passed on."""
    home = home_of(layout, competitor.name)
    temporary = temporary_of(layout, competitor.name)
    names = (*PASSED_ON, *competitor.pass_env)
    return {
        **{name: surroundings[name] for name in names if name in surroundings},
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        **plan.env,
        **competitor.env,
        "PATH": f"{python_folder(layout)}{os.pathsep}{surroundings.get('PATH', os.defpath)}",
        "HOME": str(home),
        "TMPDIR": str(temporary),
        process.RUN_MARK: run_mark(layout, competitor.name),
    }


class Session:
    """A started program.

    Parameters
    ----------
    layout, competitor, number : where its logs go, and how its processes are marked.
    plan : what the adapter wants started.
    surroundings : the arena's environment, from which a few variables are copied.
    prefix : put before the command line; see `confinement`.
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
        prefix: tuple[str, ...] = (),
        launcher: process.Launcher = process.spawn,
    ) -> None:
        self._clock = clock
        self._mark = run_mark(layout, competitor.name)
        self._wrapped = bool(prefix)
        self.started = clock.monotonic()
        home, temporary = home_of(layout, competitor.name), temporary_of(layout, competitor.name)
        shutil.rmtree(temporary, ignore_errors=True)
        for folder in (home, temporary):
            folder.mkdir(parents=True, exist_ok=True)
        env = environment(layout, competitor, plan, surroundings)
        furnish(home, replace(plan, files={**profiles(env["PATH"]), **plan.files}))
        try:
            self._child = launcher(
                (*prefix, *plan.argv),
                cwd=plan.cwd,
                env=env,
                stdin=subprocess.PIPE if plan.stdin else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
        except OSError as error:
            raise HarnessFault(
                f"{competitor.name}: {plan.argv[0]} could not be started ({error.strerror or error})",
                "see arena.py doctor --competitors",
            ) from error
        self.pid = self._child.pid
        pipes = (self._child.stdout, self._child.stderr)
        self._threads = [
            _thread(_pump, pipe, files.CappedLog(log, LOG_BYTES))
            for pipe, log in zip(pipes, logs_of(layout, competitor.name, number), strict=True)
        ]
        if plan.stdin:
            self._threads.append(_thread(_feed, self._child.stdin, plan.stdin))

    @property
    def seconds(self) -> float:
        """Since its start."""
        return self._clock.monotonic() - self.started

    def exit_code(self) -> int | None:
        """Exit code of the program itself (negative: the signal that ended it); None while it runs."""
        return process.peek_exit(self._child.pid)

    def end(self) -> int | None:
        """End the program and everything it started; returns the exit code when it had ended on its own."""
        code = self.exit_code()
        process.end_tree(self._child.pid, run_id=self._mark, wrapped=self._wrapped)
        process.end_strays(self._mark)
        with contextlib.suppress(subprocess.TimeoutExpired):  # stuck in the kernel: nothing more can be done
            self._child.wait(timeout=30)
        for thread in self._threads:
            thread.join(timeout=10)
        return code


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
