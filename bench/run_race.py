"""Start-up of the commands, a whole attempt and its parts, and set-up from a mirror."""

from __future__ import annotations

import functools
import os
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bench_attempt
import psutil
from big_race import write_race
from run_rows import Row, in_turn, seconds

from autoquant import process
from autoquant.ledger.ledger import Ledger

HOME = Path(__file__).resolve().parent.parent


def _command(*arguments: str) -> Callable[[], float]:
    def once() -> float:
        begun = time.perf_counter()
        done = process.run([sys.executable, *arguments], cwd=HOME, timeout_seconds=600)
        if done.returncode != 0:
            raise SystemExit(f"error: {' '.join(arguments)}: {done.stderr.decode(errors='replace').strip()}")
        return time.perf_counter() - begun

    return once


def startup(repeats: int) -> list[Row]:
    """Commands beside an interpreter that starts and ends."""
    with tempfile.TemporaryDirectory(prefix="autoquant-bench-") as folder:
        write_race(Path(folder), 4, 50, sparse=True)
        status = ("arena.py", "status", "--state-dir", folder)
        bare, help_, shown = in_turn(
            max(repeats, 9), _command("-c", "pass"), _command("run.py", "--help"), _command(*status)
        )
    beside = "python -c pass"
    return [
        Row("startup", "run.py --help", help_, beside, bare, help_ / bare, "≤ 100 ms"),
        Row("startup", "arena.py status, 4 × 50 attempts", shown, beside, bare, shown / bare, "≤ 400 ms"),
    ]


class _Spent:
    """Adds up what some methods take, counting the outermost call alone."""

    def __init__(self, owner: type[Any], *names: str) -> None:
        self.seconds = 0.0
        self._inside = threading.local()
        for name in names:
            setattr(owner, name, self._counted(getattr(owner, name)))

    def _counted(self, method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def counted(*arguments: Any, **options: Any) -> Any:
            if getattr(self._inside, "is_so", False):
                return method(*arguments, **options)
            self._inside.is_so, begun = True, time.perf_counter()
            try:
                return method(*arguments, **options)
            finally:
                self.seconds += time.perf_counter() - begun
                self._inside.is_so = False

        return counted


def attempt(data_root: Path | None, repeats: int) -> list[Row]:
    """Parts of an attempt that submits the seed with another comment; each beside the six strategy calls.

    An attempt that is not accepted is not put under stress: its part is in the accounting.
    """
    what = "an attempt on the seed"
    if data_root is None:
        return [Row("attempt", what, note="left out: --data-dir names no prepared and calibrated data")]
    ledger = _Spent(Ledger, "append")
    found: list[dict[str, float]] = []
    with (
        tempfile.TemporaryDirectory(prefix="bench-attempt-") as folder,
        bench_attempt.bench_race(data_root, HOME, Path(folder), repeats + 2, None) as bench,
    ):
        bench.attempt(0)
        for number in range(1, repeats + 1):
            time.sleep(1.0)  # an agent thinks between attempts: the next warm parent is ready by then
            ledger.seconds = 0.0
            one = bench.attempt(number)
            if one.confirmed:
                continue
            parts = {"strategy": one.strategy, "causality": one.causality, "accounting": one.accounting}
            parts["ledger"] = 1e3 * ledger.seconds
            parts["audit, git, mailbox, reply"] = one.overhead - parts["ledger"]
            parts["all that is no strategy code"] = one.wall - one.strategy - one.causality
            found.append(parts)
    if not found:
        return [Row("attempt", what, note="left out: every attempt was confirmed as well")]
    medians = {name: statistics.median(parts[name] for parts in found) for name in found[0]}
    calls = medians["strategy"]
    targets = {"causality": "≤ 3", "all that is no strategy code": "≤ 250 ms evident, ≤ 450 ms sealed"}
    return [
        Row("attempt", f"{what}: {name}", ms, "six strategy calls", calls, ms / calls, targets.get(name, ""))
        for name, ms in medians.items()
    ]


def setup(base_url: str | None) -> list[Row]:
    """All archives of a mirror with eight jobs; and the most memory its processes held together."""
    what = "setup_data.py --jobs 8"
    if base_url is None:
        return [Row("setup", what, note="left out: --base-url names no mirror")]
    with tempfile.TemporaryDirectory(prefix="autoquant-bench-") as folder:
        argv = [
            sys.executable,
            "setup_data.py",
            "--base-url",
            base_url,
            "--jobs",
            "8",
            "--keep-raw",
            "--data-dir",
            folder,
        ]
        most = 0
        started = process.spawn(argv, cwd=HOME, env=os.environ)
        begun = time.perf_counter()
        while started.poll() is None:
            most = max(most, _resident(started.pid))
            time.sleep(0.1)
        took = 1e3 * (time.perf_counter() - begun)
        if started.returncode != 0:
            raise SystemExit("error: setup_data.py did not end well")
        archives = sum(1 for _ in Path(folder).rglob("*.zip"))
        plain = 1e3 * seconds(lambda: _hashed(Path(folder)))
    note = f"{archives:,} archives kept, {most / 2**20:,.0f} MB at most"
    return [
        Row("setup", what, took, "hashing and unzipping them in one loop", plain, took / plain, "≤ 20,000 ms", note)
    ]


def _hashed(folder: Path) -> None:
    import hashlib
    import zipfile

    for path in folder.rglob("*.zip"):
        hashlib.sha256(path.read_bytes()).hexdigest()
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                archive.read(name)


def _resident(pid: int) -> int:
    try:
        one = psutil.Process(pid)
        return sum(p.memory_info().rss for p in [one, *one.children(recursive=True)])
    except psutil.Error:
        return 0
