"""What a sealed session sees: its worktree, HOME and TMPDIR to write, programs and libraries to read, and no more.

The list is made of what is needed, so that whatever else there is on a machine is not there: data, state, secrets,
archives, rivals, sockets, the user's own files. Its network is the host's, since its model is out there.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from autoquant.arena.sessions.place import home_of, prompt_of, python_folder, temporary_of
from autoquant.harness import SessionPlan
from autoquant.harness.machine import Machine
from autoquant.harness.programs import program_files
from autoquant.ledger.layout import RaceLayout
from autoquant.sealing import SYSTEM_LINKS, Seal, real_path, sealed_prefix

SETTINGS = (
    "passwd", "group", "nsswitch.conf", "hosts", "host.conf", "resolv.conf", "gai.conf", "services", "protocols",
    "ssl", "pki", "ca-certificates", "crypto-policies", "localtime", "timezone", "ld.so.cache", "ld.so.conf",
    "ld.so.conf.d", "alternatives", "os-release", "debian_version", "mime.types", "magic", "terminfo", "profile",
    "bash.bashrc", "inputrc", "locale.alias",
)  # fmt: skip
"""Files of /etc without a secret that programs look for: names, certificates, time zone, libraries, shells."""
CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS")
"""Variables that name a file or a folder; OpenSSL takes several folders."""
_INSIDE = Path(__file__).with_name("inside.py")


@dataclass(frozen=True)
class Room:
    """The places of one competitor that its sessions are shown."""

    worktree: Path
    home: Path
    temporary: Path
    read: tuple[Path, ...] = ()
    """Its prompt, its history, the arena's `python`."""

    @classmethod
    def below(cls, folder: Path) -> Room:
        """Places of nobody, to try walls with; nothing is made."""
        return cls(folder / "worktree", folder / "home", folder / "tmp")


def interpreter_files() -> tuple[Path, ...]:
    """The arena's interpreter and libraries, which run.py and evaluate.py need."""
    paths = sysconfig.get_paths()
    names = (sys.executable, sys.prefix, sys.base_prefix, *(paths[key] for key in ("stdlib", "purelib", "platlib")))
    return tuple(dict.fromkeys(Path(name) for name in names if name))


def machine_files() -> tuple[Path, ...]:
    """What every session is shown of the system."""
    return tuple(map(Path, ("/usr", *SYSTEM_LINKS, *(f"/etc/{name}" for name in SETTINGS))))


def room_of(layout: RaceLayout, competitor: str) -> Room:
    """The places of a competitor in its race."""
    shown = (python_folder(layout), prompt_of(layout, competitor), layout.repository(competitor))
    worktree = layout.worktree(competitor)
    return Room(worktree, home_of(layout, competitor), temporary_of(layout, competitor), shown)


def session_seal(bubblewrap: str, room: Room, plan: SessionPlan, env: Mapping[str, str], machine: Machine) -> Seal:
    """The seal around one session."""
    named = [Path(path) for name in CERTIFICATES for path in env.get(name, "").split(os.pathsep) if path]
    read = (
        *machine_files(), *interpreter_files(), *program_files(plan.argv[0], machine), *room.read, *plan.reads, *named,
        _INSIDE,
    )  # fmt: skip
    own = (room.worktree, room.home, room.temporary)
    shared = (*plan.writes, *(path for path in plan.links.values() if path.parent not in plan.writes))
    return Seal(
        bubblewrap,
        read=tuple(path for path in dict.fromkeys(read) if path.is_absolute()),
        write=(*own, *dict.fromkeys(shared)),
        network=True,
        folder=plan.cwd,
    )


def around(seal: Seal) -> tuple[str, ...]:
    """What goes before the command line of a session behind `seal`."""
    return (*sealed_prefix(seal), sys.executable, "-I", "-S", str(_INSIDE))


def shows_too_much(seal: Seal, secret: Iterable[Path]) -> str:
    """Which mount holds a place that sessions must not see (state, data, checkout, home); empty when none does."""
    mounts = {real_path(path): path for path in (*seal.read, *seal.write)}
    for place in secret:
        real = real_path(place)
        for mount in (real, *real.parents):
            if mount in mounts:
                return f"{mounts[mount]}, which it needs, holds {place}"
    return ""


def leads_elsewhere(room: Room, folder: Path) -> str:
    """Which place of a room is not its own real path below the race's `folder`; empty when each is.

    A session that was not sealed, an earlier one or a rival's, may have put a link there: what that leads to would be
    mounted, and writable.
    """
    root = real_path(folder)
    for place in (room.worktree, room.home, room.temporary, *room.read):
        if (real := real_path(place)) != root / place.relative_to(folder):
            return f"{place} leads to {real}"
    return ""
