"""A sign of life in every served worktree, so that a waiting run.py can tell a slow verdict from a dead arena."""

from __future__ import annotations

import contextlib
import threading

from autoquant.arena.referee.mailbox import RefereeMailbox
from autoquant.errors import AutoQuantError


class Heart:
    """Beats in a thread of its own from the first mailbox on, until `stop`.

    Parameters
    ----------
    seconds : between two beats.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._served: dict[str, tuple[RefereeMailbox, str]] = {}
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._beat = 0

    def add(self, mailbox: RefereeMailbox, state: str) -> None:
        """Serve one more worktree; its first beat is written by the next round."""
        with self._lock:
            if mailbox.competitor in self._served:
                return
            self._served[mailbox.competitor] = (mailbox, state)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)
                self._thread.start()

    def say(self, competitor: str, state: str) -> None:
        """Change what the arena is said to be doing for a competitor."""
        with self._lock:
            if competitor in self._served:
                self._served[competitor] = (self._served[competitor][0], state)

    def stop(self) -> None:
        """End the thread; the beats stand still from here on."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while True:
            self._beat += 1
            with self._lock:
                served = list(self._served.values())
            for mailbox, state in served:
                with contextlib.suppress(AutoQuantError, OSError):
                    mailbox.beat(self._beat, state)
            if self._stopping.wait(self._seconds):
                return
