"""What a strategy call and the screen depth cost: uv run python bench/bench_sandbox.py [STRATEGY] [--json] [--seal]

With `--seal` only what the sealed level costs beside the evident one: an attempt is a warm parent's start, six calls
that do nothing, and its end; turn and turn about, so that a busy moment weighs on both. The median difference
must stay at or below 200 ms per attempt.

Prints the start of a warm parent, the wall time of one call that does nothing (full fold length, and a quarter of it),
the six warm calls of a strategy on two workers, the screen check on the same two workers, and the ratio of the two.
The ratio must stay at or below 4.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import time
from collections.abc import Callable
from pathlib import Path

from bench_engine import random_panel

from autoquant.executor import LocalPool
from autoquant.oracle import causality, simulate_folds
from autoquant.oracle.draws import cut_key
from autoquant.oracle.folds import Window, valid_windows
from autoquant.oracle.mask import Mask
from autoquant.oracle.runs import StrategyRuns
from autoquant.sandbox import WarmParent, check_source, strategy_isolation, strategy_seal
from autoquant.sealing import Seal

NOTHING = b"def target_weights(panel, train_end):\n    return panel.close * 0.0\n"
SECRET = bytes(32)


def median_seconds(call: Callable[[], object], times: int) -> float:
    samples = []
    for _ in range(times):
        begun = time.perf_counter()
        call()
        samples.append(time.perf_counter() - begun)
    return statistics.median(samples)


def attempt_seconds(
    seal: Seal | None, runs_of: Callable[[WarmParent], StrategyRuns], windows: list[Window]
) -> tuple[float, float]:
    """Wall time, and processor time of all that was started: the second hardly feels a busy machine."""
    begun, spent = time.perf_counter(), children_seconds()
    with WarmParent(seal=seal) as parent:
        runs = runs_of(parent)
        for window in windows:
            runs.fold(window)
    return time.perf_counter() - begun, children_seconds() - spent


def children_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def measure_seal(pairs: int = 15) -> dict[str, float]:
    panel, windows = random_panel(), list(valid_windows())
    mask = Mask.draw(SECRET, 1, panel.assets, windows)
    begun = time.perf_counter()
    found = strategy_isolation()
    tried = time.perf_counter() - begun
    if found.seal is None:
        raise SystemExit(f"not sealed here: {found.reason}")
    with LocalPool("threads", 1) as pool:

        def runs_of(parent: WarmParent) -> StrategyRuns:
            return StrategyRuns(NOTHING, panel, mask, parent, pool)

        rows = [
            (*attempt_seconds(found.seal, runs_of, windows), *attempt_seconds(None, runs_of, windows))
            for _ in range(pairs)
        ]
    return {
        "trial_once_ms": 1e3 * tried,
        "sealed_attempt_ms": 1e3 * statistics.median(row[0] for row in rows),
        "evident_attempt_ms": 1e3 * statistics.median(row[2] for row in rows),
        "seal_costs_ms": 1e3 * statistics.median(row[0] - row[2] for row in rows),
        "seal_costs_cpu_ms": 1e3 * statistics.median(row[1] - row[3] for row in rows),
        "seal_ratio": statistics.median(row[0] / row[2] for row in rows),
    }


def measure(source: bytes) -> dict[str, float]:
    panel, windows = random_panel(), valid_windows()
    mask = Mask.draw(SECRET, 1, panel.assets, windows)
    seal = strategy_seal()
    begun = time.perf_counter()
    preload = check_source(source).preload
    with WarmParent(preload=preload, seal=seal) as parent, LocalPool("threads", 2) as pool:
        _ = parent.isolation
        started = time.perf_counter() - begun
        empty = StrategyRuns(NOTHING, panel, mask, parent, pool)
        span = empty.span(windows[0])
        whole = median_seconds(lambda: empty.fold(windows[0]), 20)
        quarter = median_seconds(lambda: empty.cut(windows[0], span.train_end - 900, span.stop), 20)

        runs = StrategyRuns(source, panel, mask, parent, pool)
        base = pool.map(runs.fold, windows)
        results = simulate_folds(panel, [run.on_panel(len(panel)) for run in base], windows)[0]
        key = cut_key(SECRET, 1, "bench")
        pairs = [  # side by side, so that a busy moment weighs on both
            (
                median_seconds(lambda: pool.map(runs.fold, windows), 1),
                median_seconds(lambda: causality.screen(runs, base, results, windows, key), 1),
            )
            for _ in range(9)
        ]
        six, screen = (statistics.median(side) for side in zip(*pairs, strict=True))
        report = causality.screen(runs, base, results, windows, key)
    return {
        "warm_parent_start_ms": 1e3 * started,
        "empty_call_ms": 1e3 * whole,
        "empty_quarter_call_ms": 1e3 * quarter,
        "six_calls_ms": 1e3 * six,
        "screen_ms": 1e3 * screen,
        "screen_ratio": statistics.median(long / short for short, long in pairs),
        "screen_calls": float(report.calls),
        "window_bars_mean": statistics.mean(report.window_bars),
        "windows_grown": float(report.grown),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "strategy", nargs="?", type=Path, default=Path(__file__).resolve().parent.parent / "strategy.py"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object")
    parser.add_argument("--seal", action="store_true", help="the cost of sealing alone")
    options = parser.parse_args()
    figures = measure_seal() if options.seal else measure(options.strategy.read_bytes())
    if options.json:
        print(json.dumps(figures, sort_keys=True))
        return
    for name, value in figures.items():
        print(f"{name:24s} {value:10.2f}")


if __name__ == "__main__":
    main()
