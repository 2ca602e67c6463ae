"""The engine against a second one written from the protocol's text, on markets with every kind of trouble."""

from __future__ import annotations

from functools import lru_cache
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
from engine_markets import random_market, random_weights, span
from reference_engine import Reference, drawdown, sharpe

from autoquant.clock import day_ms
from autoquant.market.grid import FIELDS
from autoquant.market.panel import Panel
from autoquant.oracle import Scenario, blocks, simulate, simulate_folds
from autoquant.oracle.folds import Window
from autoquant.protocol import PROTOCOL, Costs

NO_CAP = Costs(participation_cap=None)
NO_IMPACT = Costs(impact_y=0.0)
NO_HISTORY = Costs(history_rule=False)
LOOSE = Costs(participation_cap=None, history_rule=False, impact_y=3.0)

CASES = [
    # seed, assets, days, hours, first day of the window, costs, capital, multiplier, delay, gross, wild
    (1, 3, 45, 4, 35, PROTOCOL.costs, 1e6, 1.0, 0, 1.0, 0.02),
    (2, 4, 20, 4, 7, PROTOCOL.costs, 1e6, 2.0, 0, 1.0, 0.02),
    (3, 2, 14, 1, 6, PROTOCOL.costs, 1e4, 1.0, 1, 1.0, 0.01),
    (4, 3, 30, 8, 0, PROTOCOL.costs, 1e5, 1.0, 2, 1.0, 0.03),
    (5, 3, 60, 24, 20, PROTOCOL.costs, 1e6, 1.0, 0, 1.0, 0.05),
    (6, 3, 20, 4, 0, NO_CAP, 1e6, 1.0, 0, 1.0, 0.02),
    (7, 3, 20, 4, 8, NO_IMPACT, 1e7, 1.0, 1, 1.0, 0.02),
    (8, 3, 12, 4, 0, NO_HISTORY, 1e6, 1.0, 0, 1.0, 0.02),
    (9, 2, 12, 4, 2, LOOSE, 1e6, 1.0, 0, 4.0, 0.15),
    (10, 1, 20, 12, 0, LOOSE, 1e8, 2.0, 0, 2.0, 0.2),
    (11, 5, 40, 6, 25, PROTOCOL.costs, 1e3, 1.0, 0, 1.0, 0.04),
    (12, 3, 20, 4, 6, LOOSE, 1e5, 1.0, 0, 6.0, 0.1),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"seed{case[0]}")
def test_where_a_block_of_bars_ends_changes_no_bit(case):
    """Settlement, ruin, delays, funding and gaps meet the border of blocks of three bars."""
    seed, assets, days, hours, first_day, costs, capital, multiplier, delay, gross, wild = case
    panel = random_market(seed, assets=assets, days=days, hours=hours, wild=wild)
    windows = [Window(1, 0, 0, *span(panel, first_day * 24 // hours))]
    decisions = [random_weights(seed + 100, panel, gross=gross)]
    plain, late = Scenario(multiplier, delay), Scenario(2.0, delay + 1)

    def numbers(*scenarios):
        results = simulate_folds(panel, decisions, windows, scenarios, costs=costs, capital=capital)
        told = [[result.fills, result.trades, result.ruined, result.turnover, result.equity] for (result,) in results]
        return told, [list(vars(result.bars).values()) for (result,) in results]

    for scenarios in ((plain,), (plain, late)):
        expected = numbers(*scenarios)
        with patch.multiple(blocks, LEAST=3, MOST=3):
            np.testing.assert_equal(numbers(*scenarios), expected)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"seed{case[0]}")
def test_two_engines_agree_to_the_last_digits(case):
    seed, assets, days, hours, first_day, costs, capital, multiplier, delay, gross, wild = case
    panel = random_market(seed, assets=assets, days=days, hours=hours, wild=wild)
    values = random_weights(seed + 100, panel, gross=gross)
    first, stop = first_day * 24 // hours, len(panel.times)
    ours = simulate(
        panel, values, *span(panel, first), costs=costs, capital=capital, cost_multiplier=multiplier, delay_bars=delay
    )
    theirs = Reference(panel, costs, capital, multiplier).run(values, first, stop, delay)

    def close(expected, got):
        np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-12)

    close(theirs.equity, ours.equity)
    close(theirs.daily, ours.daily_returns)
    close(theirs.fee, ours.fee)
    close(theirs.spread, ours.spread)
    close(theirs.impact, ours.impact)
    close(theirs.funding, ours.funding)
    close(theirs.turnover, ours.turnover_sum)
    close(theirs.turnover * 365 * 24 / hours / (stop - first), ours.turnover)
    close(sum(theirs.gross) / len(theirs.gross), ours.mean_gross)
    close(drawdown(theirs.equity), ours.max_drawdown)
    np.testing.assert_allclose(ours.sharpe, sharpe(theirs.daily), rtol=1e-10, atol=1e-12)
    assert (theirs.fills, theirs.trades, theirs.ruined) == (ours.fills, ours.trades, ours.ruined)


def test_the_cases_meet_every_kind_of_trouble():
    met = {"ruin": 0, "settled": 0, "missing": 0, "dead": 0, "inside": 0, "listed": 0}
    for seed, assets, days, hours, first_day, costs, capital, multiplier, delay, gross, wild in CASES:
        panel = random_market(seed, assets=assets, days=days, hours=hours, wild=wild)
        values = random_weights(seed + 100, panel, gross=gross)
        first = first_day * 24 // hours
        result = simulate(
            panel,
            values,
            *span(panel, first),
            costs=costs,
            capital=capital,
            cost_multiplier=multiplier,
            delay_bars=delay,
        )
        met["ruin"] += result.ruined
        met["settled"] += int(np.isin(panel.last_bar, panel.times[first:-1]).sum())
        met["missing"] += int(np.isnan(panel.close[first:]).sum())
        met["dead"] += int((panel.volume[first:] == 0).sum())
        met["inside"] += int((panel.funding_inside[first:] != 0).sum())
        met["listed"] += int(np.isnan(panel.close[first]).sum())
    assert all(met.values()), met


def test_many_folds_and_scenarios_in_one_loop_equal_one_at_a_time():
    panel = random_market(21, assets=4, days=60, hours=4)
    day = 24 * 3_600_000
    starts = [int(panel.times[0]) + offset * day for offset in (0, 12, 30, 41)]
    lengths = [10, 10, 10, 19]  # the last one is longer: a loop of its own
    windows = [Window(n + 1, s, s, s, s + days * day) for n, (s, days) in enumerate(zip(starts, lengths, strict=True))]
    per_fold = [random_weights(50 + n, panel) for n in range(4)]
    scenarios = [Scenario(), Scenario(2.0), Scenario(1.0, 1), Scenario(0.0, 3)]
    together = simulate_folds(panel, per_fold, windows, scenarios)
    for scenario, row in zip(scenarios, together, strict=True):
        for window, values, result in zip(windows, per_fold, row, strict=True):
            alone = simulate(
                panel,
                values,
                window.start_ms,
                window.end_ms,
                cost_multiplier=scenario.cost_multiplier,
                delay_bars=scenario.delay_bars,
            )
            np.testing.assert_array_equal(result.equity, alone.equity)
            np.testing.assert_array_equal(result.times, alone.times)
            np.testing.assert_allclose(alone.impact, result.impact, rtol=1e-12)
            assert (alone.fills, alone.trades) == (result.fills, result.trades)


@pytest.mark.shared
def test_two_engines_agree_on_real_prices(shared):
    names = ["BTCUSDT", "ETHUSDT", "DOGEUSDT", "LUNAUSDT", "FTTUSDT"]
    bars = pd.read_parquet(shared / "data" / "perps_4h.parquet")
    bars = bars[bars.symbol.isin(names)]
    bars = bars.assign(time=pd.to_datetime(bars.open_time, unit="ms", utc=True), symbol=bars.symbol.astype(str))
    bars = bars[(bars.time >= "2022-03-01") & (bars.time < "2022-12-01")]
    frames = {field: bars.pivot(index="time", columns="symbol", values=field) for field in FIELDS}
    rates = pd.read_parquet(shared / "data" / "funding.parquet")
    rates = rates[rates.symbol.isin(names)].rename(
        columns={"symbol": "asset", "calc_time": "time", "funding_rate": "rate"}
    )
    last = {name: frames["volume"][name][frames["volume"][name] > 0].index[-1] for name in frames["close"].columns}
    dying = {name: time for name, time in last.items() if time < frames["close"].index[-1]}
    panel = Panel.from_frames(frames, rates, dict.fromkeys(frames["close"].columns, 2), dying)
    values = np.sign(panel.close / np.roll(panel.close, 90, axis=0) - 1) / len(panel.assets)
    values[:90] = 0.0
    first, stop = panel.row(day_ms("2022-04-15")), panel.row(day_ms("2022-12-01"))
    result = simulate(panel, values, *span(panel, first))
    reference = Reference(panel, PROTOCOL.costs, 1e6, 1.0)
    reference.liquidity = lru_cache(maxsize=None)(reference.liquidity)
    theirs = reference.run(values, first, stop)
    np.testing.assert_allclose(result.equity, theirs.equity, rtol=1e-12, atol=1e-12)
    assert (theirs.fills, theirs.trades) == (result.fills, result.trades)
    assert dying, "a contract should end inside this window"
