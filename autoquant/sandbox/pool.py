"""Warm parents started ahead of need: an attempt takes one that is ready, and the next begins to start."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable
from types import TracebackType
from typing import Self

from autoquant.process import Launcher, spawn
from autoquant.protocol import PROTOCOL, Limits
from autoquant.sandbox.warm import WarmParent
from autoquant.sealing import Seal


class ParentPool:
    """Keeps `spares` warm parents starting or ready. A parent that was taken is its taker's and is never reused.

    `limits`, `launcher` and `seal` are those of every parent.
    """

    def __init__(
        self,
        spares: int = 1,
        limits: Limits = PROTOCOL.limits,
        launcher: Launcher = spawn,
        *,
        seal: Seal | None = None,
    ) -> None:
        self._limits = limits
        self._seal = seal
        self._launcher = launcher
        self._lock = threading.Lock()
        self._waiting: deque[WarmParent] = deque(self._start() for _ in range(spares))

    def take(self, preload: Iterable[str] = ()) -> WarmParent:
        """A parent of your own, with `preload` imported; close it when the attempt is over."""
        with self._lock:
            parent = self._waiting.popleft() if self._waiting else self._start()
            self._waiting.append(self._start())
        parent.preload(preload)
        return parent

    def close(self) -> None:
        """End the spares."""
        with self._lock:
            while self._waiting:
                self._waiting.popleft().close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _start(self) -> WarmParent:
        return WarmParent(self._limits, (), self._launcher, seal=self._seal)
