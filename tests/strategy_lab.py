"""A small market, two short folds and a year's last month: where the leak corpus and the honest corpus run."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from autoquant.clock import day_ms
from autoquant.executor import LocalPool
from autoquant.market import NEVER, Panel
from autoquant.oracle import FoldResult, causality, simulate_folds
from autoquant.oracle.draws import cut_key
from autoquant.oracle.folds import DAY_MS, Window
from autoquant.oracle.mask import Mask
from autoquant.oracle.runs import Run, StrategyRuns
from autoquant.protocol import Causality
from autoquant.sandbox import WarmParent, check_source

ASSETS = tuple(f"COIN{i}USDT" for i in range(8))
BAR_MS = 4 * 3_600_000
FIRST_MS = day_ms("2023-01-02")
HISTORY_DAYS, EMBARGO_DAYS, FOLD_DAYS = 100, 5, 30
RULES = Causality(
    window_days_minimum=25,
    window_days_maximum=60,
    window_horizon_days=10,
    screen_last_days=5,
    future_days_minimum=3,
    confirm_truncations=32,
    lockbox_cuts=12,
)


def window(number: int, train_end_day: int, fold_days: int = FOLD_DAYS) -> Window:
    end = FIRST_MS + train_end_day * DAY_MS
    start = end + EMBARGO_DAYS * DAY_MS
    return Window(number, end - HISTORY_DAYS * DAY_MS, end, start, start + fold_days * DAY_MS)


FIRST_TRAIN_END = HISTORY_DAYS + 2
WINDOWS = (window(1, FIRST_TRAIN_END), window(2, FIRST_TRAIN_END + EMBARGO_DAYS + FOLD_DAYS))
SEALED_DAYS = 10
SEALED = window(1, FIRST_TRAIN_END + 8, fold_days=SEALED_DAYS)


@cache
def market(seed: int = 7) -> Panel:
    """Eight random walks of 4-hour bars; one lists late, one dies inside a fold, one has a hole."""
    rng = np.random.default_rng(seed)
    bars = (FIRST_TRAIN_END + 2 * (EMBARGO_DAYS + FOLD_DAYS)) * 6 + 12
    count = len(ASSETS)
    shocks = rng.standard_t(5, (bars, count)) * 0.008 + rng.standard_normal((bars, 1)) * 0.006
    close = 100.0 * np.exp(np.cumsum(shocks, axis=0)) * np.exp(rng.normal(0, 2, count))
    opens = np.vstack([close[:1], close[:-1]])
    wick = np.exp(np.abs(rng.standard_normal((2, bars, count))) * 0.003)
    quote = 3e6 * np.exp(rng.standard_normal((bars, count)) * 0.4)
    prices = np.stack(
        [opens, np.maximum(opens, close) * wick[0], np.minimum(opens, close) / wick[1], close, quote / close, quote]
    )
    prices[:, :200, 5] = np.nan
    prices[:, 500:503, 6] = np.nan
    dead = FIRST_TRAIN_END * 6 + 150
    prices[:, dead + 1 :, 7] = np.nan
    funding = np.zeros((2, bars, count))
    funding[0, ::2] = 1e-4
    times = FIRST_MS + np.arange(bars, dtype=np.int64) * BAR_MS
    last = np.full(count, NEVER, dtype=np.int64)
    last[7] = times[dead]
    tier = np.array([1, 1, 2, 2, 2, 2, 2, 2], dtype=np.int64)
    return Panel(times, ASSETS, tier, np.concatenate([prices, funding]), last, BAR_MS)


@dataclass
class Lab:
    """Warm parents for all corpus strategies: calls share nothing, so files may share one.

    Those that want scipy have one of their own: a fork of it costs twice as much.
    """

    parent: WarmParent
    with_scipy: WarmParent
    pool: LocalPool

    def runs(self, source: bytes, windows: tuple[Window, ...], secret: bytes) -> StrategyRuns:
        panel, preload = market(), check_source(source).preload
        parent = self.with_scipy if preload else self.parent
        parent.preload(preload)
        return StrategyRuns(source, panel, Mask.draw(secret, 1, ASSETS, windows), parent, self.pool, True)

    def base(self, runs: StrategyRuns) -> tuple[list[Run], tuple[FoldResult, ...]]:
        base = self.pool.map(runs.fold, WINDOWS)
        panel = runs.panel
        return base, simulate_folds(panel, [run.on_panel(len(panel)) for run in base], WINDOWS)[0]

    def check(self, source: bytes, depth: str, secret: bytes = bytes(32)) -> causality.CausalityReport:
        key = cut_key(secret, 1, hashlib.sha256(source).hexdigest())
        if depth == "lockbox":
            runs = self.runs(source, (SEALED,), secret)
            report, _ = causality.lockbox(runs, SEALED, lambda run: self.sealed_result(runs, run), key, rules=RULES)
            return report
        runs = self.runs(source, WINDOWS, secret)
        base, results = self.base(runs)
        check = {"screen": causality.screen, "confirm": causality.confirm}[depth]
        return check(runs, base, results, WINDOWS, key, rules=RULES)

    def sealed_result(self, runs: StrategyRuns, run: Run) -> FoldResult:
        return simulate_folds(runs.panel, [run.on_panel(len(runs.panel))], [SEALED])[0][0]

    def rate(self, source: bytes, depth: str, secrets: int) -> float:
        """Share of secrets under which the depth catches `source`."""
        return float(np.mean([not self.check(source, depth, bytes([i]) * 32).passed for i in range(secrets)]))


def corpus(folder: str) -> dict[str, bytes]:
    """Name and source of every strategy file of a corpus."""
    home = Path(__file__).parent / folder / "strategies"
    return {path.stem: path.read_bytes() for path in sorted(home.glob("*.py"))}


@contextmanager
def open_lab() -> Iterator[Lab]:
    with WarmParent() as parent, WarmParent() as with_scipy, LocalPool("threads", 2) as pool:
        yield Lab(parent, with_scipy, pool)
