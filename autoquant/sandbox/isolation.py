"""What the operating system takes from a strategy child. Loaded inside the warm parent; standard library only.

On Linux, whoever runs the arena: no new processes or threads, no file written, none read but the interpreter's
(Landlock, kernel 5.13 and later), no system call that leaves a mark or reaches a stranger (`syscalls`), not dumpable,
killed when the warm parent dies. Run by root, each call also gets a user id of its own without capabilities, an empty
network and shared memory of its own. Where the interpreter stands in a folder closed to that user, the child keeps the
one capability to read it. `enter_warm_parent` returns the names of what this machine gives. These walls stand inside a
seal as well (`levels`: mounts, network and PID space around the warm parent), so that neither rests on the other.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import struct
import sys
from typing import NamedTuple

from autoquant.sandbox import syscalls

LINUX = sys.platform == "linux"
_NO_NEW_PRIVS, _PDEATHSIG, _DUMPABLE, _KEEPCAPS = 38, 1, 4, 8
_NEWNET, _NEWIPC = 0x40000000, 0x08000000
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_READ_FILES = 1 << 2 | 1 << 3 | 1 << 0
_FS_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15}
_CAP_DAC_READ_SEARCH = 1 << 2
_CAPS_OF_OWN_IDS = 1 << 6 | 1 << 7
"""CAP_SETGID, CAP_SETUID."""
_CAPABILITY_VERSION = 0x20080522
_OWN_IDS, _OWN_IDS_SMALL = (0x5A000000, 1 << 24), (20_000, 40_000)
_libc = ctypes.CDLL(None, use_errno=True)


class Limits(NamedTuple):
    """Limits of one call, and the address space the warm parent has before it."""

    cpu_seconds: int
    memory_bytes: int
    base_bytes: int


class Walls(NamedTuple):
    """What the warm parent prepared for its children."""

    names: tuple[str, ...]
    ruleset: int
    """Descriptor of a Landlock rule set, or -1."""
    few_calls: bool
    own_ids: bool
    keep_reading: bool
    """The interpreter is closed to other users: children keep CAP_DAC_READ_SEARCH."""


def address_space() -> int:
    """Bytes of address space in use now; 0 where the system does not say."""
    try:
        with open("/proc/self/statm") as handle:
            return int(handle.read().split()[0]) * resource.getpagesize()
    except (OSError, ValueError):
        return 0


def enter_seal() -> None:
    """End with bubblewrap, which stands outside and may be killed. First thing of a sealed warm parent.

    Raises
    ------
    RuntimeError : this process does not lead a PID space of its own, so it stands in no seal.
    """
    if os.getpid() != 1:
        raise RuntimeError("not sealed")
    _libc.prctl(_PDEATHSIG, 9, 0, 0, 0)
    os.setpgid(0, 0)  # the group outside has the number 0 in here, which means "my own" to whoever kills by it


def enter_warm_parent(readable: list[str], sealed: bool) -> Walls:
    """Shut what can be shut once for all children; `readable` are the folders a child may read.

    `sealed`: bubblewrap stands around this process, so mounts, network and PID space are its own.
    """
    if not LINUX:
        return Walls(("limits",), -1, False, False, False)
    _libc.prctl(_DUMPABLE, 0, 0, 0, 0)
    names = ["limits", "not-dumpable"]
    own_ids = _may_be_others()
    if own_ids:
        names.append("own-user")
    if sealed:
        names += ["own-files", "own-processes"]
    if sealed or (os.geteuid() == 0 and _libc.unshare(_NEWNET) == 0):
        names.append("no-network")
    _libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0)
    ruleset = _read_only_rules(readable)
    if ruleset >= 0:
        names.append("read-only-files")
    few_calls = syscalls.available()
    if few_calls:
        names.append("few-system-calls")
    closed = own_ids and not all(_open_to_others(path) for path in readable)
    return Walls(tuple(names), ruleset, few_calls, own_ids, closed)


def enter_child(walls: Walls, limits: Limits, parent: int, entered: int) -> None:
    """Leave everything behind but the interpreter's files. Raises OSError where a wall does not hold.

    `entered` is a pipe that is told when all walls stand, the one thing a strategy cannot say in their place.
    """
    os.setpgid(0, 0)
    if walls.ruleset >= 0 and _libc.syscall(_RESTRICT_SELF, walls.ruleset, 0) != 0:
        raise OSError(ctypes.get_errno(), "landlock")
    os.closerange(3, entered)
    os.closerange(entered + 1, 1 << 16)
    _limit(limits)
    if walls.own_ids:
        if not walls.few_calls:
            _libc.unshare(_NEWIPC)  # one for all calls would be a letter box between them
        _become_nobody_else(walls.keep_reading)
    if LINUX:
        _keep_only(_CAP_DAC_READ_SEARCH if walls.keep_reading else 0)
        _libc.prctl(_DUMPABLE, 0, 0, 0, 0)
        _libc.prctl(_PDEATHSIG, 9, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)
    if walls.few_calls:
        syscalls.refuse(forks=os.geteuid() == 0)  # the limit on processes is not for root
    os.write(entered, b"1")
    os.close(entered)


def _limit(limits: Limits) -> None:
    fixed = {
        resource.RLIMIT_CPU: (limits.cpu_seconds, limits.cpu_seconds + 1),
        resource.RLIMIT_FSIZE: (0, 0),
        resource.RLIMIT_NOFILE: (64, 64),
        resource.RLIMIT_CORE: (0, 0),
        resource.RLIMIT_NPROC: (0, 0),
    }
    if LINUX:
        ceiling = limits.base_bytes + limits.memory_bytes
        fixed[resource.RLIMIT_AS] = (ceiling, ceiling)
    for kind, (soft, hard) in fixed.items():
        allowed = resource.getrlimit(kind)[1]
        if allowed != resource.RLIM_INFINITY:  # nobody may raise what the arena itself was given
            soft, hard = min(soft, allowed), min(hard, allowed)
        resource.setrlimit(kind, (soft, hard))


def _become_nobody_else(keep_reading: bool) -> None:
    number = int.from_bytes(os.urandom(4), "little")
    if keep_reading:
        _libc.prctl(_KEEPCAPS, 1, 0, 0, 0)
    os.setgroups([])
    for first, span in (_OWN_IDS, _OWN_IDS_SMALL):
        own = first + number % span
        try:
            os.setresgid(own, own, own)
            os.setresuid(own, own, own)
        except OSError:
            continue
        break
    if os.geteuid() == 0:
        raise PermissionError("cannot leave the root user")


def _keep_only(kept: int) -> None:
    header = struct.pack("<Ii", _CAPABILITY_VERSION, 0)
    sets = struct.pack("<6I", kept, kept, 0, 0, 0, 0)
    if _libc.capset(header, sets) != 0:
        raise OSError(ctypes.get_errno(), "capset")


def _may_be_others() -> bool:
    """Whether this is a root that can take another user's number: not the only user of a namespace (`unshare -r`, an
    agent's seal), and not without the capabilities. Where the system does not say, root is taken for one that can."""
    if os.geteuid() != 0:
        return False
    with contextlib.suppress(OSError, ValueError, IndexError, StopIteration):
        with open("/proc/self/uid_map") as lines:
            mapped = [(int(inside), int(inside) + int(count)) for inside, _, count in map(str.split, lines)]
        room = any(a <= first and first + span <= b for a, b in mapped for first, span in (_OWN_IDS, _OWN_IDS_SMALL))
        with open("/proc/self/status") as lines:
            able = next(int(line.split()[1], 16) for line in lines if line.startswith("CapEff:"))
        return room and able & _CAPS_OF_OWN_IDS == _CAPS_OF_OWN_IDS
    return True


def _read_only_rules(readable: list[str]) -> int:
    """A Landlock rule set that allows reading below `readable` and nothing else; -1 where the kernel has none."""
    version = _libc.syscall(_CREATE_RULESET, None, 0, 1)
    if version < 1:
        return -1
    handled = (1 << _FS_RIGHTS.get(version, 16)) - 1
    network = 0b11 if version >= 4 else 0
    scoped = 0b11 if version >= 6 else 0
    attributes = struct.pack("<QQQ", handled, network, scoped)[: 8 if version < 4 else 16 if version < 6 else 24]
    ruleset = int(_libc.syscall(_CREATE_RULESET, attributes, len(attributes), 0))
    if ruleset < 0:
        return -1
    for path in readable:
        with contextlib.suppress(OSError):
            folder = os.open(path, os.O_PATH | os.O_CLOEXEC)
            _libc.syscall(_ADD_RULE, ruleset, 1, struct.pack("<Qi", _READ_FILES, folder), 0)
            os.close(folder)
    return ruleset


def _open_to_others(path: str) -> bool:
    """Whether a stranger may enter every folder above `path` and read it."""
    path = os.path.realpath(path)
    while True:
        with contextlib.suppress(OSError):
            wanted = 0o005 if os.path.isdir(path) else 0o004
            if os.stat(path).st_mode & wanted != wanted:
                return False
        above = os.path.dirname(path)
        if above == path:
            return True
        path = above
