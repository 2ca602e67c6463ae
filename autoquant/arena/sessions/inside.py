"""The last step before a sealed session's program: shut the host's abstract sockets, then become the program.

Started as `python -I -S inside.py PROGRAM ARGUMENT …` within the seal; standard library only. A socket without a file
belongs to the network, which a session shares with the host for its model: no mount hides it, Landlock does (Linux 6.12
and later, with the session's own sockets left open). Where the kernel has none of that, the program starts all the same
and doctor says so.
"""

from __future__ import annotations

import ctypes
import os
import signal
import struct
import sys

_CREATE_RULESET, _RESTRICT_SELF, _NO_NEW_PRIVS = 444, 446, 38
_SCOPED_SINCE, _ABSTRACT_SOCKETS = 6, 1


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


def main(argv: list[str]) -> int:
    """Become the program; returns, with a line on standard error, only when that fails."""
    scope()
    for ignored in (signal.SIGPIPE, signal.SIGXFSZ):  # this interpreter's own wish, which a program would inherit
        signal.signal(ignored, signal.SIG_DFL)
    try:
        os.execv(argv[0], argv)
    except OSError as error:
        print(f"{argv[0]} could not be started ({error.strerror})", file=sys.stderr)
    return 127


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
