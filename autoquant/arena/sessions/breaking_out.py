"""Tries to get out of a seal, from inside, and prints what it managed as JSON: doctor's proof of a session's walls.

Started as `python -I breaking_out.py TARGETS` with `Targets` as JSON; standard library only. Every trick is the plain
one: whoever can do it so needs no better.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
import json
import os
import signal
import socket
import sys
from collections.abc import Callable, Mapping

Targets = Mapping[str, list[str]]
"""What to try by kind, as `proof` fills it in."""


def reads(path: str) -> bool:
    """A file of the host can be read, or at least be seen."""
    with contextlib.suppress(OSError), open(path, "rb") as file:
        file.read(1)
        return True
    return os.path.lexists(path)


def lists(path: str) -> bool:
    """A rival's folder can be listed."""
    with contextlib.suppress(OSError):
        os.listdir(path)
        return True
    return False


def writes(path: str) -> bool:
    """A file can be made; whether it reached the host is seen from outside."""
    with contextlib.suppress(OSError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
        return True
    return False


def connects(address: str) -> bool:
    """A socket of the host answers; `@name` is one without a file."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as caller:
        caller.settimeout(2.0)
        caller.connect(f"\0{address[1:]}" if address.startswith("@") else address)
        return True
    return False


def signals(pid: str) -> bool:
    """A process of the host can be signalled; a number that means one of our own here is left alone."""
    if os.path.exists(f"/proc/{pid}"):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as file:
            return b"autoquant-doctor" in file.read()
        return False
    with contextlib.suppress(OSError):
        os.kill(int(pid), signal.SIGTERM)
        return True
    return False


def switches(path: str) -> bool:
    """A switch of the kernel could be turned: it opens for writing. Nothing is written."""
    with contextlib.suppress(OSError):
        os.close(os.open(path, os.O_WRONLY))
        return True
    return False


def keys(call: str) -> bool:
    """The kernel's keys of the login that started the arena answer, by the number of `keyctl` on this machine."""
    get_keyring_id, session_keyring, create = 0, -3, 1
    return bool(ctypes.CDLL(None).syscall(int(call), get_keyring_id, session_keyring, create) > 0)


def lacks(module: str) -> bool:
    """A package that run.py or evaluate.py loads is not there."""
    try:
        found = importlib.util.find_spec(module)
    except (ImportError, ValueError):
        return True
    return found is None or not os.path.isfile(found.origin or "")


TRICKS: Mapping[str, Callable[[str], bool]] = {
    "reads": reads, "lists": lists, "writes": writes, "connects": connects, "signals": signals, "switches": switches,
    "keys": keys, "lacks": lacks,
}  # fmt: skip


def main(argv: list[str]) -> int:
    """Print, for each kind, the targets that gave way."""
    targets: Targets = json.loads(argv[0])
    print(json.dumps({kind: [one for one in listed if TRICKS[kind](one)] for kind, listed in targets.items()}))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
