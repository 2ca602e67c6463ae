"""How long the report's statistics take at full size: uv run python bench/bench_stats.py [--json]

Fifteen competitors with fifty attempts each make 750 trials over the 732 scored days; ten champions make 45 pairs. One
run prints seconds for the probability of overfitting (16 blocks, 12,870 splits), the effective number of trials and
the pairwise Sharpe tests (4,999 samples), each as a share of its limit (4, 2 and 10 s), the band of the first, SPA with
StepM, and how many times faster the first is than going split by split, days joined anew in each. A few splits are gone
through that way and must rank the same winners the same.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable

import numpy as np

from autoquant.stats.compare import compare_pairs
from autoquant.stats.overfitting import backtest_overfitting, half_splits, noise_band, summed, winners_ranks
from autoquant.stats.reality import superiority
from autoquant.stats.trials import effective_trials

DAYS, TRIALS, CHAMPIONS, BLOCKS, PLAIN_SPLITS = 732, 750, 10, 16, 20
LIMITS = {"overfitting": 4.0, "effective_trials": 2.0, "pairs": 10.0}


def trials() -> np.ndarray:
    """Fifteen families of fifty near-copies."""
    rng = np.random.default_rng(0)
    families = rng.normal(0, 0.01, (DAYS, 15))
    return 0.8 * np.repeat(families, 50, axis=1) + 0.6 * rng.normal(0, 0.01, (DAYS, TRIALS))


def plain_ranks(panel: np.ndarray, splits: np.ndarray) -> list[float]:
    """Rank of each split's winner in its other half, by the definition; both halves in turn, first halves first."""
    blocks = np.split(panel, BLOCKS)

    def sharpes(half: np.ndarray) -> np.ndarray:
        days = np.concatenate([block for block, chosen in zip(blocks, half, strict=True) if chosen])
        return days.mean(axis=0) / days.std(axis=0, ddof=1)

    ranks = []
    for halves in (splits, 1 - splits):
        for half in halves:
            winner = sharpes(half).argmax()
            outside = sharpes(1 - half)
            worse, equal = (outside < outside[winner]).sum(), (outside == outside[winner]).sum()
            ranks.append(float((worse + (equal + 1) / 2) / (panel.shape[1] + 1)))
    return ranks


def seconds(work: Callable[[], object], runs: int = 2) -> float:
    """Of the fastest run."""
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of lines")
    options = parser.parse_args()
    panel = trials()
    champions = panel[:, :: TRIALS // CHAMPIONS] + np.linspace(0, 0.001, CHAMPIONS)
    used = panel[: DAYS // BLOCKS * BLOCKS]
    splits = half_splits(BLOCKS)[:: len(half_splits(BLOCKS)) // PLAIN_SPLITS][:PLAIN_SPLITS]

    _, ranks = winners_ranks(summed(used.reshape(BLOCKS, -1, TRIALS)), splits, "sharpe")
    gap = float(np.abs(ranks - plain_ranks(used, splits)).max())
    times = {
        "overfitting": seconds(lambda: backtest_overfitting(panel)),
        "effective_trials": seconds(lambda: effective_trials(panel, np.random.default_rng(0))),
        "pairs": seconds(lambda: compare_pairs(champions, np.random.default_rng(0))),
    }
    sharpe = seconds(lambda: backtest_overfitting(panel, objective="sharpe"))
    plain = seconds(lambda: plain_ranks(used, splits), 1) / (2 * PLAIN_SPLITS) * 12_870
    figures = {
        **{f"{name}_s": round(value, 2) for name, value in times.items()},
        **{f"{name}_share_of_limit": round(value / LIMITS[name], 2) for name, value in times.items()},
        "overfitting_sharpe_s": round(sharpe, 2),
        "overfitting_split_by_split_s": round(plain, 1),
        "overfitting_ratio": round(plain / sharpe, 1),
        "noise_band_s": round(seconds(lambda: noise_band(panel, np.random.default_rng(0)), 1), 2),
        "superiority_s": round(seconds(lambda: superiority(panel, np.random.default_rng(0)), 1), 2),
        "largest_gap": gap,
    }
    if options.json:
        print(json.dumps(figures, sort_keys=True))
    else:
        print("\n".join(f"{name:34} {value:g}" for name, value in figures.items()))
    return 0 if gap < 1e-12 else 1


if __name__ == "__main__":
    raise SystemExit(main())
