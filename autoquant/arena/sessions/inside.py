"""The last step before a sealed session's program: shut what no mount hides, then become the program.

Started as `python -I -S inside.py PROGRAM ARGUMENT …` within the seal; standard library only. Two stores belong to the
kernel and not to a folder. A socket without a file belongs to the network, which a session shares with the host for its
model: Landlock hides those (Linux 6.12 and later, with the session's own sockets left open). Keys belong to the login
that started the arena: each session would inherit them, read the user's and leave letters for rivals; a filter of
system calls (seccomp) refuses the three that reach them. Where the kernel has none of that, the program starts all the
same, and doctor says so.
"""

from __future__ import annotations

import ctypes
import os
import signal
import struct
import sys

_CREATE_RULESET, _RESTRICT_SELF, _NO_NEW_PRIVS = 444, 446, 38
_SCOPED_SINCE, _ABSTRACT_SOCKETS = 6, 1

_TABLES = {
    "x86_64": {0xC000003E: (248, 249, 250), 0x40000003: (286, 287, 288)},
    "aarch64": {0xC00000B7: (217, 218, 219), 0x40000028: (309, 310, 311)},
}
"""By machine type: numbers of add_key, request_key and keyctl by the audit word of each table, its own and 32-bit."""
_X32 = 0x40000000
"""x86_64 numbers with this bit are the same calls once more."""
_SET_SECCOMP, _SECCOMP_FILTER = 22, 2
_LOAD, _EQUAL, _AND, _RETURN = 0x20, 0x15, 0x54, 0x06
_NUMBER_AT, _TABLE_AT = 0, 4
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050001
"""`_REFUSE` fails the call with EPERM, as container engines do."""


def scope() -> bool:
    """Leave this process and all it starts no abstract socket but their own; False where the kernel cannot."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(_CREATE_RULESET, None, 0, 1) < _SCOPED_SINCE:
        return False
    rules = struct.pack("<QQQ", 0, 0, _ABSTRACT_SOCKETS)
    ruleset = libc.syscall(_CREATE_RULESET, rules, len(rules), 0)
    if ruleset < 0:
        return False
    libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0)
    done = bool(libc.syscall(_RESTRICT_SELF, ruleset, 0) == 0)
    os.close(ruleset)
    return done


def shut_keys() -> bool:
    """Leave this process and all it starts no key of the kernel's; False where the kernel cannot."""
    tables = _TABLES.get(os.uname().machine)
    if tables is None:
        return False
    steps = [(_LOAD, 0, 0, _TABLE_AT)]
    for table, numbers in tables.items():
        steps += [
            (_EQUAL, 0, 7, table),
            (_LOAD, 0, 0, _NUMBER_AT),
            (_AND, 0, 0, ~_X32 & 0xFFFFFFFF),
            *((_EQUAL, 3 - place, 0, number) for place, number in enumerate(numbers)),
            (_RETURN, 0, 0, _ALLOW),
            (_RETURN, 0, 0, _REFUSE),
        ]
    steps.append((_RETURN, 0, 0, _ALLOW))
    rules = b"".join(struct.pack("@HBBI", *step) for step in steps)
    code = ctypes.create_string_buffer(rules, len(rules))
    head = struct.pack("@HP", len(steps), ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0)
    return bool(libc.prctl(_SET_SECCOMP, _SECCOMP_FILTER, head, 0, 0) == 0)


def main(argv: list[str]) -> int:
    """Become the program; returns, with a line on standard error, only when that fails."""
    scope()
    shut_keys()
    for ignored in (signal.SIGPIPE, signal.SIGXFSZ):  # this interpreter's own wish, which a program would inherit
        signal.signal(ignored, signal.SIG_DFL)
    try:
        os.execv(argv[0], argv)
    except OSError as error:
        print(f"{argv[0]} could not be started ({error.strerror})", file=sys.stderr)
    return 127


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
