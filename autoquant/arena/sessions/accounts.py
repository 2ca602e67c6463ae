"""Provider accounts that several racers share: how many sessions at a time, and when one may start again.

A rate limit belongs to an account, not to a racer. When one racer meets it, starting the others' sessions would only
meet it again.
"""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import contextmanager

_LOOK_SECONDS = 0.1
"""How often a waiting racer looks for the end of the arena: nobody can wait for an event and a condition at once."""


class Accounts:
    """Session slots and pauses by account. Safe for use from many threads.

    Parameters
    ----------
    limit : sessions at a time of one account; None for no limit.

    An empty account is nobody's: it shares nothing and waits for nothing.
    """

    def __init__(self, limit: int | None) -> None:
        self._limit = limit
        self._changed = threading.Condition()
        self._busy: Counter[str] = Counter()
        self._queues: dict[str, deque[object]] = {}
        self._until: dict[str, float] = {}

    @contextmanager
    def slot(self, account: str, stopping: threading.Event) -> Iterator[bool]:
        """Wait for a free slot, first come first served, and hold it; False, without one, when `stopping` is set."""
        limit = self._limit
        if not account or limit is None:
            yield not stopping.is_set()
            return
        held = self._wait(account, limit, stopping)
        try:
            yield held
        finally:
            if held:
                with self._changed:
                    self._busy[account] -= 1
                    self._changed.notify_all()

    def _wait(self, account: str, limit: int, stopping: threading.Event) -> bool:
        """Whether the slot was got."""
        ticket = object()
        with self._changed:
            queue = self._queues.setdefault(account, deque())
            queue.append(ticket)
            try:
                while not stopping.is_set():
                    if queue[0] is ticket and self._busy[account] < limit:
                        self._busy[account] += 1
                        return True
                    self._changed.wait(_LOOK_SECONDS)
                return False
            finally:
                queue.remove(ticket)
                self._changed.notify_all()

    def hold_back(self, account: str, until_monotonic: float) -> None:
        """Let no session of the account start before that time of the clock; the latest such time holds."""
        with self._changed:
            if account:
                self._until[account] = max(until_monotonic, self._until.get(account, until_monotonic))

    def held_back(self, account: str, now: float) -> float:
        """Seconds from `now` until a session of the account may start; 0 when it may."""
        with self._changed:
            return max(0.0, self._until.get(account, now) - now)
