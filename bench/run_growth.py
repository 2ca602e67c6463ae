"""How time grows when the work doubles, and what a long race costs: memory, appends, resuming, bytes per attempt."""

from __future__ import annotations

import gc
import os
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import psutil
from big_race import write_race
from run_accounting import LINEAR, long_only, market, whole
from run_rows import Row, in_turn, seconds

from autoquant.arena.show.following import Follower
from autoquant.arena.show.status import race_status, status_of
from autoquant.ledger import records as r
from autoquant.ledger.layout import RaceLayout
from autoquant.ledger.ledger import Ledger
from autoquant.oracle import simulate_folds, simulation
from autoquant.report import race_leaderboard

DOUBLINGS = (1, 2, 4, 8)
EXPONENT = "≤ 1.1"
LEDGER_ATTEMPTS = 10_000
APPENDS = 200
LOOKS = 100
UTC = "2026-12-01T00:00:00Z"


def exponent(sizes: list[int], times: list[float]) -> float:
    """Slope of log time over log size, least squares."""
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])


def growth(repeats: int) -> list[Row]:
    """Accounts by bars and by assets; a record, its status and its leaderboard by attempts and by competitors.

    CPU instead of the clock: a slope is no ratio of two sides taken in turn, so a busy machine would bend it.
    """
    rows = [
        _grown(
            "accounts by bars, 20 assets", [7_000 * n for n in DOUBLINGS], lambda bars: _accounts(bars, 20), repeats
        ),
        _grown("accounts by assets, 7,000 bars", [10 * n for n in DOUBLINGS], lambda n: _accounts(7_000, n), repeats),
    ]
    works: list[tuple[str, Callable[[RaceLayout], object]]] = [
        ("record read and replayed", lambda layout: Ledger.open(layout.ledger).view),
        ("status", race_status),
        ("leaderboard worked out", lambda layout: race_leaderboard(layout.state, layout.race)),
    ]
    with tempfile.TemporaryDirectory(prefix="autoquant-bench-") as folder:
        state = Path(folder)
        longer = {n: write_race(state, 4, n, f"long-{n}", sparse=True) for n in [125 * n for n in DOUBLINGS]}
        wider = {n: write_race(state, n, 125, f"wide-{n}", sparse=True) for n in [4 * n for n in DOUBLINGS]}
        for by, races in (("attempts of 4 competitors", longer), ("competitors of 125 attempts", wider)):
            for what, work in works:
                makes = {size: _once(work, layout) for size, layout in races.items()}
                rows.append(_grown(f"{what}, by {by}", list(races), makes.__getitem__, repeats))
    return rows


def _once(work: Callable[[RaceLayout], object], layout: RaceLayout) -> Callable[[], float]:
    return lambda: _cpu(lambda: work(layout))


def _accounts(bars: int, assets: int) -> Callable[[], float]:
    panel = market(bars + 1, assets)
    weights, window = long_only(panel), whole(panel)

    def once() -> float:
        simulation._tape.cache_clear()
        return _cpu(lambda: simulate_folds(panel, [weights], [window], costs=LINEAR))

    return once


def _grown(what: str, sizes: list[int], make: Callable[[int], Callable[[], float]], repeats: int) -> Row:
    works = [make(size) for size in sizes]
    for work in works:
        work()
    times = in_turn(repeats, *works)
    slope = exponent(sizes, times)
    note = f"CPU, exponent {slope:.2f}: " + ", ".join(
        f"{n:,} in {t:,.3g} ms" for n, t in zip(sizes, times, strict=True)
    )
    return Row(
        "growth", what, times[-1], "an eighth of it", times[0], times[-1] / times[0], EXPONENT, note, slope > 1.1
    )


def life(repeats: int) -> list[Row]:
    """A record of 10,000 attempts: resuming it, appending to it, its status, its bytes, and memory over many reads."""
    with tempfile.TemporaryDirectory(prefix="autoquant-bench-") as folder:
        long = write_race(Path(folder), 20, LEDGER_ATTEMPTS // 20, "long", sparse=True)
        short = write_race(Path(folder), 20, LEDGER_ATTEMPTS // 200, "short", sparse=True)
        opened, small = in_turn(
            repeats, lambda: seconds(lambda: Ledger.open(long.ledger).view), lambda: seconds(lambda: Ledger.open(short.ledger).view),  # noqa: E501
        )  # fmt: skip
        resumed = 1e3 * _cpu(lambda: Ledger.open(long.ledger).view)
        shown, shown_small = in_turn(
            repeats, lambda: seconds(lambda: race_status(long)), lambda: seconds(lambda: race_status(short))
        )
        appended = [_appends(layout) for layout in (long, short)]
        late, early = in_turn(repeats, *appended)
        looks, whole_looks = in_turn(repeats, _looks(long, Follower().status), _looks(long, status_of))
        size = long.ledger.stat().st_size / LEDGER_ATTEMPTS
        before, after = _memory(long, 2), _memory(long, 8)
        held, held_small = _held(long), _held(short)
        made = "a tenth of it"
        return [
            Row("life", "record of 10,000 attempts read and replayed: a resume", opened, made, small, opened / small, "≤ 2,000 ms", f"{resumed:.0f} ms of CPU"),  # noqa: E501
            Row("life", "its status", shown, made, shown_small, shown / shown_small, "≤ 12.6", fails=shown > 10**1.1 * shown_small),  # noqa: E501
            Row("life", f"{APPENDS} appends to it, each synced, CPU", late, made, early, late / early, "≤ 1.1", fails=late > 1.1 * early),  # noqa: E501
            Row("life", f"{LOOKS} looks of an arena at it, CPU", looks, "every attempt looked at", whole_looks, looks / whole_looks, "≤ 0.1", fails=looks > 0.1 * whole_looks),  # noqa: E501
            Row("life", "bytes of the record per attempt", note=f"{size:,.0f} bytes, without blobs and evaluations"),
            Row("life", "memory after ten reads over memory after two", ratio=after / before, target="≤ 1.05", fails=after > 1.05 * before),  # noqa: E501
            Row("life", "memory of who holds it", target="≤ 35 MB", fails=held > 35e6, note=f"{held / 1e6:.1f} MB; {made} {held_small / 1e6:.1f} MB"),  # noqa: E501
        ]  # fmt: skip


def _cpu(work: Callable[[], object]) -> float:
    """Seconds of this process's CPU: other work on the machine moves them less than the clock."""
    begun = time.process_time()
    work()
    return time.process_time() - begun


def _appends(layout: RaceLayout) -> Callable[[], float]:
    ledger = Ledger.open(layout.ledger)

    def once() -> float:
        return _cpu(lambda: [ledger.append(r.IncidentSeen("a bench's own line"), UTC) for _ in range(APPENDS)])

    return once


def _looks(layout: RaceLayout, look: Callable[..., object]) -> Callable[[], float]:
    """What an arena does four times a second, while nothing happens in the race."""
    ledger = Ledger.open(layout.ledger)
    look(ledger.view, "a bench", ledger.course)
    return lambda: _cpu(lambda: [look(ledger.view, "a bench", ledger.course) for _ in range(LOOKS)])


def _held(layout: RaceLayout) -> int:
    """Bytes of Python's own count that an open ledger and a view of it keep."""
    tracemalloc.start()
    try:
        ledger = Ledger.open(layout.ledger)
        kept = (ledger, ledger.view)
        gc.collect()
        held, _ = tracemalloc.get_traced_memory()
        del kept
        return held
    finally:
        tracemalloc.stop()


def _memory(layout: RaceLayout, reads: int) -> float:
    for _ in range(reads):
        _ = Ledger.open(layout.ledger).view
    gc.collect()
    return float(psutil.Process(os.getpid()).memory_info().rss)
