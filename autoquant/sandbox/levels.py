"""Which level strategy code meets on this machine: sealed where bubblewrap works, else evident with the reason.

Found by trying, once per process: an interpreter is started behind the very mounts that a warm parent gets, and loads
numpy there. Whoever starts warm parents asks here and passes the seal on; nothing below looks for itself.
"""

from __future__ import annotations

import functools
import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from autoquant.process import run
from autoquant.sandbox import syscalls
from autoquant.sandbox.interpreter import this_interpreter
from autoquant.sandbox.warm import ENVIRONMENT, FLAGS
from autoquant.sealing import Level, Seal, sealed_prefix

CAPABILITIES = ("CAP_SETUID", "CAP_SETGID", "CAP_KILL", "CAP_DAC_READ_SEARCH")
"""Of a warm parent that root starts: to give each call a user id of its own, to end it, and to read packages that are
another user's. A call keeps none of them, or the last where its packages are closed to it."""
_TRIAL = """
import os, sys
from importlib.util import find_spec
if os.getpid() != 1:
    sys.exit("it opens no PID space")
sys.path += sys.argv[1:]
for name in ("numpy", "pandas", "scipy"):
    if find_spec(name).origin is None:
        sys.exit(f"{name} is made of links that lead out of {sys.argv[1]}")
import numpy
"""
"""Links into a package manager's cache lead nowhere behind the seal, and an empty package loads without a word."""
_TRIAL_SECONDS = 20.0

Find = Callable[[str], str | None]
"""Where a program stands, None when it is not installed."""


@dataclass(frozen=True)
class StrategyIsolation:
    """What is put around strategy code."""

    level: Level
    reason: str
    """Sealed by what, or why not sealed."""
    seal: Seal | None = None
    """For `WarmParent`; None at the evident level."""


def strategy_isolation(find: Find = shutil.which) -> StrategyIsolation:
    """The highest level this machine gives, tried once per process and `find`."""
    return _tried(find)


def strategy_level(find: Find = shutil.which) -> tuple[Level, str]:
    """The level, and by what or why not."""
    found = strategy_isolation(find)
    return found.level, found.reason


def strategy_seal(find: Find = shutil.which) -> Seal | None:
    """What warm parents are started in, None at the evident level."""
    return strategy_isolation(find).seal


def seal_around_strategies(program: str) -> Seal:
    """The interpreter and its packages, read-only; nothing to write, no network, a PID space of its own.

    Not bound to the thread that starts it: parents are started ahead by one thread and used by another. They end with
    their control socket.
    """
    return Seal(
        program,
        read=this_interpreter().sealed,
        frozen=True,
        capabilities=CAPABILITIES if os.geteuid() == 0 else (),
        first=True,
        bound=False,
    )


@functools.cache
def _tried(find: Find) -> StrategyIsolation:
    if sys.platform != "linux":
        return StrategyIsolation(Level.EVIDENT, "bubblewrap is there for Linux alone")
    program = find("bwrap")
    if program is None:
        return StrategyIsolation(Level.EVIDENT, "bubblewrap is not installed")
    if not syscalls.available():  # one kernel store for all calls of an attempt would be a letter box between them
        return StrategyIsolation(Level.EVIDENT, "this kernel gives no system-call filter")
    seal = seal_around_strategies(program)
    if problem := _problem(seal):
        return StrategyIsolation(Level.EVIDENT, f"bubblewrap does not work here ({problem})")
    return StrategyIsolation(Level.SEALED, _version(program), seal)


def _problem(seal: Seal) -> str:
    """Why a sealed interpreter does not start; empty when it does."""
    here = this_interpreter()
    argv = (*sealed_prefix(seal), here.program, *FLAGS, "-c", _TRIAL, *here.packages)
    try:
        ended = run(argv, cwd=Path("/"), env=ENVIRONMENT, timeout_seconds=_TRIAL_SECONDS)
    except (OSError, TimeoutError) as error:
        return str(error)
    said = ended.stderr.decode("utf-8", "replace").strip().splitlines()
    return "" if ended.returncode == 0 else said[-1] if said else f"exit code {ended.returncode}"


def _version(program: str) -> str:
    try:
        return run((program, "--version"), cwd=Path("/"), env=ENVIRONMENT).stdout.decode().strip() or "bubblewrap"
    except (OSError, TimeoutError, UnicodeDecodeError):
        return "bubblewrap"
