"""How long the page of a big race takes, and how large it is: uv run python bench/bench_report.py [--json]

One run writes two finished races into temporary folders, 5 competitors with 150 attempts each and 50 with 1,000 (1.4
GB), draws each with `dashboard.py` and prints seconds of the whole command and bytes of the page, each also as a share
of its limit (5 and 10 s, 1.5 and 8 MB). Then what a record of the larger ledger takes to read, verified and replayed,
beside the plain way of checking a line (parsed, written without and with its digest, hashed), and the ratio of the two.
The plain way must find every line sound.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from big_race import write_race

from autoquant import process
from autoquant.ledger.ledger import read_records
from autoquant.ledger.replay import replay

HOME = Path(__file__).resolve().parent.parent
RACES = {"5x150": (5, 150, 5.0, 1.5e6), "50x1000": (50, 1_000, 10.0, 8e6)}
"""Competitors, attempts of each, limits in seconds and bytes."""


def drawn(state: Path) -> tuple[float, int]:
    """Seconds of the fastest of two runs of the command, and bytes of the page."""
    page = state / "page.html"
    command = [sys.executable, "dashboard.py", "--state-dir", str(state), "--out", str(page)]
    times = []
    for _ in range(2):
        start = time.perf_counter()
        done = process.run(command, cwd=HOME, timeout_seconds=600)
        times.append(time.perf_counter() - start)
        if done.returncode:
            raise SystemExit(done.stderr.decode())
    return min(times), page.stat().st_size


def plain_check(lines: list[str]) -> int:
    """Lines whose form and digest hold, the way the words of the format say it."""

    def text(fields: dict[str, Any]) -> str:
        return json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=False)

    sound = 0
    for line in lines:
        fields = json.loads(line)
        digest = fields.pop("digest")
        written = hashlib.sha256(text(fields).encode()).hexdigest()
        sound += digest == written and text(fields | {"digest": digest}) == line
    return sound


def read(ledger: Path) -> dict[str, float]:
    """Microseconds per record of reading and of the plain check, their ratio, and lines the plain check doubts."""
    start = time.perf_counter()
    records = read_records(ledger)
    replay(records)
    reading = time.perf_counter() - start
    lines = ledger.read_text().splitlines()
    start = time.perf_counter()
    sound = plain_check(lines)
    plain = time.perf_counter() - start
    return {
        "read_us_per_record": round(reading / len(lines) * 1e6, 1),
        "plain_us_per_record": round(plain / len(lines) * 1e6, 1),
        "read_over_plain": round(reading / plain, 2),
        "records": len(records),
        "lines_in_doubt": len(lines) - sound,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of lines")
    options = parser.parse_args()
    figures: dict[str, float] = {}
    for name, (competitors, attempts, most_seconds, most_bytes) in RACES.items():
        with tempfile.TemporaryDirectory(prefix="autoquant-bench-") as folder:
            layout = write_race(Path(folder), competitors, attempts)
            seconds, size = drawn(Path(folder))
            figures |= {
                f"{name}_s": round(seconds, 2),
                f"{name}_s_share_of_limit": round(seconds / most_seconds, 2),
                f"{name}_bytes": size,
                f"{name}_bytes_share_of_limit": round(size / most_bytes, 2),
            }
            ledger = read(layout.ledger)
    figures |= ledger
    if options.json:
        print(json.dumps(figures, sort_keys=True))
    else:
        print("\n".join(f"{name:30} {value:.10g}" for name, value in figures.items()))
    return 0 if not figures["lines_in_doubt"] else 1


if __name__ == "__main__":
    raise SystemExit(main())
