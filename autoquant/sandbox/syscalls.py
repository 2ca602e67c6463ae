"""System calls that no strategy needs and a cheat could use, refused by a filter in the kernel (seccomp), whoever runs.

Refused is what leaves a mark that a later call could find (shared memory, queues and keyrings of the kernel; modes,
times and attributes of files; which pages of a file are in memory), what another call that runs meanwhile could see
(locks and leases on the interpreter's files, for which reading is enough), what reaches another process, and what
starts another program or opens a socket. The Landlock rules of `isolation` know nothing of these. Numbers are the
kernel's own and never change on a machine type. Two children that run at the same time can still feel each other's
load, and how fast a file is read tells whether somebody has read it.
"""

from __future__ import annotations

import ctypes
import os
import struct
from typing import NamedTuple


class _Machine(NamedTuple):
    """One machine type: its audit word, the numbers of `seccomp` and `fcntl`, calls for the own process only, calls
    refused, and calls that make a process or thread."""

    audit: int
    seccomp: int
    fcntl: int
    """Refused with `_LOCKS`."""
    own: tuple[int, ...]
    """kill, tgkill, prlimit64: the first argument has to be the caller itself."""
    refused: tuple[int, ...]
    forks: tuple[int, ...]


_SINCE_2019 = (424, 425, 434, 437, 438, 440, 448, 451, 452, 463, 466)
"""pidfd_send_signal, io_uring_setup, pidfd_open, openat2, pidfd_getfd, process_madvise, process_mrelease, cachestat,
fchmodat2, setxattrat, removexattrat: one number on every machine."""
_LOCKS = (5, 6, 7, 36, 37, 38, 1024, 1025, 1026)
"""Commands of fcntl: F_GETLK, F_SETLK, F_SETLKW, the same for open file descriptions, F_SETLEASE, F_GETLEASE,
F_NOTIFY."""
_MACHINES = {
    "x86_64": _Machine(
        audit=0xC000003E,
        seccomp=317,
        fcntl=72,
        own=(62, 234, 302),
        refused=(
            29, 30, 31, 64, 65, 66, 67, 68, 69, 70, 71, 220,  # shared memory, semaphores, messages (System V)
            240, 241, 248, 249, 250,  # message queues (POSIX), keyrings
            41, 49, 53,  # socket, bind, socketpair
            90, 91, 92, 93, 94, 132, 235, 260, 261, 268, 280,  # mode, owner and times of files
            188, 189, 190, 197, 198, 199,  # attributes of files
            59, 109, 112, 129, 200, 297, 322,  # exec, process groups, signals
            101, 256, 279, 310, 311, 312,  # other processes' memory
            141, 142, 144, 203, 251, 314,  # other processes' priority
            155, 165, 166, 272, 304, 308,  # mounts, namespaces, files by handle
            253, 294, 298, 300, 321, 323,  # watching files and processes, kernel programs
            73, 27, 327,  # flock, mincore, preadv2 (which tells what is in memory)
            *_SINCE_2019,
        ),
        forks=(56, 57, 58, 435),
    ),
    "aarch64": _Machine(
        audit=0xC00000B7,
        seccomp=277,
        fcntl=25,
        own=(129, 131, 261),
        refused=(
            186, 187, 188, 189, 190, 191, 192, 193, 194, 195, 196, 197,
            180, 181, 217, 218, 219,
            198, 199, 200,
            52, 53, 54, 55, 88,
            5, 6, 7, 14, 15, 16,
            221, 154, 157, 138, 130, 240, 281,
            117, 238, 239, 270, 271, 272,
            140, 118, 119, 122, 30, 274,
            41, 40, 39, 97, 265, 268,
            26, 241, 262, 280, 282,
            32, 232, 286,
            *_SINCE_2019,
        ),
        forks=(220, 435),
    ),
}  # fmt: skip

_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_NUMBER_AT, _ARCH_AT, _ARGUMENT_AT, _SECOND_AT = 0, 4, 16, 24
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050001
"""`_REFUSE` fails the call with EPERM."""
_FOREIGN_NUMBERS = 0x40000000
"""From here on the numbers of x86_64 mean the x32 tables."""
_SET_FILTER, _KEEP_SPEED = 1, 4
_PR_GET_SECCOMP = 21


def available() -> bool:
    """Whether this kernel and machine type can be given the filter."""
    return os.uname().machine in _MACHINES and ctypes.CDLL(None).prctl(_PR_GET_SECCOMP, 0, 0, 0, 0) >= 0


def refuse(*, forks: bool = False) -> None:
    """Shut the calls of this process for good; it must have given up new privileges before.

    `forks`: those that make a process or thread as well, for whom the kernel's limit on processes does not hold.

    Raises
    ------
    OSError : the kernel refused the filter.
    """
    machine = _MACHINES[os.uname().machine]
    if forks:
        machine = machine._replace(refused=(*machine.refused, *machine.forks))
    rules = program(machine, os.getpid())
    code = ctypes.create_string_buffer(rules, len(rules))
    head = struct.pack("@HP", len(rules) // 8, ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(machine.seccomp, _SET_FILTER, _KEEP_SPEED, head) != 0:
        raise OSError(ctypes.get_errno(), "seccomp")


def program(machine: _Machine, own_pid: int) -> bytes:
    """The filter as the kernel reads it: 8 bytes an instruction, jumps counted from the next one."""
    calls: list[tuple[int, int, int, int]] = []
    for number in machine.own:  # the process itself (or its group, which holds nobody else)
        calls += [
            (_EQUAL, 0, 4, number),
            (_LOAD, 0, 0, _ARGUMENT_AT),
            (_EQUAL, 1, 0, 0),
            (_EQUAL, 0, 1, own_pid),
            (_RETURN, 0, 0, _ALLOW),
            (_LOAD, 0, 0, _NUMBER_AT),
        ]
    locks = [
        (_EQUAL, 0, len(_LOCKS) + 3, machine.fcntl),
        (_LOAD, 0, 0, _SECOND_AT),
        *((_EQUAL, len(_LOCKS) - place, 0, command) for place, command in enumerate(_LOCKS)),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _REFUSE),
    ]
    # An own-process call with a stranger's number has lost its own: it is looked for among the refused again.
    refused = (*machine.own, *machine.refused)
    for place, number in enumerate(refused):
        calls.append((_EQUAL, len(refused) - place, 0, number))
    whole = [
        (_LOAD, 0, 0, _ARCH_AT),
        (_EQUAL, 1, 0, machine.audit),
        (_RETURN, 0, 0, _REFUSE),
        (_LOAD, 0, 0, _NUMBER_AT),
        (_AT_LEAST, 0, 1, _FOREIGN_NUMBERS),
        (_RETURN, 0, 0, _REFUSE),
        *locks,
        *calls,
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _REFUSE),
    ]
    return b"".join(struct.pack("@HBBI", *step) for step in whole)
