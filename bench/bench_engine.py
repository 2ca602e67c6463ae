"""How long the accounts of six folds take: uv run python bench/bench_engine.py [--json]

One run prints the engine's time for six folds of 122 days × 20 assets under three scenarios, the time of a plain loop
(one fold and scenario at a time, numpy over assets, no accounts kept), the ratio of the two, and 100 calibration
samples. The plain loop is also the check: both must end at the same equity.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable

import numpy as np

from autoquant.clock import day_ms
from autoquant.executor import LocalPool
from autoquant.market.grid import NEVER
from autoquant.market.panel import Panel
from autoquant.oracle import Scenario, simulate_folds
from autoquant.oracle.calibrate import calibrate
from autoquant.oracle.folds import valid_windows
from autoquant.oracle.orders import place_orders
from autoquant.oracle.records import Digests
from autoquant.oracle.simulation import decision_rows
from autoquant.oracle.tape import Tape, build_tape

BAR = 4 * 3_600_000
SCENARIOS = (Scenario(), Scenario(2.0, 0), Scenario(1.0, 1))


def random_panel(assets: int = 20) -> Panel:
    """Six years of random prices with funding every eight hours."""
    rng = np.random.default_rng(0)
    times = np.arange(day_ms("2020-01-01"), day_ms("2025-07-01"), BAR)
    shape = (len(times), assets)
    close = 100 * np.exp(rng.normal(0, 0.01, shape).cumsum(axis=0))
    open_ = np.concatenate([close[:1], close[:-1]])
    volume = rng.lognormal(12, 1, shape)
    rates = np.where((times % (2 * BAR) == 0)[:, None], rng.normal(1e-4, 1e-4, shape), 0.0)
    cube = np.stack(
        [open_, np.maximum(open_, close), np.minimum(open_, close), close, volume, volume * close, rates, 0 * rates]
    )
    tier = np.array([1, 1, *[2] * (assets - 2)])
    return Panel(times, tuple(f"A{i:02d}" for i in range(assets)), tier, cube, np.full(assets, NEVER), BAR)


def slow_weights(panel: Panel) -> np.ndarray:
    """Weights that turn over at about the pace of a trend follower."""
    rng = np.random.default_rng(1)
    weights = np.empty(panel.close.shape)
    state = np.zeros(weights.shape[1])
    for row, shock in enumerate(rng.normal(0, 1, weights.shape)):
        state = 0.99 * state + 0.14 * shock
        weights[row] = state / max(1.0, np.abs(state).sum())
    return weights


def plain_loop(tape: Tape, decisions: list[np.ndarray], scenario: Scenario) -> list[float]:
    """Last equity of each fold, one fold at a time."""
    shape = (*tape.mark_open.shape, 1)
    targets, limits = np.empty(shape), np.empty(shape)
    place_orders(decisions, [scenario]).lay(tape, 0, targets, limits)
    rate = tape.taker + tape.half_spread
    ends = []
    for fold in range(len(decisions)):
        cash, units = 1.0, np.zeros(len(rate))
        for bar in range(len(tape.mark_open)):
            price = tape.mark_open[bar, :, fold]
            cash -= (units * tape.funding_open[bar, :, fold]).sum()
            notional = units * price
            equity = cash + notional.sum()
            limit = limits[bar, :, fold, 0]
            change = np.clip(targets[bar, :, fold, 0] * equity - notional, -limit, limit)
            size = np.abs(change)
            cost = size * (rate + tape.impact[bar, :, fold] * np.sqrt(size)) * scenario.cost_multiplier
            cash -= change.sum() + cost.sum()
            units = units + change / price
            cash -= (units * tape.funding_inside[bar, :, fold]).sum()
        closing = units * tape.mark_close[-1, :, fold]
        size = np.abs(closing)
        cost = size * (rate + tape.impact[-1, :, fold] * np.sqrt(size)) * scenario.cost_multiplier
        ends.append(float(cash + closing.sum() - cost.sum()))
    return ends


def best_of(runs: int, work: Callable[[], object]) -> float:
    """Milliseconds of the fastest run."""
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times) * 1e3


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of lines")
    options = parser.parse_args()
    panel, windows = random_panel(), valid_windows()
    weights = [slow_weights(panel)] * len(windows)
    tape = build_tape(panel, windows)
    decisions = [decision_rows(panel, window, array) for window, array in zip(windows, weights, strict=True)]

    results = simulate_folds(panel, weights, windows, SCENARIOS)
    plain = [plain_loop(tape, decisions, scenario) for scenario in SCENARIOS]
    gap = max(
        abs(r.equity[-1] - e) for row, ends in zip(results, plain, strict=True) for r, e in zip(row, ends, strict=True)
    )
    engine_ms = best_of(9, lambda: simulate_folds(panel, weights, windows, SCENARIOS))
    plain_ms = best_of(2, lambda: [plain_loop(tape, decisions, scenario) for scenario in SCENARIOS])
    with LocalPool("threads") as pool:
        digests = Digests(protocol="", code="", data="", strategy="")
        samples_ms = best_of(
            1, lambda: calibrate(panel, windows, weights, samples=100, seed=0, digests=digests, executor=pool)
        )
    figures = {
        "engine_ms": round(engine_ms, 1),
        "plain_loop_ms": round(plain_ms, 1),
        "ratio": round(plain_ms / engine_ms, 2),
        "largest_gap": gap,
        "calibration_100_samples_ms": round(samples_ms, 1),
    }
    if options.json:
        print(json.dumps(figures, sort_keys=True))
    else:
        print("\n".join(f"{name:28} {value:g}" for name, value in figures.items()))
    return 0 if gap < 1e-12 else 1


if __name__ == "__main__":
    raise SystemExit(main())
