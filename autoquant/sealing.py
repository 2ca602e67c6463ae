"""Levels of isolation, and command lines of bubblewrap: a program behind an allow-list of mounts, in own namespaces.

What is not listed is not there: no home, no data, no state, no socket of the host; `/run`, `/tmp` and `/var` are empty.
Nothing home-made stands in bubblewrap's place; where it does not work, there is no seal, and whoever asked says so.
Works for root and, through a user namespace, for an ordinary user. Pure: nothing is started here.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

SYSTEM_LINKS = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
"""Links into /usr on a merged system, folders of their own on an older one. A link is always there."""
EMPTY = ("/run", "/tmp", "/var")
"""Folders that are there, and hold nothing of the host's."""
KERNEL_SWITCHES = (
    "/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs", "/proc/mtrr", "/proc/pressure",
)  # fmt: skip
"""What root may write without any capability, and bubblewrap leaves open: a core pattern runs as the host's root."""
_MOST_STEPS = 1000


class Level(StrEnum):
    """What a machine does about hostile code; its values are the words that users read."""

    SEALED = "sealed"
    """It cannot read, write or reach what is not listed: bubblewrap."""
    EVIDENT = "evident"
    """It meets limits, and what it changes shows in the record."""

    def satisfies(self, required: Level) -> bool:
        """Whether a machine of this level may do what asks for `required`."""
        return self is Level.SEALED or required is Level.EVIDENT


@dataclass(frozen=True)
class Seal:
    """What a sealed program sees.

    Parameters
    ----------
    program : bubblewrap's own path.
    read : files and folders shown at their own path, not writable. What does not exist is left out.
    write : folders shown at their own path, writable; they must exist.
    renamed : pairs (source, shown as) of writable folders shown elsewhere.
    network : the host's network instead of an empty one. It is then the only thing of the host besides the mounts.
    folder : the working directory.
    frozen : nothing in it can be written but `write` and `renamed`; else the empty folders can, and die with it.
    capabilities : what root keeps, `CAP_SETUID` for example. With any of them there is no user namespace, so that root
        can leave itself for another user; folders on the way to a listed path are then open to all users.
    first : the program is process 1 of its own PID space: when it ends, however it ends, all in there ends.
    bound : it dies with the thread that started it. What one thread starts and another uses must not be bound.
    """

    program: str
    read: tuple[Path, ...] = ()
    write: tuple[Path, ...] = ()
    renamed: tuple[tuple[Path, Path], ...] = ()
    network: bool = False
    folder: Path = Path("/")
    frozen: bool = False
    capabilities: tuple[str, ...] = ()
    first: bool = False
    bound: bool = True


def sealed_prefix(seal: Seal) -> tuple[str, ...]:
    """What goes before a command line, `--` included.

    The deeper path is mounted later, so that a writable folder inside a read-only one is writable. Links on the way to
    a listed path are made again inside, so that the path means the same there.
    """
    argv = [seal.program, *_namespaces(seal), "--cap-drop", "ALL"]
    for capability in seal.capabilities:
        argv += ["--cap-add", capability]
    argv += ["--hostname", "sealed", "--proc", "/proc", "--dev", "/dev"]
    for switch in KERNEL_SWITCHES:
        argv += ["--ro-bind-try", switch, switch]
    for empty in EMPTY:  # /var/tmp is there, as programs expect it
        argv += ["--tmpfs", empty]
    argv += ["--dir", "/var/tmp"]
    links = {Path(link): os.readlink(link) for link in SYSTEM_LINKS if os.path.islink(link)}
    mounts: list[tuple[str, Path, Path]] = []
    for option, paths in (("--ro-bind-try", seal.read), ("--bind", seal.write)):
        for path in dict.fromkeys(paths):
            real = real_path(path, links)
            mounts.append((option, real, real))
    mounts += [("--bind", source, shown) for source, shown in seal.renamed]
    tops = {shown for _, _, shown in mounts}
    for link, target in links.items():
        if tops.isdisjoint(link.parents):  # else it is there with the folder it stands in
            argv += ["--symlink", target, str(link)]
    if seal.capabilities:
        for folder in _above(tops):
            argv += ["--dir", str(folder)]  # bubblewrap's own would be open to their owner alone
    for option, source, shown in sorted(dict.fromkeys(mounts), key=lambda mount: len(mount[2].parts)):
        argv += [option, str(source), str(shown)]
    for place in ("/proc", "/dev", *EMPTY, "/") if seal.frozen else ():
        argv += ["--remount-ro", place]
    return (*argv, "--chdir", str(seal.folder), "--")


def _namespaces(seal: Seal) -> list[str]:
    if seal.capabilities:  # --unshare-all opens a user namespace, and root is the only user in that
        kinds = ["ipc", "pid", "uts", "cgroup-try", *([] if seal.network else ["net"])]
        argv = [f"--unshare-{kind}" for kind in kinds]
    else:
        argv = ["--unshare-all", *(["--share-net"] if seal.network else [])]
    return argv + (["--die-with-parent"] if seal.bound else []) + (["--as-pid-1"] if seal.first else [])


def _above(mounts: set[Path]) -> list[Path]:
    """Folders on the way to the mounts that no mount brings, the outer first."""
    folders = {folder for mount in mounts if mounts.isdisjoint(mount.parents) for folder in mount.parents}
    return sorted(folders - {Path("/")}, key=lambda folder: len(folder.parts))


def real_path(path: Path, links: dict[Path, str] | None = None) -> Path:
    """Where `path` leads when every link is followed; each link on the way is noted in `links` with its target."""
    found = {} if links is None else links
    here, waiting = Path("/"), list(path.absolute().parts[1:])
    for _ in range(_MOST_STEPS):
        if not waiting:
            break
        step = here / waiting.pop(0)
        if step.name == "..":
            here = here.parent
        elif step.is_symlink():
            found[step] = os.readlink(step)
            target = Path(found[step])
            here = Path("/") if target.is_absolute() else here
            waiting = [*target.parts[target.is_absolute() :], *waiting]
        else:
            here = step
    return here
