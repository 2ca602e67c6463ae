"""Proof by trying: a strategy that reads, writes, connects, kills and leaves marks where it must not.

Whether an attempt was stopped is seen from outside wherever it can be: the file, the listener, the process. What the
strategy says of itself only explains.
"""

from __future__ import annotations

import os
import secrets
import select
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from autoquant import files
from autoquant.errors import AgentFault
from autoquant.process import end_tree, spawn
from autoquant.protocol import Limits
from autoquant.sandbox.frames import CallFrames
from autoquant.sandbox.levels import StrategyIsolation, strategy_isolation
from autoquant.sandbox.warm import WarmParent

LIMITS = Limits(cpu_seconds=5.0, memory_bytes=512 << 20, wall_backstop_seconds=30.0)
_PATIENCE_SECONDS = 20.0

Ask = Callable[[str], str]
"""Runs a program that defines `look()` and gives what that returned, or the class and text of what it raised."""


@dataclass(frozen=True)
class Escape:
    """One way out that strategy code must not find."""

    name: str
    """Completes "a strategy can …"."""
    stopped: bool
    said: str
    """What the attempt met, in its own words."""


def prove_strategy(found: StrategyIsolation | None = None) -> tuple[Escape, ...]:
    """Every attempt in a child of a warm parent at the level that is `found`: this machine's, when None.

    Raises
    ------
    InfrastructureFault : the strategy process did not start.
    """
    seal = (strategy_isolation() if found is None else found).seal
    one = np.zeros((1, 1), np.int64)
    frames = CallFrames(one[0], ("A00",), ("close",), np.ones((1, 1, 1)), ("tier",), one)
    with WarmParent(LIMITS, seal=seal) as parent:

        def ask(program: str) -> str:
            source = f"{program}\n\ndef target_weights(panel, train_end):\n    raise Warning(look())\n"
            try:
                parent.call(source.encode(), frames, 0, reveal=True)
            except AgentFault as fault:
                text = fault.text or fault.message
                return text if fault.kind == "Warning" else f"{fault.kind}: {text}"
            return ""

        return prove(ask)


def prove(ask: Ask) -> tuple[Escape, ...]:
    """Every attempt through `ask`. All that they aim at is made here, open to every user, and gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="aq-proof-") as name:
        folder = Path(name)
        folder.chmod(0o777)
        attempts = [_read(ask, folder), _write(ask, folder), _connect(ask, folder)]
        return (*attempts, *_reach_process(ask), _leave_mark(ask))


def _read(ask: Ask, folder: Path) -> Escape:
    canary = secrets.token_hex(8)
    files.atomic_write(folder / "canary", canary, durable=False)
    (folder / "canary").chmod(0o666)
    said = ask(f"def look():\n    with open({str(folder / 'canary')!r}) as file:\n        return file.read()\n")
    return Escape("read a file of the caller's", canary not in said, said.replace(canary, "its content"))


def _write(ask: Ask, folder: Path) -> Escape:
    before = _contents(folder)
    program = f"""
import os
def look():
    said = []
    for path, flags in (("mark", os.O_CREAT | os.O_WRONLY), ("canary", os.O_TRUNC | os.O_WRONLY)):
        try:
            os.close(os.open(os.path.join({str(folder)!r}, path), flags))
            said.append("done")
        except OSError as error:
            said.append(repr(error))
    return ", ".join(said)
"""
    said = ask(program)
    return Escape("write into a folder of the caller's", before == _contents(folder), said)


def _contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def _connect(ask: Ask, folder: Path) -> Escape:
    """To a port, to a socket in the file system and, on Linux, to one that has a name and no file."""
    places: list[tuple[int, str | bytes | tuple[str, int]]] = [
        (socket.AF_INET, ("127.0.0.1", 0)),
        (socket.AF_UNIX, str(folder / "socket")),
    ]
    if sys.platform == "linux":
        places.append((socket.AF_UNIX, b"\0aq-proof-" + secrets.token_hex(8).encode()))
    listeners = []
    try:
        for family, place in places:
            listeners.append(socket.socket(family, socket.SOCK_STREAM))
            listeners[-1].bind(place)
            listeners[-1].listen()
        (folder / "socket").chmod(0o777)
        addresses = [(int(one.family), one.getsockname()) for one in listeners]
        program = f"""
import socket
def look():
    said = []
    for family, address in {addresses!r}:
        try:
            with socket.socket(family, socket.SOCK_STREAM) as one:
                one.settimeout(1.0)
                one.connect(address)
                said.append("connected")
        except OSError as error:
            said.append(repr(error))
    return ", ".join(said)
"""
        said = ask(program)
        met, _, _ = select.select(listeners, [], [], 0)
    finally:
        for one in listeners:
            one.close()
    return Escape("open a socket to the caller", not met, said)


def _reach_process(ask: Ask) -> tuple[Escape, Escape]:
    """A process of the caller's: what its environment holds, and its life."""
    secret = secrets.token_hex(8)
    sleeper = spawn((sys.executable, "-S", "-c", "input()"), cwd=Path("/"), env={"KEY": secret}, stdin=subprocess.PIPE)
    try:
        where = f"/proc/{sleeper.pid}/environ"
        said = ask(f"def look():\n    with open({where!r}) as file:\n        return file.read()\n")
        read = Escape("read a process's environment", secret not in said, said.replace(secret, "its content"))
        number = int(signal.SIGKILL)
        said = ask(f"import os\ndef look():\n    os.kill({sleeper.pid}, {number})\n    return 'sent'\n")
        sleeper.communicate(b"\n", timeout=_PATIENCE_SECONDS)
        killed = Escape("signal a process outside", sleeper.returncode == 0, said)
    except subprocess.TimeoutExpired:
        killed = Escape("signal a process outside", False, said)
    finally:
        end_tree(sleeper.pid, grace_seconds=0.0)
        sleeper.communicate()
    return read, killed


def _leave_mark(ask: Ask) -> Escape:
    """In one call, for the next to find: files, and shared memory that has no file."""
    name, key = f"aq-proof-{secrets.token_hex(8)}", secrets.randbelow(1 << 30) + 1
    paths = [os.path.join(place, name) for place in ("/tmp", "/dev/shm", "/var/tmp", "/run")]
    program = f"""
import ctypes, os
def look():
    memory = getattr(ctypes.CDLL(None), "shmget", None)
    found = [path for path in {paths!r} if os.path.exists(path)]
    found += ["shared memory"] if memory and memory({key}, 64, 0) >= 0 else []
    for path in {paths!r}:
        try:
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY))
        except OSError:
            pass
    memory and memory({key}, 64, 0o1666)
    return "found: " + (", ".join(found) or "nothing")
"""
    try:
        first, second = ask(program), ask(program)
    finally:
        for path in paths:
            Path(path).unlink(missing_ok=True)
        _remove_shared_memory(key)
    return Escape("find in one call what another left", first == second == "found: nothing", second)


def _remove_shared_memory(key: int) -> None:
    import ctypes

    libc = ctypes.CDLL(None)
    if hasattr(libc, "shmget") and (number := libc.shmget(key, 64, 0)) >= 0:
        libc.shmctl(number, 0, None)
