"""Kill a scripted job at every write it makes, and hand back what each death left on disk.

A script is a function `job(folder: Path, acknowledge: Callable[[str], None])` in some file. It works inside `folder`
and calls `acknowledge(text)` whenever something has returned that must survive. It should be able to go on from
whatever it finds, so that a test can run it again after each death:

    for death in every_death(__file__, "job", tmp_path):
        job(death.folder, lambda text: None)          # resume
        assert death.acknowledged <= what the folder now says

The job runs in a fork of a fresh interpreter, with the calls of `CALLS` counted; at the k-th one the process is gone
by `os._exit`, before the call, after it, or in the middle of the bytes of a write. k runs from 1 until the job lives.
Threads of the job share the count. Writes through C (`open(...).write`, subprocesses) are not counted.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

CALLS = ("write", "fsync", "replace", "rename", "link", "unlink", "ftruncate")
MOMENTS = ("before", "half", "after")
KILLED = 77
LIMIT = 5000


@dataclass(frozen=True)
class Death:
    """One killed run: at which call (counted from 1), which one, which moment; its folder and what it had promised."""

    point: int
    call: str
    moment: str
    folder: Path
    acknowledged: tuple[str, ...]


def every_death(
    file: str | Path,
    function: str,
    root: Path,
    *,
    moments: tuple[str, ...] = MOMENTS,
    start: Path | None = None,
    first: int = 1,
    every: int = 1,
    keep: bool = False,
    timeout: float = 300.0,
) -> Iterator[Death]:
    """Each death of `function` (defined in `file`), one after the other, and last of all the run that survived.

    Parameters
    ----------
    root : an empty folder; each run gets its own below it, removed when the next one is asked for unless `keep`.
    start : what each run's folder is copied from; empty folders by default.
    first, every : kill at calls `first`, `first + every`, … only (a long job).

    Yields
    ------
    Deaths, then one `Death` with moment `survived`, whose folder holds the job's whole work.
    """
    command = [sys.executable, str(Path(__file__)), str(file), function, str(root), str(start or "")]
    environment = dict(os.environ) | {
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
    timer = threading.Timer(timeout, server.kill)
    timer.start()
    assert server.stdin is not None
    assert server.stdout is not None
    try:
        for moment in moments:
            for point in range(first, LIMIT, every):
                server.stdin.write(json.dumps({"point": point, "moment": moment}) + "\n")
                server.stdin.flush()
                line = server.stdout.readline()
                assert line, f"the job failed at {moment} call {point}, or took over {timeout} s (see stderr)"
                answer = json.loads(line)
                folder = Path(answer["folder"])
                if answer["survived"] and moment != moments[-1]:
                    shutil.rmtree(folder)
                    break
                yield Death(
                    point,
                    answer["call"],
                    "survived" if answer["survived"] else moment,
                    folder,
                    tuple(answer["acknowledged"]),
                )
                if not keep:
                    shutil.rmtree(folder, ignore_errors=True)
                if answer["survived"]:
                    break
    finally:
        timer.cancel()
        server.stdin.close()
        server.stdout.close()
        server.kill()
        server.wait()


class _Executioner:
    """Counts the patched calls and ends the process at the chosen one."""

    def __init__(self, point: int, moment: str, last_words: int) -> None:
        self.write = os.write
        self._point, self._moment, self._last_words = point, moment, last_words
        self._count = 0
        self._lock = threading.Lock()
        for name in CALLS:
            setattr(os, name, self._guarded(name, getattr(os, name)))

    def _guarded(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def guarded(*arguments: Any, **options: Any) -> Any:
            with self._lock:
                self._count += 1
                due = self._count == self._point
            if due and self._moment != "after":
                if self._moment == "half" and name == "write":
                    call(arguments[0], bytes(arguments[1])[: len(arguments[1]) // 2])
                self._die(name)
            result = call(*arguments, **options)
            if due:
                self._die(name)
            return result

        return guarded

    def _die(self, name: str) -> NoReturn:
        self.write(self._last_words, name.encode())
        os._exit(KILLED)


def _run(job: Callable[..., None], folder: Path, point: int, moment: str) -> dict[str, Any]:
    said, promises = os.pipe(), folder.parent / f"{folder.name}.acknowledged"
    child = os.fork()
    if child == 0:
        os.close(said[0])
        os.dup2(2, 1)
        executioner = _Executioner(point, moment, said[1])
        book = os.open(promises, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        status = 1
        try:
            job(folder, lambda text: executioner.write(book, json.dumps(text).encode() + b"\n"))
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(status)
    os.close(said[1])
    with os.fdopen(said[0]) as words:
        call = words.read()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code not in (0, KILLED):
        raise SystemExit(f"{job.__name__} ended with {code} at {moment} call {point}")
    acknowledged = [json.loads(line) for line in promises.read_text().splitlines()] if promises.exists() else []
    promises.unlink(missing_ok=True)
    return {"folder": str(folder), "call": call, "survived": code == 0, "acknowledged": acknowledged}


def _serve(file: str, function: str, root: Path, start: str) -> None:
    spec = importlib.util.spec_from_file_location("killed_job", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    job = getattr(module, function)
    for line in sys.stdin:
        order = json.loads(line)
        folder = root / f"{order['moment']}-{order['point']:04d}"
        if start:
            shutil.copytree(start, folder, symlinks=True)
        else:
            folder.mkdir(parents=True)
        print(json.dumps(_run(job, folder, order["point"], order["moment"])), flush=True)


if __name__ == "__main__":
    _serve(sys.argv[1], sys.argv[2], Path(sys.argv[3]), sys.argv[4])
