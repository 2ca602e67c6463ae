"""Results keep the order of the items; the first failure is raised."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import CancelledError
from pathlib import Path
from threading import Event, Thread

import psutil
import pytest

from autoquant.executor import LocalPool

REPOSITORY = Path(__file__).resolve().parents[2]


def slow_square(number: int) -> int:
    time.sleep(0.01 * (3 - number % 3))
    return number * number


@pytest.mark.parametrize("kind", ["threads", "processes"])
def test_results_keep_the_order_of_the_items(kind: str) -> None:
    seen: list[tuple[int, int]] = []
    with LocalPool(kind, jobs=2) as pool:  # type: ignore[arg-type]
        assert [0, 1, 4, 9, 16] == pool.map(slow_square, range(5), on_result=lambda d, t: seen.append((d, t)))
    assert seen == [(i, 5) for i in range(1, 6)]


def test_a_failure_is_raised_and_the_rest_dropped() -> None:
    with LocalPool("threads", jobs=1) as pool, pytest.raises(ZeroDivisionError):
        pool.map(lambda x: 1 // x, [1, 0, 2])


def test_who_waits_for_work_that_a_closing_pool_drops_is_told_and_does_not_wait_on() -> None:
    started, go_on, told = Event(), Event(), Event()
    pool = LocalPool("threads", jobs=1)

    def work(_: int) -> bool:
        started.set()
        return go_on.wait(20)

    def ask() -> None:
        with pytest.raises(CancelledError):
            pool.map(work, range(3))
        told.set()

    Thread(target=ask, daemon=True).start()
    assert started.wait(20)
    closing = Thread(target=pool.close, daemon=True)
    closing.start()
    try:
        assert told.wait(20)
    finally:
        go_on.set()
    closing.join(20)
    assert not closing.is_alive()


INTERRUPTED = """\
import os, sys, time
from autoquant.executor import LocalPool

def work(number):
    print(os.getpid(), flush=True)
    time.sleep(120)

if __name__ == "__main__":
    with LocalPool("processes", jobs=2) as pool:
        pool.map(work, range(4))
"""


def lives(pid: int) -> bool:
    """Whether it runs: what nobody has waited for yet is dead all the same."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.mark.parametrize(("ending", "code"), [(signal.SIGINT, {-signal.SIGINT, 130}), (signal.SIGKILL, {-9})])
def test_workers_do_not_outlive_an_interrupted_or_killed_parent(tmp_path: Path, ending: int, code: set[int]) -> None:
    script = tmp_path / "fan_out.py"
    script.write_text(INTERRUPTED)
    pids = tmp_path / "pids"
    with pids.open("w") as out, (tmp_path / "err").open("w") as err:
        parent = subprocess.Popen(
            [sys.executable, str(script)], stdout=out, stderr=err, start_new_session=True, cwd=REPOSITORY,
            env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        )  # fmt: skip
    while len(pids.read_text().split()) < 2:
        assert parent.poll() is None, (tmp_path / "err").read_text()
        time.sleep(0.05)
    (os.killpg if ending == signal.SIGINT else os.kill)(parent.pid, ending)
    assert parent.wait(60) in code
    workers = [int(pid) for pid in pids.read_text().split()]
    assert 2 == len(workers), "what was queued is dropped"
    deadline = time.monotonic() + 60
    while any(lives(pid) for pid in workers):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    if ending == signal.SIGINT:
        assert 1 == (tmp_path / "err").read_text().count("KeyboardInterrupt"), "only the parent heard it"
