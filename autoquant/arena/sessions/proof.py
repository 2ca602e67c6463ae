"""Doctor's proof of the walls around agents: a sealed process that tries to get out, and a look whether it did."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from autoquant import files, process
from autoquant.arena.sessions.walls import Room, around, session_seal
from autoquant.harness import SessionPlan
from autoquant.harness.machine import Machine

SOCKETS = ("/run/docker.sock", "/run/containerd/containerd.sock", "/run/dbus/system_bus_socket", "/run/systemd/private")
"""Sockets of the host that give away the host, tried where they exist."""
SWITCHES = ("/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger")
KEYCTL = {"x86_64": "250", "aarch64": "219"}
"""Number of the system call that reaches the kernel's keys, by machine type."""
PACKAGES = ("numpy", "pandas", "psutil")
"""Without these run.py and evaluate.py would fail there: links into a package manager's cache lead nowhere."""
_BREAKING_OUT = Path(__file__).with_name("breaking_out.py")
_SECONDS = 30.0
_MOST_FILES = 20
_WORDS = {
    "reads": "reads {}", "lists": "lists {}", "connects": "reaches the socket {}", "switches": "can write {}",
    "keys": "reaches the kernel's keys (system call {})", "lacks": "does not find {}",
}  # fmt: skip


@dataclass(frozen=True)
class Proof:
    """What a sealed process managed to do."""

    holes: tuple[str, ...]
    """In words; empty when it got nowhere."""
    abstract_sockets: bool
    """It reached a socket without a file: the kernel has no Landlock scoping."""


def prove_sessions(bubblewrap: str, machine: Machine, secret: Iterable[Path]) -> Proof:
    """Try to break out of a session's seal.

    Parameters
    ----------
    bubblewrap : its path.
    secret : folders of the arena; files directly in them must not be seen.
    """
    with tempfile.TemporaryDirectory(prefix="autoquant-") as folder:
        root = Path(folder).resolve()
        room = Room.below(root / "races")
        for place in (room.worktree, room.home, room.temporary, root / "races" / "rival"):
            place.mkdir(parents=True)
        files.atomic_write(root / "canary", "42", durable=False)
        files.atomic_write(root / "races" / "rival" / "strategy.py", "42", durable=False)
        outside = [root / "written", root / "races" / "rival" / "written", Path(sys.prefix) / ".autoquant-doctor"]
        with socket.socket(socket.AF_UNIX) as by_file, socket.socket(socket.AF_UNIX) as abstract:
            by_file.bind(str(root / "socket"))
            by_file.listen()
            name = f"autoquant-doctor-{os.urandom(8).hex()}"
            if sys.platform == "linux":
                abstract.bind(f"\0{name}")
                abstract.listen()
            victim = process.spawn(
                [sys.executable, "-I", "-S", "-c", "import time; time.sleep(60)", "autoquant-doctor"],
                cwd=root,
                env={},
            )
            try:
                targets = {
                    "reads": [str(root / "canary"), str(root / "races" / "rival" / "strategy.py"), *_files(secret)],
                    "lists": [str(root / "races" / "rival")],
                    "writes": [
                        *map(str, outside),
                        str(room.worktree / "x"),
                        str(room.home / "x"),
                        str(room.temporary / "x"),
                    ],
                    "connects": [str(root / "socket"), f"@{name}", *filter(os.path.exists, SOCKETS)],
                    "signals": [str(victim.pid)],
                    "switches": list(SWITCHES),
                    "keys": [number] if (number := KEYCTL.get(os.uname().machine)) else [],
                    "lacks": list(PACKAGES),
                }
                done = _run(bubblewrap, room, machine, targets)
                killed = process.peek_exit(victim) is not None
            finally:
                process.end_tree(victim.pid, grace_seconds=0.0)
                victim.wait()
            if isinstance(done, str):
                return Proof((done,), False)
        written = [path for path in outside if path.exists()]
        for path in written:
            path.unlink()
        kept = [place for place in (room.worktree, room.home, room.temporary) if not (place / "x").is_file()]
    holes = [_WORDS[kind].format(one) for kind in _WORDS for one in done[kind] if not one.startswith("@")]
    holes += [f"writes {path}" for path in written]
    holes += [f"cannot write in its own {place.name}" for place in kept]
    if killed or done["signals"]:
        holes.append("signals a process outside")
    return Proof(tuple(holes), any(one.startswith("@") for one in done["connects"]))


def _run(bubblewrap: str, room: Room, machine: Machine, targets: dict[str, list[str]]) -> dict[str, list[str]] | str:
    """What gave way by kind, or why nothing could be tried."""
    plan = SessionPlan(
        argv=(sys.executable, "-I", str(_BREAKING_OUT), json.dumps(targets)), cwd=room.worktree, reads=(_BREAKING_OUT,)
    )
    prefix = around(session_seal(bubblewrap, room, plan, {}, machine))
    try:
        done = process.run((*prefix, *plan.argv), cwd=Path("/"), env={"LANG": "C.UTF-8"}, timeout_seconds=_SECONDS)
    except (OSError, TimeoutError, subprocess.SubprocessError) as error:
        return f"nothing starts behind the seal ({error})"
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        said = done.stderr.decode(errors="replace").strip().partition("\n")[0]
        return f"nothing starts behind the seal ({said or 'no answer'})"
    return {kind: list(answer[kind]) for kind in targets}


def _files(folders: Iterable[Path]) -> list[str]:
    """Some files directly in each folder."""
    found: list[str] = []
    for folder in folders:
        try:
            found += sorted(str(path) for path in folder.iterdir() if path.is_file())[:_MOST_FILES]
        except OSError:
            continue
    return found
