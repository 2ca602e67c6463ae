"""Fan-out: one interface for everything that runs in parallel.

`threads` suits work that waits for child processes (strategy calls); `processes` suits pure numpy work (calibration).
Results come back in the order of the items, so that the worker count never changes a number.

Ctrl-C belongs to this process alone: worker processes do not hear it. They are ended when the pool is left by an
exception, and end themselves when this process is gone.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor as Pool
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import active_children, get_context, parent_process
from multiprocessing.process import BaseProcess
from queue import SimpleQueue
from types import TracebackType
from typing import Literal, Protocol, Self, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


class Executor(Protocol):
    """Runs a function over items."""

    def map(
        self,
        function: Callable[[Item], Result],
        items: Iterable[Item],
        *,
        on_result: Callable[[int, int], None] | None = None,
    ) -> list[Result]:
        """Results in the order of `items`; `on_result(done, total)` after each. The first exception is raised."""
        ...


def default_jobs() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class LocalPool:
    """Threads or spawned processes on this machine.

    Parameters
    ----------
    kind : "threads" or "processes".
    jobs : workers; None takes all cores.
    """

    def __init__(self, kind: Literal["threads", "processes"] = "threads", jobs: int | None = None) -> None:
        self.jobs = jobs or default_jobs()
        self._workers: set[BaseProcess] = set()
        self._pool: Pool = (
            ThreadPoolExecutor(self.jobs)
            if kind == "threads"
            else ProcessPoolExecutor(self.jobs, get_context("spawn"), initializer=_end_with_parent)
        )

    def map(
        self,
        function: Callable[[Item], Result],
        items: Iterable[Item],
        *,
        on_result: Callable[[int, int], None] | None = None,
    ) -> list[Result]:
        """Results in the order of `items`; `on_result(done, total)` after each. The first exception is raised."""
        before = set(active_children())
        with _without_interrupts():
            futures: Sequence[Future[Result]] = [self._pool.submit(function, item) for item in items]
        self._workers |= set(active_children()) - before
        ended = SimpleQueue[Future[Result]]()
        for future in futures:
            future.add_done_callback(ended.put)  # also of one that `close` drops: `as_completed` would wait on for ever
        try:
            for done in range(1, len(futures) + 1):
                ended.get().result()
                if on_result is not None:
                    on_result(done, len(futures))
            return [future.result() for future in futures]
        except BaseException:
            for future in futures:
                future.cancel()
            raise

    def close(self) -> None:
        """End the workers. Queued work is dropped: who waits for it in `map` gets `CancelledError`."""
        self._pool.shutdown(wait=True, cancel_futures=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            for worker in self._workers:
                worker.terminate()
        self.close()


@contextlib.contextmanager
def _without_interrupts() -> Iterator[None]:
    """Hold Ctrl-C back for a moment. Processes that start meanwhile never hear it."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end_with_parent() -> None:
    """In a worker: do not outlive a parent that was killed."""
    parent = parent_process()
    if parent is None:
        return

    def wait() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()
