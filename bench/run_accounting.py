"""Accounts of one path and of six folds, and minute replays, beside other libraries on the same weights.

Accounts are worked out twice: by numpy, as a race does, and compiled, as placebo races do where the extra `fast` is
installed (`uv run --extra fast bench/run.py`). Compiling is not timed: it happens once per process.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from bench_engine import plain_loop, slow_weights
from bench_tasks import trades
from run_rows import Rivals, Row, in_turn, seconds

from autoquant.market.grid import NEVER
from autoquant.market.index_synthetic import synthetic_indices
from autoquant.market.indices import SPLIT, split_at
from autoquant.market.panel import Panel
from autoquant.oracle import Scenario, kernel, simulate_folds, simulation
from autoquant.oracle.folds import Window
from autoquant.oracle.simulation import decision_rows
from autoquant.oracle.tape import build_tape
from autoquant.protocol import Costs
from autoquant.tasks.replay import COST_RATE, Replay, Trades, path, replay_multi, replay_single

BAR = 3_600_000
LINEAR = Costs(impact_y=0.0, participation_cap=None, history_rule=False)
TOLERANCE = 1e-9
PATHS = (2_500, 57_000)
FOLDS, FOLD_BARS, HISTORY = 6, 9_500, 31 * 24
LEVELS = tuple(Scenario(level) for level in (0.0, 1.0, 2.0, 3.0))
OTHERS = ("vectorbt", "numpy loop", "numba loop")


def market(bars: int, assets: int = 20, *, funding: bool = False) -> Panel:
    """Random prices, hour by hour."""
    rng = np.random.default_rng(0)
    times = BAR * np.arange(bars)
    close = 100 * np.exp(rng.normal(0, 0.003, (bars, assets)).cumsum(axis=0))
    open_ = np.concatenate([close[:1], close[:-1]]) * np.exp(rng.normal(0, 1e-4, close.shape))
    volume = rng.lognormal(12, 1, close.shape)
    rates = np.where((times % (8 * BAR) == 0)[:, None] & funding, rng.normal(1e-4, 1e-4, close.shape), 0.0)
    high, low = np.maximum(open_, close), np.minimum(open_, close)
    cube = np.stack([open_, high, low, close, volume, volume * close, rates, 0 * rates])
    tier = np.array([1, 1, *[2] * (assets - 2)])
    return Panel(times, tuple(f"A{i:02d}" for i in range(assets)), tier, cube, np.full(assets, NEVER), BAR)


def long_only(panel: Panel) -> np.ndarray:
    """Weights (T, A) that every library can hold: nothing short, a fifth in cash."""
    weights = np.abs(slow_weights(panel))
    return 0.8 * weights / np.maximum(weights.sum(axis=1, keepdims=True), 1.0)


def whole(panel: Panel) -> Window:
    """All bars but the first, whose weights decide the first fill."""
    first = int(panel.times[1])
    return Window(1, first, first, first, int(panel.times[-1]) + BAR)


def accounting(rivals: Rivals, repeats: int) -> list[Row]:
    """One path of each length beside each library, then the folds beside vectorbt's time for one path."""
    return [row for bars in PATHS for row in _one_path(rivals, bars, repeats)] + _folds(rivals, repeats)


def _one_path(rivals: Rivals, bars: int, repeats: int) -> list[Row]:
    panel = market(bars + 1)
    weights, window = long_only(panel), whole(panel)
    spread = np.where(panel.tier == 1, LINEAR.half_spread_tier1_bp, LINEAR.half_spread_tier2_bp)
    rate = 1e-4 * (LINEAR.taker_bp + spread)
    file = rivals.put("path", open=panel.open[1:], close=panel.close[1:], weights=weights[:-1], rate=rate)

    def ours(compiled: bool) -> float:
        simulation._tape.cache_clear()  # the market is new, as it is to the others
        return seconds(lambda: simulate_folds(panel, [weights], [window], costs=LINEAR, compiled=compiled))

    what = f"accounts, 20 × {bars:,} bars, one path, linear costs"
    rows = []
    for name, compiled in _ways():
        equity = simulate_folds(panel, [weights], [window], costs=LINEAR, compiled=compiled)[0][0].equity
        work = partial(ours, compiled)
        rows += [_beside(rivals, "accounting", what + name, who, file, work, equity, repeats) for who in OTHERS]
    return rows


def _ways() -> list[tuple[str, bool]]:
    """Name and whether it is compiled; by numpy alone without the extra `fast`."""
    return [("", False), (", compiled", True)] if kernel.is_installed() and kernel.load().compiled else [("", False)]


def _beside(
    rivals: Rivals, part: str, what: str, who: str, file: str, ours: Callable[[], float], equity: np.ndarray,
    repeats: int,
) -> Row:  # fmt: skip
    said = rivals.run(who, file)
    if "reason" in said:
        return Row(part, what, in_turn(repeats, ours)[0], who, note=f"left out: {said['reason']}")
    gap = float(np.abs(said["equity"][:-1] / equity[:-1] - 1).max())  # ours closes its last bar flat
    mine, theirs = in_turn(repeats, ours, lambda: float(rivals.run(who, file)["seconds"]))
    target = "< 1" if who == "vectorbt" else ""
    return Row(part, what, mine, who, theirs, mine / theirs, target, f"equity equal to {gap:.0e}", gap > TOLERANCE)


def _folds(rivals: Rivals, repeats: int) -> list[Row]:
    bars = FOLDS * FOLD_BARS
    panel = market(HISTORY + bars, funding=True)
    weights = long_only(panel)
    starts = [BAR * (HISTORY + fold * FOLD_BARS) for fold in range(FOLDS)]
    windows = [Window(n, 0, start, start, start + FOLD_BARS * BAR) for n, start in enumerate(starts, start=1)]
    arrays = [weights] * FOLDS
    results = simulate_folds(panel, arrays, windows, LEVELS)
    tape = build_tape(panel, windows)
    decisions = [decision_rows(panel, window, weights) for window in windows]
    ends = [plain_loop(tape, decisions, level) for level in LEVELS[1:2]]
    gap = max(abs(result.equity[-1] - end) for result, end in zip(results[1], ends[0], strict=True))

    def kept(compiled: bool = False) -> float:
        return seconds(lambda: simulate_folds(panel, arrays, windows, LEVELS, compiled=compiled))

    def new() -> float:
        simulation._tape.cache_clear()
        return kept()

    what = f"accounts, six folds of {FOLD_BARS:,} bars at once, impact, funding, four cost levels"
    note = f"end equal to a plain loop's to {gap:.0e}"
    loop_ms, engine_ms = in_turn(
        2, lambda: seconds(lambda: [plain_loop(tape, decisions, level) for level in LEVELS]), kept
    )
    rows = [Row("accounting", what, engine_ms, "numpy loop over the same", loop_ms, engine_ms / loop_ms, "", note, gap > TOLERANCE)]  # noqa: E501  # fmt: skip
    spread = np.where(panel.tier == 1, LINEAR.half_spread_tier1_bp, LINEAR.half_spread_tier2_bp)
    inside = slice(HISTORY, None)
    file = rivals.put(
        "folds", open=panel.open[inside], close=panel.close[inside], weights=weights[HISTORY - 1 : -1],
        rate=1e-4 * (LINEAR.taker_bp + spread),
    )  # fmt: skip
    beside = f"vectorbt, one path of {bars:,} bars, one cost level"
    said = rivals.run("vectorbt", file)
    if "reason" in said:
        return [*rows, Row("accounting", what, engine_ms, beside, note=f"left out: {said['reason']}")]
    cold, theirs = in_turn(repeats, new, lambda: float(rivals.run("vectorbt", file)["seconds"]))
    rows.append(Row("accounting", what + ", market new", cold, beside, theirs, cold / theirs))
    for name, compiled in _ways():
        work = partial(kept, compiled)
        gap = max(
            float(np.abs(one.equity - other.equity).max())
            for one, other in zip(
                results[1], simulate_folds(panel, arrays, windows, LEVELS, compiled=compiled)[1], strict=True
            )
        )
        ours, theirs = in_turn(repeats, work, lambda: float(rivals.run("vectorbt", file)["seconds"]))
        told = what + ", market kept from the attempt before" + name
        rows.append(
            Row(
                "accounting",
                told,
                ours,
                beside,
                theirs,
                ours / theirs,
                "≤ 0.25",
                f"equity equal to {gap:.0e}",
                gap > TOLERANCE,
            )
        )
    return rows


def replays(rivals: Rivals, repeats: int) -> list[Row]:
    """One leg beside two libraries, and two legs with the exposure of every bar, at the graded track's size."""
    bars = split_at(synthetic_indices(), SPLIT)[0]
    first, second = bars.close("nifty"), bars.close("banknifty")
    both = trades(len(first))
    one = Trades(both.bars, both.positions[:, :1])
    held = np.append(path(one, 0, len(first))[1:], 0.0)  # a broker's position from this close on
    change = np.diff(held, prepend=0.0)
    expected = float((held[:-1] * np.diff(first)).sum() - COST_RATE * (np.abs(change) * first).sum())
    file = rivals.put("replay", close=first, position=held, rate=np.array(COST_RATE))
    ways: list[tuple[str, Callable[[], Replay], str]] = [
        ("one leg", lambda: replay_single(one, first), "≤ 25 ms"),
        ("two legs, exposure at every bar", lambda: replay_multi(both, first, second), "≤ 60 ms"),
    ]
    rows = []
    for name, work, target in ways:
        for who in ("vectorbt replay", "backtesting.py replay"):
            what = f"minute replay, {len(first):,} bars, {name}"
            said = rivals.run(who, file)
            mine = lambda work=work: seconds(work)  # noqa: E731
            if "reason" in said:
                rows.append(Row("replay", what, in_turn(repeats, mine)[0], who, None, None, target, f"left out: {said['reason']}"))  # noqa: E501  # fmt: skip
                continue
            gap = abs(said["pnl"] / expected - 1)
            most = 1e-6 if who.startswith("vectorbt") else 1e-3  # backtesting.py closes and opens in two orders
            times = repeats if who.startswith("vectorbt") else 1
            ours_ms, theirs_ms = in_turn(times, mine, lambda who=who: float(rivals.run(who, file)["seconds"]))
            note = f"theirs: one leg, pnl equal to {gap:.0e}"
            rows.append(Row("replay", what, ours_ms, who.removesuffix(" replay"), theirs_ms, ours_ms / theirs_ms, target, note, gap > most))  # noqa: E501  # fmt: skip
    return rows
