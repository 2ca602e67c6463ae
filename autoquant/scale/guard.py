"""Stands between a worker and its slot, and ends everything the slot started when the worker dies.

A scheduler runs the task of a dead worker again elsewhere; what that worker had started would go on beside it. The
worker holds the only writing end of a pipe whose reading end is here: the kernel closes it however the worker dies.
Then the slot's tree is ended, and what had left the tree as well, since orphans below come to this process (Linux).

    python -m autoquant.scale.guard LIFE_DESCRIPTOR STORE
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path

from autoquant.process import adopt_orphans, end_strays, end_tree, spawn

GRACE_SECONDS = 0.2


def main(argv: list[str]) -> int:
    """Start the slot, wait for its end or the worker's."""
    life, store = int(argv[0]), argv[1]
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    adopt_orphans()
    command = [sys.executable, "-m", "autoquant.scale.slot", str(os.getpid()), store]
    slot = spawn(command, cwd=Path.cwd(), env=os.environ, stdin=0, stdout=1, stderr=2)
    for descriptor in (0, 1):  # the worker sees the slot's end, not ours
        os.close(descriptor)

    def watch() -> None:
        os.read(life, 1)
        end_tree(slot.pid, grace_seconds=GRACE_SECONDS)

    threading.Thread(target=watch, daemon=True).start()
    slot.wait()
    end_tree(slot.pid, grace_seconds=GRACE_SECONDS)
    while end_strays(()):
        pass
    return 0


if __name__ == "__main__":
    os._exit(main(sys.argv[1:]))
