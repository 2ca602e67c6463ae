"""What a strategy call and the screen depth cost: uv run python bench/bench_sandbox.py [STRATEGY] [--json]

Prints the start of a warm parent, the wall time of one call that does nothing (full fold length, and a quarter of it),
the six warm calls of a strategy on two workers, the screen check on the same two workers, and the ratio of the two.
The ratio must stay at or below 4.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path

from bench_engine import random_panel

from autoquant.executor import LocalPool
from autoquant.oracle import causality, simulate_folds
from autoquant.oracle.draws import cut_key
from autoquant.oracle.folds import valid_windows
from autoquant.oracle.mask import Mask
from autoquant.oracle.runs import StrategyRuns
from autoquant.sandbox import WarmParent, check_source

NOTHING = b"def target_weights(panel, train_end):\n    return panel.close * 0.0\n"
SECRET = bytes(32)


def median_seconds(call: Callable[[], object], times: int) -> float:
    samples = []
    for _ in range(times):
        begun = time.perf_counter()
        call()
        samples.append(time.perf_counter() - begun)
    return statistics.median(samples)


def measure(source: bytes) -> dict[str, float]:
    panel, windows = random_panel(), valid_windows()
    mask = Mask.draw(SECRET, 1, panel.assets, windows)
    begun = time.perf_counter()
    with WarmParent(preload=check_source(source).preload) as parent, LocalPool("threads", 2) as pool:
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
    options = parser.parse_args()
    figures = measure(options.strategy.read_bytes())
    if options.json:
        print(json.dumps(figures, sort_keys=True))
        return
    for name, value in figures.items():
        print(f"{name:24s} {value:10.2f}")


if __name__ == "__main__":
    main()
