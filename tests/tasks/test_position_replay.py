"""From positions to profit: one vectorised pass comes to what a loop over the bars comes to."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from autoquant.tasks.replay import Replay, Trades, path, replay_multi, replay_single
from autoquant.tasks.spec import task

PRICES = st.floats(1.0, 100_000.0)
POSITIONS = st.one_of(st.sampled_from([-1.0, 0.0, 1.0]), st.floats(-10_000.0, 10_000.0).map(lambda x: round(x, 4)))


@st.composite
def cases(draw: st.DrawFn, legs: int) -> tuple[Trades, list[NDArray[np.float64]]]:
    """Closes of some bars, and rows of trades anywhere on them: none, on the first bar, on the last, on every one."""
    length = draw(st.integers(1, 40))
    closes = [np.array(draw(st.lists(PRICES, min_size=length, max_size=length))) for _ in range(legs)]
    bars = sorted(draw(st.sets(st.integers(0, length - 1))))
    rows = [[draw(POSITIONS) for _ in range(legs)] for _ in bars]
    return Trades(np.array(bars, np.int64), np.array(rows, float).reshape(len(bars), legs)), closes


def by_loop(trades: Trades, closes: list[NDArray[np.float64]]) -> Replay:
    """The replay as tasks.md says it, bar by bar."""
    legs = len(closes)
    rows = dict(zip(trades.bars.tolist(), trades.positions.tolist(), strict=True))
    held, pnls, total, peak, drawdown = [0.0] * legs, [], 0.0, 0.0, 0.0
    costs, changes, entries, violations, worst, bars_held = 0.0, [0] * legs, 0, 0, 0.0, 0
    for i in range(len(closes[0])):
        wanted = rows.get(i, held)
        pnl = 0.0
        for leg in range(legs):
            change = abs(wanted[leg] - held[leg])
            cost = 0.00009 * closes[leg][i] * change
            pnl -= cost
            costs += cost
            changes[leg] += change != 0.0
            if i:
                pnl += wanted[leg] * (closes[leg][i] - closes[leg][i - 1])
        entries += legs == 2 and not any(held) and all(wanted)
        held = wanted
        bars_held += any(held)
        values = [position * close[i] for position, close in zip(held, closes, strict=True)]
        gross = sum(abs(value) for value in values)
        share = abs(sum(values)) / gross if gross and legs == 2 else 0.0
        worst, violations = max(worst, share), violations + (share > 0.85)
        pnls.append(pnl)
        total += pnl
        peak = max(peak, total)
        drawdown = max(drawdown, peak - total)
    spread = float(np.std(pnls))
    sharpe = float(np.mean(pnls)) / spread * math.sqrt(252 * 375) if spread else 0.0
    return Replay(max(changes), total, drawdown, sharpe, costs, bars_held, entries, violations, worst, tuple(changes))


def assert_same(expected: Replay, found: Replay, size: float) -> None:
    """Counts equal; sums to the last few bits of the largest sum on the way."""
    close = {"rel": 1e-9, "abs": 1e-10 * size}
    assert (expected.trades, expected.leg_trades, expected.entries) == (found.trades, found.leg_trades, found.entries)
    assert expected.bars_held == found.bars_held
    assert pytest.approx(expected.pnl, **close) == found.pnl
    assert pytest.approx(expected.costs, **close) == found.costs
    assert pytest.approx(expected.max_drawdown, **close) == found.max_drawdown
    assert pytest.approx(expected.sharpe, rel=1e-6, abs=1e-6) == found.sharpe
    assert pytest.approx(expected.worst_exposure, abs=1e-12) == found.worst_exposure


@settings(deadline=None)
@given(cases(1))
def test_one_leg_is_what_a_loop_over_the_bars_gives(case) -> None:
    trades, (close,) = case
    assert_same(by_loop(trades, [close]), replay_single(trades, close), 1.0 + np.abs(trades.positions).sum() * 1e5)


@settings(deadline=None)
@given(cases(2))
def test_two_legs_are_what_a_loop_over_the_bars_gives(case) -> None:
    trades, (first, second) = case
    expected, found = by_loop(trades, [first, second]), replay_multi(trades, first, second)
    assert_same(expected, found, 1.0 + np.abs(trades.positions).sum() * 1e5)
    if abs(expected.worst_exposure - 0.85) > 1e-9:
        assert expected.violations == found.violations


@settings(deadline=None)
@given(cases(1))
def test_a_leg_beside_a_flat_one_is_worth_what_it_is_alone(case) -> None:
    trades, (close,) = case
    beside = Trades(trades.bars, np.column_stack([trades.positions, np.zeros(len(trades.bars))]))
    alone, both = replay_single(trades, close), replay_multi(beside, close, np.full(len(close), 7.0))
    assert (alone.pnl, alone.sharpe, alone.max_drawdown) == (both.pnl, both.sharpe, both.max_drawdown)
    assert ((alone.trades, 0), 0) == (both.leg_trades, both.entries)
    assert (1.0 if both.bars_held else 0.0) == both.worst_exposure
    assert both.bars_held == both.violations


@settings(deadline=None)
@given(cases(2), st.sampled_from([0.25, 2.0, 8.0]))
def test_size_scales_points_and_leaves_sharpe_and_exposure(case, size) -> None:
    trades, closes = case
    one, many = (replay_multi(t, *closes) for t in (trades, Trades(trades.bars, size * trades.positions)))
    assert (size * one.pnl, size * one.costs, size * one.max_drawdown) == (many.pnl, many.costs, many.max_drawdown)
    assert (one.trades, one.entries) == (many.trades, many.entries)
    assert pytest.approx(one.sharpe, rel=1e-9) == many.sharpe
    assert pytest.approx(one.worst_exposure, abs=1e-12) == many.worst_exposure


@settings(deadline=None)
@given(cases(2))
def test_a_row_that_changes_nothing_changes_nothing(case) -> None:
    trades, closes = case
    every = np.column_stack([path(trades, leg, len(closes[0])) for leg in (0, 1)])
    spelt_out = Trades(np.arange(len(every)), every)
    assert replay_multi(trades, *closes) == replay_multi(spelt_out, *closes)


def trades_of(*rows: tuple[float, ...]) -> Trades:
    table = np.array(rows, float)
    return Trades(table[:, 0].astype(np.int64), table[:, 1:])


CLOSE = np.array([100.0, 101.0, 103.0, 102.0, 106.0])
NONE = Trades(np.empty(0, np.int64), np.empty((0, 1)))


def test_a_position_earns_from_the_close_before_its_bar() -> None:
    assert pytest.approx(106.0 - 101.0 - 0.00009 * 103.0) == replay_single(trades_of((2, 1)), CLOSE).pnl


def test_a_short_position_earns_what_a_long_one_loses_before_costs() -> None:
    long, short = (replay_single(trades_of((1, side)), CLOSE) for side in (1, -1))
    assert pytest.approx(-(short.pnl + short.costs)) == long.pnl + long.costs
    assert short.costs == long.costs


def test_a_reversal_pays_for_two_units_and_is_one_trade() -> None:
    found = replay_single(trades_of((1, 1), (3, -1)), CLOSE)
    assert 2 == found.trades
    assert pytest.approx(0.00009 * (101.0 + 2 * 102.0)) == found.costs


def test_a_trade_on_the_first_bar_earns_nothing_there_and_pays() -> None:
    found = replay_single(trades_of((0, 1)), CLOSE)
    assert pytest.approx(6.0 - 0.00009 * 100.0) == found.pnl
    assert 5 == found.bars_held


def test_a_trade_on_the_last_bar_earns_its_bar_and_pays() -> None:
    assert pytest.approx(4.0 - 0.00009 * 106.0) == replay_single(trades_of((4, 1)), CLOSE).pnl


@pytest.mark.parametrize("length", [1, 2, 5])
def test_no_trades_are_all_zero(length) -> None:
    assert Replay(0, 0.0, 0.0, 0.0, 0.0, 0, leg_trades=(0,)) == replay_single(NONE, CLOSE[:length])
    two = Trades(NONE.bars, np.empty((0, 2)))
    assert Replay(0, 0.0, 0.0, 0.0, 0.0, 0, leg_trades=(0, 0)) == replay_multi(two, CLOSE[:length], CLOSE[:length])


def test_rows_of_zeros_are_all_zero_too() -> None:
    assert replay_single(NONE, CLOSE) == replay_single(trades_of((0, 0), (3, 0)), CLOSE)


def test_drawdown_counts_a_loss_from_the_very_start() -> None:
    falling = np.array([100.0, 90.0, 95.0])
    assert pytest.approx(10.0 + 0.00009 * 90.0) == replay_single(trades_of((1, 1)), falling).max_drawdown


def test_drawdown_is_the_deepest_fall_from_a_peak_and_not_the_last() -> None:
    waves = np.array([100.0, 120.0, 90.0, 130.0, 125.0])
    assert pytest.approx(30.0) == replay_single(trades_of((1, 1)), waves).max_drawdown


def test_sharpe_is_mean_over_population_deviation_over_all_bars_and_a_year_of_minutes() -> None:
    pnl = np.array([0.0, 1.0 - 0.00909, 2.0, -1.0, 4.0])
    assert pytest.approx(pnl.mean() / pnl.std() * math.sqrt(94_500)) == replay_single(trades_of((1, 1)), CLOSE).sharpe


def test_sharpe_is_zero_where_nothing_moves() -> None:
    assert 0.0 == replay_single(trades_of((0, 1)), np.array([100.0])).sharpe


def test_each_leg_pays_for_itself() -> None:
    found = replay_multi(trades_of((1, 1, -2)), np.full(4, 100.0), np.full(4, 50.0))
    assert pytest.approx(0.00009 * (100.0 + 2 * 50.0)) == found.costs
    assert pytest.approx(-found.costs) == found.pnl


def test_trades_are_those_of_the_busier_leg() -> None:
    found = replay_multi(trades_of((0, 1, -1), (1, 1, 0), (3, 0, -1)), CLOSE, CLOSE)
    assert (3, (2, 3)) == (found.trades, found.leg_trades)


@pytest.mark.parametrize(
    ("rows", "entries"),
    [
        ([(1, 1, -1)], 1),
        ([(0, 1, -1)], 1),
        ([(1, 1, -1), (2, 0, 0), (3, -1, 1)], 2),
        ([(1, 1, -1), (2, -1, 1)], 1),
        ([(1, 1, 0), (2, 1, -1)], 0),
        ([(1, 1, 0)], 0),
        ([(1, 1, -1), (2, 0, -1), (3, 1, -1)], 1),
        ([(1, 0.5, -0.25)], 1),
    ],
    ids=["in", "in on the first bar", "twice", "reversal", "leg by leg", "one leg", "half out and in", "any size"],
)
def test_an_entry_takes_both_legs_from_flat_on_one_bar(rows, entries) -> None:
    assert entries == replay_multi(trades_of(*rows), CLOSE, CLOSE).entries


def test_the_published_counts_are_entries_and_exits_with_the_last_spread_open() -> None:
    published = task("medium").published
    assert published.trades == 2 * published.entries - 1
    rows = [(k, (-1) ** k * (k % 2 == 0), -((-1) ** k) * (k % 2 == 0)) for k in range(5)]
    found = replay_multi(trades_of(*rows), CLOSE, CLOSE)
    assert (5, 3) == (found.trades, found.entries)


@pytest.mark.parametrize(
    ("long", "short", "violations"),
    [(37, -3, 0), (38, -3, 4), (-38, 3, 4), (1, 0, 4), (1, 1, 4), (1, -1, 0), (0, 0, 0), (9, -1, 0)],
)
def test_a_violation_is_a_net_share_above_the_limit_and_its_slack(long, short, violations) -> None:
    even = np.full(5, 100.0)
    assert violations == replay_multi(trades_of((1, long, short)), even, even).violations


def test_exposure_is_looked_at_on_every_bar_not_only_where_one_trades() -> None:
    first, second = np.array([10.0, 10.0, 10.0, 2_000.0, 10.0]), np.full(5, 10.0)
    found = replay_multi(trades_of((1, 1, -1)), first, second)
    assert 1 == found.violations
    assert pytest.approx(1990.0 / 2010.0) == found.worst_exposure


def test_the_path_before_the_first_row_is_flat() -> None:
    assert [0.0, 0.0, 2.0, 2.0, -1.0] == path(trades_of((2, 2), (4, -1)), 0, 5).tolist()
