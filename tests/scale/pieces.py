"""Pieces of work for the tests of many machines: a worker imports this file by name."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

import psutil

from autoquant.process import spawn
from autoquant.scale import folder_of


def square(number: int) -> int:
    time.sleep(0.02)
    return number * number


def whose(number: int) -> tuple[int, int]:
    time.sleep(0.1)
    return number, os.getpid()


def divide(number: int) -> float:
    return 1 / number


def size_after(what: str, number: int) -> int:
    time.sleep(0.2)
    return sum(path.stat().st_size for path in folder_of(what).iterdir())


def kill_itself(number: int) -> None:
    os.kill(os.getpid(), 9)


def leave_a_mark(task: tuple[str, bool]) -> str:
    """Start a program in a session of its own, write who is who, and, the first time, wait to be killed."""
    folder, wait = Path(task[0]), task[1]
    first = not list(folder.iterdir())
    sleeper = spawn([sys.executable, "-c", "import time; time.sleep(600)"], cwd=folder, env=dict(os.environ))
    mark = folder / f"{os.getpid()}"
    mark.with_suffix(".part").write_text(f"{os.getpid()} {sleeper.pid}")
    mark.with_suffix(".part").rename(mark)
    if first and wait:
        time.sleep(600)
    sleeper.kill()
    sleeper.wait()
    return "done"


def stop_the_worker(folder: str) -> str:
    """Leave a mark; the first time, stop the worker above this slot and its guard, so that the answer waits."""
    first = not list(Path(folder).iterdir())
    (Path(folder) / str(os.getpid())).touch()
    if first:
        psutil.Process().parents()[1].suspend()
    return "done"


def known_tasks(*, dask_scheduler: Any) -> int:
    """On the scheduler: how many pieces it knows of."""
    return len(dask_scheduler.tasks)
