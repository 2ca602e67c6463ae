"""Start-up of the commands, a whole attempt and its parts, and set-up from a mirror."""

from __future__ import annotations

import functools
import os
import resource
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
from autoquant.arena.referee import judging, referee
from autoquant.arena.referee.audit import Auditor
from autoquant.arena.referee.delivery import Delivery
from autoquant.arena.referee.mailbox import RefereeMailbox
from autoquant.arena.referee.worktrees import Worktrees
from autoquant.ledger.ledger import Ledger
from autoquant.oracle import judge

HOME = Path(__file__).resolve().parent.parent


class _Command:
    """Runs a command; seconds, and of all runs the seconds of CPU, which other work on the machine moves less.

    Parameters
    ----------
    arguments : behind the interpreter.
    first : removed before each run.
    """

    def __init__(self, *arguments: str, first: Path | None = None) -> None:
        self._arguments, self._first, self._cpu = arguments, first, list[float]()

    def __call__(self) -> float:
        if self._first is not None:
            self._first.unlink(missing_ok=True)
        before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        done = process.run([sys.executable, *self._arguments], cwd=HOME, timeout_seconds=600)
        took, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode != 0:
            raise SystemExit(f"error: {' '.join(self._arguments)}: {done.stderr.decode(errors='replace').strip()}")
        self._cpu.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        return took

    @property
    def note(self) -> str:
        return f"{1e3 * statistics.median(self._cpu):.0f} ms of CPU"


def startup(repeats: int) -> list[Row]:
    """Commands beside an interpreter that starts and ends."""
    with tempfile.TemporaryDirectory(prefix="autoquant-bench-") as folder:
        layout = write_race(Path(folder), 4, 50, sparse=True)
        status = ("arena.py", "status", "--state-dir", folder)
        help_, again = _Command("run.py", "--help"), _Command(*status)
        anew = _Command(*status, first=layout.leaderboard)
        bare, helped, first, shown = in_turn(max(repeats, 9), _Command("-c", "pass"), help_, anew, again)
    beside, race = "python -c pass", "4 × 50 attempts, lockbox open"
    return [
        Row("startup", "run.py --help", helped, beside, bare, helped / bare, "≤ 100 ms", help_.note),
        Row("startup", f"arena.py status, {race}", shown, beside, bare, shown / bare, "≤ 400 ms", again.note),
        Row("startup", "the first after the race changed", first, beside, bare, first / bare, "", anew.note),
    ]


class Parts:
    """Adds up what some functions take, each without what others of them take inside it. One thread is watched."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._watched = threading.get_ident()
        self._inside: list[str] = []
        self._since = 0.0

    def watch(self, part: str, owner: Any, *names: str) -> None:
        """Count these attributes of a class or module as one part, for as long as the process lives."""
        for name in names:
            setattr(owner, name, self._counted(part, getattr(owner, name)))

    def _counted(self, part: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def counted(*arguments: Any, **options: Any) -> Any:
            if threading.get_ident() != self._watched:
                return function(*arguments, **options)
            self._turn()
            self._inside.append(part)
            try:
                return function(*arguments, **options)
            finally:
                self._turn()
                self._inside.pop()

        return counted

    def _turn(self) -> None:
        """Put down what has passed since the last turn to the innermost part."""
        now = time.perf_counter()
        if self._inside:
            self.seconds[self._inside[-1]] = self.seconds.get(self._inside[-1], 0.0) + now - self._since
        self._since = now


def _watched() -> Parts:
    parts = Parts()
    parts.watch("ledger", Ledger, "append")
    parts.watch("git", Worktrees, "seed_commit", "commit", "commit_id")
    parts.watch("audit", Auditor, "checkout", "worktree")
    parts.watch("ratchet and feedback", judging, "propose", "settle", "feedback")
    parts.watch("evaluation and score file", referee, "store_verdict")
    parts.watch("mailbox, copies, reply", Delivery, "deliver", "put_back", "reply")
    parts.watch("mailbox, copies, reply", RefereeMailbox, "next_request", "take", "has_reply")
    parts.watch("stress", judge.Judge, "_score_shifted")
    parts.watch("stress", judge, "stress")
    return parts


def attempt(data_root: Path | None, repeats: int) -> list[Row]:
    """Parts of an attempt that submits the seed with another comment; each beside the six strategy calls.

    Such an attempt is not accepted, so it is not put under stress: the seed's own deep check, once, tells what that is.
    """
    what = "an attempt on the seed"
    if data_root is None:
        return [Row("attempt", what, note="left out: --data-dir names no prepared and calibrated data")]
    parts = _watched()
    found: list[dict[str, float]] = []
    with (
        tempfile.TemporaryDirectory(prefix="bench-attempt-") as folder,
        bench_attempt.bench_race(data_root, HOME, Path(folder), repeats + 2, None) as bench,
    ):
        bench.attempt(0)
        for number in range(1, repeats + 1):
            time.sleep(1.0)  # an agent thinks between attempts: the next warm parent is ready by then
            parts.seconds.clear()
            one = bench.attempt(number)
            if one.confirmed:
                continue
            found.append(_parts_of(one, {part: 1e3 * seconds for part, seconds in parts.seconds.items()}))
        parts.seconds.clear()
        deep = bench.referee._judge.confirm(bench.seed, repeats + 1, bench.referee._judge.screen(bench.seed, 0))
    if not found:
        return [Row("attempt", what, note="left out: every attempt was confirmed as well")]
    medians = {name: statistics.median(parts[name] for parts in found) for name in found[0]}
    calls = medians["strategy"]
    targets = {"causality": "≤ 3", "all that is no strategy code": "≤ 250 ms evident, ≤ 450 ms sealed"}
    rows = [
        Row("attempt", f"{what}: {name}", ms, "six strategy calls", calls, ms / calls, targets.get(name, ""))
        for name, ms in medians.items()
    ]
    whole, stress = 1e3 * deep.seconds, 1e3 * parts.seconds.get("stress", 0.0)
    beside, note = "six strategy calls", "only before something is accepted; strategy calls on shifted days included"
    return [
        *rows,
        Row("attempt", "the deep check of the seed, once", whole, beside, calls, whole / calls),
        Row("attempt", "stress, a part of it", stress, beside, calls, stress / calls, note=note),
    ]


def _parts_of(one: bench_attempt.Attempt, counted: dict[str, float]) -> dict[str, float]:
    """All parts of an attempt, ms: as its record says them, as they were counted, and the rest."""
    told = {"strategy": one.strategy, "causality": one.causality, "accounting": one.accounting}
    rest = one.overhead - sum(counted.values())
    return {
        **told,
        **counted,
        "the rest": rest,
        "all that is no strategy code": one.wall - one.strategy - one.causality,
    }


def setup(base_url: str | None) -> list[Row]:
    """All archives of a mirror with eight jobs; and the most memory its processes held together."""
    what = "setup_data.py --jobs 8"
    if base_url is None:
        return [Row("setup", what, note="left out: --base-url names no mirror")]
    with tempfile.TemporaryDirectory(prefix="autoquant-bench-") as folder:
        options = ("--base-url", base_url, "--jobs", "8", "--keep-raw", "--data-dir", folder)
        argv = [sys.executable, "setup_data.py", *options]
        started = process.spawn(argv, cwd=HOME, env=os.environ, stderr=None)  # what is wrong it says itself
        begun, held = time.perf_counter(), list[tuple[int, float]]()
        try:
            while started.poll() is None:
                held.append(_held(started.pid))
                time.sleep(0.1)
        finally:  # Ctrl-C does not reach its session
            process.end_tree(started.pid)
        took = 1e3 * (time.perf_counter() - begun)
        if started.returncode != 0:
            raise SystemExit("error: setup_data.py did not end well")
        archives = sum(1 for _ in Path(folder).rglob("*.zip"))
        plain = 1e3 * seconds(lambda: _hashed(Path(folder)))
    quarter = max(1, len(held) // 4)
    most = [
        max((size for size, _ in held[start : start + quarter]), default=0) / 2**20
        for start in range(0, 4 * quarter, quarter)
    ]
    note = (
        f"{archives:,} archives kept, {max(cpu for _, cpu in held):.1f} s of CPU, "
        f"at most {', '.join(f'{size:,.0f}' for size in most)} MB by quarters"
    )
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


def _held(pid: int) -> tuple[int, float]:
    """Bytes that a process and its children hold, and its seconds of CPU so far."""
    try:
        one = psutil.Process(pid)
        times = one.cpu_times()
        return sum(p.memory_info().rss for p in [one, *one.children(recursive=True)]), times.user + times.system
    except psutil.Error:
        return 0, 0.0
