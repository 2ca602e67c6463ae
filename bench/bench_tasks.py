"""What grading a task costs at full size: uv run python bench/bench_tasks.py [--json]

On the made-up pair (737,587 bars shown, 282,950 hidden) one run prints milliseconds of a replay of one leg and of two
with the exposure of every bar, each beside a plain loop over the bars and how many times faster it is (both ways must
come to the same); seconds of a final grade of each reference solution, what its function alone takes in this process,
and what the grade takes beyond that; seconds of `arena.py tasks grade --final` as a whole, and the memory of all its
processes together at the worst moment. Limits: 25 and 60 ms, 1.5 s beyond the easy solution's own, 600 MB.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import psutil

from autoquant.market.index_synthetic import DEFAULT_SEED, synthetic_indices
from autoquant.market.indices import SPLIT, SYNTHETIC, Bars, save_indices, split_at
from autoquant.sandbox import strategy_seal
from autoquant.tasks.grader import Ground, grade
from autoquant.tasks.ground import clean_parent, load_ground
from autoquant.tasks.replay import COST_RATE, Replay, Trades, path, replay_multi, replay_single
from autoquant.tasks.spec import ORDER
from autoquant.tasks.truth import reference_source

HOME = Path(__file__).resolve().parent.parent
ROWS = 18_815
LIMITS = {
    "replay_one_ms": 25.0,
    "replay_two_ms": 60.0,
    "easy_beyond_s": 1.5,
    "easy_memory_mb": 600.0,
    "hard_memory_mb": 600.0,
}


def trades(bars: int) -> Trades:
    """As many rows as the pairs rule makes on the reference set: in, out, in, out."""
    rng = np.random.default_rng(0)
    sides = np.zeros(ROWS)
    sides[::2] = rng.choice([-1.0, 1.0], ROWS - ROWS // 2)
    return Trades(np.sort(rng.choice(bars, ROWS, replace=False)), np.column_stack([sides, -sides]))


def plain(made: Trades, closes: list[np.ndarray]) -> tuple[float, float]:
    """Profit and worst exposure, bar by bar."""
    legs = range(len(closes))
    paths = [path(made, leg, len(closes[0])).tolist() for leg in legs]
    prices = [close.tolist() for close in closes]
    total, worst = 0.0, 0.0
    for i in range(len(prices[0])):
        net = gross = 0.0
        for leg in legs:
            now, price = paths[leg][i], prices[leg][i]
            before = paths[leg][i - 1] if i else 0.0
            if i:
                total += now * (price - prices[leg][i - 1])
            if now != before:
                total -= COST_RATE * price * abs(now - before)
            net += now * price
            gross += abs(now * price)
        if gross:
            worst = max(worst, abs(net) / gross)
    return total, worst


def milliseconds(work: Callable[[], object], runs: int = 9) -> float:
    """Of the median run."""
    times = []
    for _ in range(runs):
        begun = time.perf_counter()
        work()
        times.append(1e3 * (time.perf_counter() - begun))
    return sorted(times)[runs // 2]


def seconds(work: Callable[[], object], runs: int = 3) -> float:
    """Of the fastest run."""
    times = []
    for _ in range(runs):
        begun = time.perf_counter()
        work()
        times.append(time.perf_counter() - begun)
    return min(times)


def replays(bars: Bars) -> dict[str, float]:
    first, second = bars.close("nifty"), bars.close("banknifty")
    both = trades(len(bars))
    one = Trades(both.bars, both.positions[:, :1])
    figures: dict[str, float] = {}
    ways: list[tuple[str, Callable[[], Replay], Trades, list[np.ndarray]]] = [
        ("one", lambda: replay_single(one, first), one, [first]),
        ("two", lambda: replay_multi(both, first, second), both, [first, second]),
    ]
    for name, fast, made, closes in ways:
        begun = time.perf_counter()
        total, worst = plain(made, closes)
        slow = 1e3 * (time.perf_counter() - begun)
        found = fast()
        assert np.isclose(total, found.pnl), (total, found.pnl)
        assert name == "one" or np.isclose(worst, found.worst_exposure)
        figures[f"replay_{name}_ms"] = milliseconds(fast)
        figures[f"plain_{name}_ms"] = slow
        figures[f"plain_{name}_ratio"] = slow / figures[f"replay_{name}_ms"]
    return figures


def grades(data: Path) -> dict[str, float]:
    figures: dict[str, float] = {}
    seal = strategy_seal()
    for name in ORDER:
        with clean_parent(seal) as parent:
            _ = parent.isolation
            ground = load_ground(data, name, parent)  # the truth is kept from here on
            source = reference_source(name)
            own = seconds(partial(alone, ground, source))
            whole = seconds(partial(grade, parent, source, ground, final=True))
        figures |= {f"{name}_grade_s": whole, f"{name}_own_s": own, f"{name}_beyond_s": whole - own}
    return figures


def alone(ground: Ground, source: bytes) -> None:
    """A solution's function, without sandbox and replay."""
    scope: dict[str, Any] = {}
    exec(source, scope)
    frames = ground.spec.shown(ground.shown)
    index = pd.DatetimeIndex(frames.times.astype("datetime64[ms]"))
    names = list(dict.fromkeys(frame for frame, _ in frames.columns))
    blocks = np.split(frames.values, len(names))
    columns = [[column for owner, column in frames.columns if owner == name] for name in names]
    made = [pd.DataFrame(block.T, index, heads) for block, heads in zip(blocks, columns, strict=True)]
    scope["generate_trades"](*made)


def command(data: Path, name: str) -> tuple[float, float]:
    """Seconds and MB of the real command in a fresh process: everything it starts counts, shared pages once."""
    solution = HOME / "autoquant" / "tasks" / "references" / f"{name}.py"
    argv = [sys.executable, "arena.py", "tasks", "grade", str(solution), "--task", name, "--data-dir", str(data)]
    worst, begun = 0, time.perf_counter()
    with subprocess.Popen([*argv, "--final"], cwd=HOME, stdout=subprocess.DEVNULL) as process:
        watched = psutil.Process(process.pid)
        while process.poll() is None:
            worst = max(worst, sum(_share(one) for one in [watched, *_below(watched)]))
            time.sleep(0.01)
    return time.perf_counter() - begun, worst / 1024**2


def _below(process: psutil.Process) -> list[psutil.Process]:
    try:
        return process.children(recursive=True)
    except psutil.Error:
        return []


def _share(process: psutil.Process) -> int:
    try:
        return int(process.memory_full_info().pss)
    except (psutil.Error, AttributeError):
        return 0


def measure() -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        data, bars = Path(folder), synthetic_indices()
        save_indices(data, bars, source=SYNTHETIC, split=SPLIT, seed=DEFAULT_SEED)
        figures = replays(split_at(bars, SPLIT)[0]) | grades(data)
        for name in ("easy", "hard"):
            figures[f"{name}_command_s"], figures[f"{name}_memory_mb"] = command(data, name)
    return figures | {f"{name}_share": figures[name] / limit for name, limit in LIMITS.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="one JSON object")
    options = parser.parse_args()
    figures = measure()
    if options.json:
        print(json.dumps(figures, sort_keys=True))
        return
    for name, value in figures.items():
        print(f"{name:26s} {value:12.3f}")


if __name__ == "__main__":
    main()
