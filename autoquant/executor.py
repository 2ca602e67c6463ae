"""Fan-out: one interface for everything that runs in parallel.

`threads` suits work that waits for child processes (strategy calls); `processes` suits pure numpy work (calibration).
Results come back in the order of the items, so that the worker count never changes a number.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor as Pool
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from multiprocessing import get_context
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
        self._pool: Pool = (
            ThreadPoolExecutor(self.jobs)
            if kind == "threads"
            else ProcessPoolExecutor(self.jobs, mp_context=get_context("spawn"))
        )

    def map(
        self,
        function: Callable[[Item], Result],
        items: Iterable[Item],
        *,
        on_result: Callable[[int, int], None] | None = None,
    ) -> list[Result]:
        """Results in the order of `items`; `on_result(done, total)` after each. The first exception is raised."""
        futures: Sequence[Future[Result]] = [self._pool.submit(function, item) for item in items]
        try:
            for done, future in enumerate(as_completed(futures), start=1):
                future.result()
                if on_result is not None:
                    on_result(done, len(futures))
            return [future.result() for future in futures]
        except BaseException:
            for future in futures:
                future.cancel()
            raise

    def close(self) -> None:
        """End the workers; queued work is dropped."""
        self._pool.shutdown(wait=True, cancel_futures=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
