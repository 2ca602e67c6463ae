"""Faults that other backtesters had: E01 … E26 are the rows of the shared bug table, each with an input of our own."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from engine_markets import FREE, START, fees, market, random_market, random_weights, span, weights

from autoquant.errors import DataError, OutputError
from autoquant.oracle import simulate
from autoquant.oracle.metrics import daily_returns, max_drawdown, sharpe_ratio, volatility
from autoquant.protocol import Costs

NAN = math.nan
RISING = {"A": [100, 110, 121, 133.1, 146.41, 161.051]}


def flat_except(row, value, rows=6):
    return [value if number == row else 0.0 for number in range(rows)]


def test_E01_an_order_decided_at_a_close_fills_at_the_next_open():
    """INV-01."""
    panel = market(RISING, {"A": [105, 115, 125, 140, 150, 170]})
    result = simulate(panel, weights(panel, A=flat_except(2, 1.0)), *span(panel), costs=FREE)
    assert 146.41 / 133.1 - 1 == pytest.approx(result.total_return)  # in at open 3, out at open 4


def test_E01_the_last_bar_s_signal_never_trades():
    panel = market(RISING)
    quiet = simulate(panel, weights(panel, A=[0, 0, 0, 0, 0, 0]), *span(panel), costs=fees(5))
    late = simulate(panel, weights(panel, A=[0, 0, 0, 0, 0, 1]), *span(panel), costs=fees(5))
    assert quiet.equity.tolist() == late.equity.tolist()
    assert 0 == late.fills


def test_E02_a_position_open_at_the_end_is_marked_and_closed_with_costs():
    panel = market(RISING)
    result = simulate(panel, weights(panel, A=[1, NAN, NAN, NAN, NAN, NAN]), *span(panel), costs=fees(5))
    grown = 161.051 / 110
    assert grown - 5e-4 - grown * 5e-4 == pytest.approx(result.equity[-1])
    assert (1, 1) == (result.fills, result.trades)  # the forced close is neither
    assert 1 + grown / (grown - 5e-4) == pytest.approx(result.turnover_sum)  # but it is turnover


def test_E03_exits_follow_the_same_fill_rule_as_entries():
    panel = market({"A": [100, 100, 100, 200, 50, 50]}, {"A": [100, 100, 100, 300, 50, 50]})
    into = simulate(panel, weights(panel, A=flat_except(1, 1.0)), *span(panel), costs=FREE)  # in at open 2, out at 3
    assert 2.0 == pytest.approx(into.equity[-1])
    short = simulate(panel, weights(panel, A=flat_except(3, -1.0)), *span(panel), costs=FREE)  # in at open 4, out at 5
    assert 1.0 == pytest.approx(short.equity[-1])


def test_E04_no_fill_at_the_signal_s_own_close():
    panel = market({"A": [100, 200, 200, 200]}, {"A": [100, 200, 200, 200]})
    result = simulate(panel, weights(panel, A=[1, 1, 1, 1]), *span(panel), costs=FREE)
    assert 1.0 == result.equity[-1]  # a fill at close 0 would have doubled it


def test_E05_equity_stays_finite_when_a_contract_is_delisted():
    panel = market(
        {"A": [100, 100, 90, NAN, NAN, NAN], "B": [10.0] * 6}, last_bar={"A": pd.Timestamp(START) + pd.Timedelta("8h")}
    )
    result = simulate(panel, weights(panel, A=0.5, B=0.5), *span(panel), costs=fees(10))
    assert np.isfinite(result.equity).all()
    settlement = result.bars.fee[2]
    assert 0.45 * 10e-4 < settlement < 0.55 * 10e-4 + 1e-4


def test_E06_a_delisted_contract_leaves_the_portfolio_at_its_last_close():
    """INV-04."""
    panel = market({"A": [100, 100, 80, NAN, NAN, NAN]}, last_bar={"A": pd.Timestamp(START) + pd.Timedelta("8h")})
    result = simulate(panel, weights(panel, A=1.0), *span(panel), costs=FREE)
    assert [1, 1, 0.8, 0.8, 0.8, 0.8] == pytest.approx(result.equity.tolist())
    assert 1 / 6 == pytest.approx(result.mean_gross)  # held at one close only
    assert 0.0 == result.bars.price_pnl[3:].sum()


def test_E07_a_collapse_is_a_price_path_and_is_lost_in_full():
    panel = market({"L": [80, 80, 40, 1, 0.0001, NAN]}, last_bar={"L": pd.Timestamp(START) + pd.Timedelta("16h")})
    result = simulate(panel, weights(panel, L=[1, NAN, NAN, NAN, NAN, NAN]), *span(panel), costs=FREE)
    assert 0.0001 / 80 == pytest.approx(result.equity[-1])
    assert not result.ruined


def test_E08_trading_does_not_go_on_after_ruin():
    """INV-05."""
    panel = market({"A": [100, 100, 300, 300, 100, 50]})
    result = simulate(panel, weights(panel, A=-1.0), *span(panel), costs=fees(5))
    assert [0, 0, 0, 0] == result.equity[2:].tolist()
    assert 0.0 == result.bars.fee[2:].sum()
    assert result.ruined


def test_E09_returns_after_ruin_are_minus_one_once_then_zero():
    bars = 6 * 4
    prices = [100.0] * 8 + [500.0] * (bars - 8)
    panel = market({"A": prices})
    result = simulate(panel, weights(panel, A=-1.0), *span(panel), costs=FREE)
    assert [0, -1, 0, 0] == result.daily_returns.tolist()
    assert math.isfinite(result.sharpe)
    assert result.sharpe < 0


def test_E10_a_short_can_lose_all_and_no_more():
    panel = market({"A": [100, 100, 6500, 6500]})
    result = simulate(panel, weights(panel, A=-1.0), *span(panel), costs=FREE)
    assert -1.0 == result.total_return
    assert -1.0 == pytest.approx(result.price_pnl)  # the 63 beyond it is written off


def test_E11_ruin_is_looked_for_at_opens_and_closes_not_inside_a_bar():
    panel = market({"A": [100, 100, 100, 100]})
    spike = panel.high.copy()
    spike[2] = 1000.0
    cube = panel.cube.copy()
    cube[1] = spike
    from autoquant.market.panel import Panel

    spiked = Panel(panel.times, panel.assets, panel.tier, cube, panel.last_bar, panel.bar_ms)
    result = simulate(spiked, weights(panel, A=-1.0), *span(panel), costs=FREE)
    assert 1.0 == result.equity[-1]


def test_E12_a_first_loss_is_a_drawdown_and_it_is_a_fraction_of_the_peak():
    panel = market({"A": [100, 100, 80, 80]}, {"A": [100, 80, 80, 80]})
    result = simulate(panel, weights(panel, A=[1, NAN, NAN, NAN]), *span(panel, 1), costs=FREE)
    assert 0.8 == pytest.approx(result.equity[0])
    assert 0.2 == pytest.approx(result.max_drawdown)
    assert 0.25 == pytest.approx(max_drawdown([2.0, 4.0, 3.0]))


def test_E13_a_drawdown_does_not_guess_whether_it_was_given_returns():
    levels = [5000.0, 5200.0, 4800.0]
    assert 400 / 5200 == pytest.approx(max_drawdown(levels))


def test_E14_a_riskless_path_claims_no_ratio():
    assert 0.0 == sharpe_ratio([0.001] * 300)
    assert 0.0 == sharpe_ratio([0.0] * 300)
    assert 0.0 == sharpe_ratio([-0.02] * 300)
    assert 0.0 == sharpe_ratio([0.05])
    assert 0.0 == volatility([0.05])


def test_E15_ratios_stay_finite_on_a_path_that_touches_zero():
    returns = daily_returns(np.array([1.0, 0.0, 0.0]), np.array([0, 1, 2]))
    assert [0.0, -1.0, 0.0] == returns.tolist()
    assert math.isfinite(sharpe_ratio(returns))


@pytest.mark.parametrize("hours", [1, 2, 4, 6, 8, 12, 24])
def test_E16_annualisation_follows_the_bar_s_length(hours):
    days = 8
    daily = np.exp(np.cumsum([0.01, -0.02, 0.015, 0.0, 0.02, -0.01, 0.01, 0.005]))
    prices = np.repeat(100 * daily, 24 // hours)
    panel = market({"A": prices}, hours=hours)
    result = simulate(panel, weights(panel, A=[1.0] + [NAN] * (len(prices) - 1)), *span(panel), costs=FREE)
    assert days == len(result.daily_returns)
    assert result.turnover_sum * 365 / days == pytest.approx(result.turnover)
    moves = daily[1:] / daily[:-1] - 1
    if hours == 24:  # the entry takes the whole first bar
        moves[0] = 0.0
    assert moves.tolist() == pytest.approx(result.daily_returns[1:].tolist(), abs=1e-12)
    assert result.daily_returns.mean() / result.daily_returns.std(ddof=1) * math.sqrt(365) == pytest.approx(
        result.sharpe
    )


def test_E17_turnover_is_two_sided():
    panel = market({"A": [100.0] * 6, "B": [100.0] * 6})
    result = simulate(panel, weights(panel, A=[0.5, 1, 0, 0, 0, 0], B=[0.5, 0, 1, 1, 0, 0]), *span(panel), costs=FREE)
    assert 1.0 + 1.0 + 2.0 + 0.0 + 1.0 == pytest.approx(result.turnover_sum)


@pytest.mark.parametrize(("side", "rate", "sign"), [(1, 1e-4, -1), (-1, 1e-4, 1), (1, -1e-4, 1), (-1, -1e-4, -1)])
def test_E18_long_pays_and_short_receives_a_positive_rate(side, rate, sign):
    panel = market({"A": [100.0] * 4}, start="2021-03-01 16:00", funding=[("A", "2021-03-02 00:00", rate)])
    result = simulate(panel, weights(panel, A=float(side)), *span(panel), costs=FREE)
    assert sign * 1e-4 == pytest.approx(result.funding)
    assert result.funding == pytest.approx(result.total_return)


def test_E19_a_daily_bar_pays_every_settlement_inside_it():
    instants = [("A", f"2021-03-03 {hour:02d}:00", 1e-4) for hour in (0, 8, 16)]
    panel = market({"A": [100.0] * 4}, hours=24, funding=instants)
    result = simulate(panel, weights(panel, A=[1, NAN, NAN, NAN]), *span(panel), costs=FREE)
    assert -3e-4 == pytest.approx(result.funding)
    six_hours = market({"A": [100.0] * 16}, hours=6, funding=instants)
    result = simulate(six_hours, weights(six_hours, A=[1] + [NAN] * 15), *span(six_hours), costs=FREE)
    assert -3e-4 == pytest.approx(result.funding)


def test_E20_funding_stamps_with_jitter_belong_to_their_minute_and_odd_instants_count():
    stamps = ["2021-03-02 08:00:00.011", "2021-03-02 09:13:00", "2021-03-02 15:59:59.990"]
    panel = market({"A": [100.0] * 20}, funding=[("A", stamp, 1e-4) for stamp in stamps])
    rows = panel.times - pd.Timestamp("2021-03-02").value // 1_000_000
    assert [8, 16] == (rows[panel.funding_at_open[:, 0] != 0] // 3_600_000).tolist()
    result = simulate(panel, weights(panel, A=[1] + [NAN] * 19), *span(panel), costs=FREE)
    assert -3e-4 == pytest.approx(result.funding)


def test_E20_two_rates_at_one_minute_are_refused():
    twice = [("A", "2021-03-02 08:00:00.011", 1e-4), ("A", "2021-03-02 08:00:00", 1e-4)]
    with pytest.raises(DataError, match="two rates"):
        market({"A": [100.0] * 10}, funding=twice)


def test_E21_times_are_utc_whatever_zone_they_are_written_in():
    panel = random_market(3, days=40)  # March 2021: the clocks of Berlin jump inside
    frame = pd.DataFrame(random_weights(4, panel), index=panel.index(), columns=list(panel.assets))
    utc = simulate(panel, frame, *span(panel, 60))
    berlin = simulate(
        panel, frame.tz_convert("Europe/Berlin"), pd.Timestamp(span(panel, 60)[0], unit="ms", tz="UTC"), span(panel)[1]
    )
    naive = simulate(panel, frame.tz_localize(None), *span(panel, 60))
    assert utc.equity.tolist() == berlin.equity.tolist() == naive.equity.tolist()
    assert np.int64 == panel.times.dtype
    assert (np.diff(panel.times) > 0).all()


def test_E22_doubled_and_unsorted_rows_are_refused():
    index = pd.to_datetime(["2021-03-01 00:00", "2021-03-01 04:00", "2021-03-01 04:00"])
    from autoquant.market.grid import FIELDS
    from autoquant.market.panel import Panel

    for broken in (index, index[[1, 0]]):
        frame = pd.DataFrame({"A": np.ones(len(broken))}, index=broken)
        with pytest.raises(DataError):
            Panel.from_frames(dict.fromkeys(FIELDS, frame), None, {"A": 1}, {})
    panel = market({"A": [100.0] * 6})
    doubled = weights(panel, A=1.0)
    with pytest.raises(OutputError, match="two rows"):
        simulate(panel, pd.concat([doubled, doubled.iloc[:1]]), *span(panel), costs=FREE)


def test_E22_rows_of_weights_in_another_order_are_sorted_by_their_time():
    panel = market(RISING)
    frame = weights(panel, A=[0, 1, 0, 1, 0, 0])
    assert (
        simulate(panel, frame, *span(panel), costs=FREE).equity.tolist()
        == simulate(panel, frame.iloc[::-1], *span(panel), costs=FREE).equity.tolist()
    )


def test_E23_nothing_fills_in_a_bar_without_volume_and_the_order_is_dropped():
    """INV-03."""
    panel = market({"A": [100, 100, 100, 100, 200, 200]}, volume={"A": [1e6, 1e6, 0, 1e6, 1e6, 1e6]})
    result = simulate(panel, weights(panel, A=[0, 1, NAN, NAN, NAN, NAN]), *span(panel), costs=fees(5))
    assert [1.0] * 6 == result.equity.tolist()
    assert 0 == result.fills


def test_E23_a_market_without_daily_volume_is_no_free_market():
    days = 12
    quiet = market({"A": [100.0] * (6 * days)}, quote_volume={"A": [0.0] * (6 * days)})
    result = simulate(quiet, weights(quiet, A=1.0), *span(quiet, 6 * 8))
    assert 0 == result.fills


def test_E24_weights_are_fractions_of_the_equity_of_the_moment():
    panel = market({"A": [100, 100, 200, 200, 400, 400]})
    result = simulate(panel, weights(panel, A=0.5), *span(panel), costs=FREE)
    assert 1.5 * 1.5 == pytest.approx(result.equity[-1])  # a fixed stake would end at 1 + 0.5 + 0.5
    doubled = simulate(panel, weights(panel, A=0.5), *span(panel), costs=FREE, capital=2e6)
    assert result.equity.tolist() == doubled.equity.tolist()


def test_E25_units_are_fractional():
    panel = market({"BTC": [61234.5, 61234.5, 70000.0, 70000.0]})
    result = simulate(panel, weights(panel, BTC=[1, NAN, NAN, NAN]), *span(panel), costs=FREE, capital=1000)
    assert 70000 / 61234.5 == pytest.approx(result.equity[-1], rel=1e-14)


def test_E26_daily_rows_are_not_stretched_over_the_bars_of_their_day():
    panel = random_market(5, days=10)
    daily = pd.DataFrame(1.0, index=panel.index()[::6], columns=list(panel.assets))
    with pytest.raises(OutputError, match="no row at"):
        simulate(panel, daily, *span(panel, 12))


def test_E26_history_of_a_day_is_used_from_the_next_day_on():
    bars = 6 * 12
    calm, late = [1e6] * bars, [1e6] * bars
    late[6 * 9 : 6 * 10] = [5e9] * 6  # volume of day 9
    panels = [market({"A": [100.0, 101.0] * (bars // 2)}, quote_volume={"A": v}) for v in (calm, late)]
    costs = Costs(participation_cap=None)
    calm_run, late_run = (simulate(p, weights(p, A=1.0), *span(p, 6 * 9, 6 * 10), costs=costs) for p in panels)
    assert calm_run.equity[:-1].tolist() == late_run.equity[:-1].tolist()
