"""A long race of controls, watched: uv run python bench/soak.py --dir DIR --data-dir DATA [--allow-source NAME]

DATA is a prepared data root (setup_data.py, evaluate.py --calibrate). DIR takes the race and `samples.jsonl`. The same
command goes on where an earlier one ended, with a new arena, so that a soak may be spread over nights; Ctrl-C or
SIGTERM pauses the race as it does a user's. What is watched, each time another fiftieth of the attempts is through:

* memory of the arena process alone (unique set size), of which the table takes the median of each tenth;
* processor time of the arena process alone, children left out, per attempt: what grows in the record, the ledger, the
  status lines or the folders shows here;
* `arena.py status --json`, its wall time beside an interpreter that starts and ends;
* bytes on disk below the race's folder, per attempt.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import psutil

HOME = Path(__file__).resolve().parent.parent
RACE = "soak"
SECONDS_BETWEEN_LOOKS = 2.0
SAMPLES = 50
TENTHS = 10


@dataclass(frozen=True)
class Sample:
    """One look at the running race.

    Attributes
    ----------
    arena : process number: a new one begins with empty memory.
    attempts, cpu_seconds, memory_mb : verdicts so far, processor time and unique memory of the arena process.
    ledger_bytes, disk_bytes : of the record, and of everything below the race's folder and its repository.
    status_ms, bare_ms : `arena.py status --json` and `python -c pass`, each once.
    """

    arena: int
    attempts: int
    cpu_seconds: float
    memory_mb: float
    ledger_bytes: int
    disk_bytes: int
    status_ms: float
    bare_ms: float


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dir", type=Path, required=True, help="race and samples; made where it is not there")
    parser.add_argument("--data-dir", type=Path, required=True, metavar="DATA", help="prepared market data")
    parser.add_argument("--allow-source", metavar="NAME", help="as arena.py start takes it")
    parser.add_argument("--racers", type=int, default=20, metavar="N", help="half random, half hillclimb (default: 20)")
    parser.add_argument("--attempts", type=int, default=500, metavar="N", help="of each racer (default: 500)")
    parser.add_argument("--hours", type=float, metavar="H", help="pause after H hours (default: go on to the end)")
    parser.add_argument("--json", action="store_true", help="samples and table as one JSON object")
    options = parser.parse_args()
    if options.racers < 2 or options.racers % 2 or options.attempts < 1:
        parser.error("--racers takes an even number from 2, --attempts one from 1")
    for number in (signal.SIGINT, signal.SIGTERM):  # also when started by a shell's `&`, which has it ignore Ctrl-C
        signal.signal(number, signal.default_int_handler)
    folder = options.dir.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    with _Kept(folder / "samples.jsonl") as kept:
        watch(folder, race_command(folder, options), options.racers * options.attempts, kept)
        table = tenths(kept.samples, options.racers * options.attempts)
    if options.json:
        print(json.dumps({"samples": [asdict(one) for one in kept.samples], "tenths": table}))
    else:
        show(table)
    return 0


def race_command(folder: Path, options: argparse.Namespace) -> list[str]:
    """Starts the race or goes on with it."""
    command = [
        sys.executable, "arena.py", "start", "--race", RACE, "--competitors", "random,hillclimb",
        "--replicates", str(options.racers // 2), "--max-experiments", str(options.attempts), "--parallel", "4",
        "--data-dir", str(options.data_dir.resolve()), "--state-dir", str(folder / "state"), "--json",
    ]  # fmt: skip
    if options.allow_source is not None:
        command += ["--allow-source", options.allow_source]
    if options.hours is not None:
        command += ["--max-hours", str(options.hours)]
    return command


def watch(folder: Path, command: list[str], attempts: int, kept: _Kept) -> None:
    """Start or resume the race and look at it until it ends or pauses."""
    step = max(1, attempts // SAMPLES)
    with (folder / "arena.log").open("ab") as log:
        arena = subprocess.Popen(command, cwd=HOME, stdout=log, stderr=log, start_new_session=True)
    try:
        process = psutil.Process(arena.pid)
        counted = _Counted(folder / "state" / "races" / RACE / "ledger.jsonl")
        due = (counted.closed() // step + 1) * step
        while arena.poll() is None:
            time.sleep(SECONDS_BETWEEN_LOOKS)
            if (done := counted.closed()) >= due:
                with contextlib.suppress(psutil.NoSuchProcess):
                    kept.add(_look(process, done, folder))
                due = (done // step + 1) * step
    except KeyboardInterrupt:
        pass
    finally:  # also when a look failed: nothing races unwatched
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        if arena.poll() is None:
            arena.send_signal(signal.SIGTERM)
            arena.wait()
    if arena.returncode not in (0, 130, 143, -signal.SIGTERM):  # the last: it had not come far enough to pause
        lines = (folder / "arena.log").read_text(encoding="utf-8", errors="replace").splitlines()
        said = next((line for line in reversed(lines) if line.startswith("error: ")), "error: it left no reason")
        raise SystemExit(f"{said}\nhint: the arena ended with {arena.returncode}: see {folder / 'arena.log'}")


def _look(process: psutil.Process, done: int, folder: Path) -> Sample:
    memory, times = process.memory_full_info(), process.cpu_times()
    if not memory.uss:  # ended this moment: what is left of it holds nothing
        raise psutil.NoSuchProcess(process.pid)
    state = folder / "state"
    status = _command("arena.py", "status", "--json", "--state-dir", str(state))
    return Sample(
        arena=process.pid,
        attempts=done,
        cpu_seconds=times.user + times.system,
        memory_mb=memory.uss / 1e6,
        ledger_bytes=(state / "races" / RACE / "ledger.jsonl").stat().st_size,
        disk_bytes=sum(_sizes(state)),
        status_ms=1e3 * status,
        bare_ms=1e3 * _command("-c", "pass"),
    )


def _sizes(folder: Path) -> Iterator[int]:
    for place, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                yield os.lstat(os.path.join(place, name)).st_size


def _command(*arguments: str) -> float:
    begun = time.perf_counter()
    done = subprocess.run([sys.executable, *arguments], cwd=HOME, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"error: {' '.join(arguments)}: {done.stderr.strip()}")
    return time.perf_counter() - begun


class _Counted:
    """Verdicts in a growing record, each byte of it read once."""

    def __init__(self, ledger: Path) -> None:
        self._ledger, self._at, self._closed = ledger, 0, 0

    def closed(self) -> int:
        with contextlib.suppress(FileNotFoundError), self._ledger.open("rb") as file:
            file.seek(self._at)
            new = file.read()
            whole = new[: new.rfind(b"\n") + 1]
            self._at += len(whole)
            self._closed += whole.count(b'"kind":"attempt_closed"')
        return self._closed


class _Kept:
    """Samples of this and earlier runs; each new one is on disk before the next look."""

    def __init__(self, path: Path) -> None:
        self._path = path
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        known = {field.name for field in fields(Sample)}
        self.samples = [Sample(**{k: v for k, v in json.loads(line).items() if k in known}) for line in lines]

    def __enter__(self) -> _Kept:
        self._file = self._path.open("a", encoding="utf-8")
        return self

    def __exit__(self, *exc: object) -> None:
        self._file.close()

    def add(self, sample: Sample) -> None:
        self.samples.append(sample)
        self._file.write(json.dumps(asdict(sample)) + "\n")
        self._file.flush()


def tenths(samples: list[Sample], attempts: int) -> list[dict[str, Any]]:
    """Medians over each tenth of the attempts; processor time per attempt only within one arena process."""
    rows = []
    for tenth in range(TENTHS):
        low, high = attempts * tenth / TENTHS, attempts * (tenth + 1) / TENTHS
        inside = [one for one in samples if low < one.attempts <= high]
        if not inside:
            continue
        pairs = [
            (later.cpu_seconds - one.cpu_seconds) / (later.attempts - one.attempts)
            for one, later in itertools.pairwise(samples)
            if one.arena == later.arena and low < later.attempts <= high and later.attempts > one.attempts
        ]
        last = inside[-1]
        rows.append(
            {
                "attempts": last.attempts,
                "memory_mb": statistics.median(one.memory_mb for one in inside),
                "arena_cpu_ms_per_attempt": 1e3 * statistics.median(pairs) if pairs else None,
                "status_over_bare": statistics.median(one.status_ms / one.bare_ms for one in inside),
                "ledger_bytes_per_attempt": last.ledger_bytes / last.attempts,
                "disk_bytes_per_attempt": last.disk_bytes / last.attempts,
                "arenas": len({one.arena for one in inside}),
            }
        )
    return rows


def show(table: list[dict[str, Any]]) -> None:
    """Markdown."""
    print("| attempts | memory MB | arena CPU ms per attempt | status ÷ python -c pass | record bytes | disk bytes |")
    print("|--:|--:|--:|--:|--:|--:|")
    for row in table:
        cpu = row["arena_cpu_ms_per_attempt"]
        print(
            f"| {row['attempts']:,} | {row['memory_mb']:.1f} | {'n/a' if cpu is None else f'{cpu:.0f}'} "
            f"| {row['status_over_bare']:.0f} | {row['ledger_bytes_per_attempt']:,.0f} "
            f"| {row['disk_bytes_per_attempt']:,.0f} |"
        )
    if len(table) > 2:
        print(f"\nmemory of the last tenth over the second: {table[-1]['memory_mb'] / table[1]['memory_mb']:.3f}")


if __name__ == "__main__":
    sys.exit(main())
