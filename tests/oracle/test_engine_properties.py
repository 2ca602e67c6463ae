"""What has to hold for any weights on any market, and what each special bar does."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from engine_markets import FREE, START, fees, market, random_market, random_weights, span, weights
from hypothesis import given, settings
from hypothesis import strategies as st

from autoquant.errors import DataError, OutputError
from autoquant.oracle import Scenario, simulate, simulate_folds
from autoquant.oracle.folds import Window
from autoquant.protocol import PROTOCOL, Costs

NAN = math.nan
SEEDS = st.integers(0, 10_000)
FEW = settings(max_examples=15, deadline=None)
HARSH = Costs(participation_cap=None, history_rule=False, impact_y=2.0)


def at(hours):
    return pd.Timestamp(START) + pd.Timedelta(hours=hours)


def identity_gap(result):
    flows = result.bars
    change = np.diff(np.concatenate([[1.0], result.equity]))
    told = flows.price_pnl - flows.fee - flows.spread - flows.impact + flows.funding
    return np.abs(change - told).max()


@FEW
@given(seed=SEEDS, gross=st.sampled_from([0.3, 1.0, 5.0]), wild=st.sampled_from([0.01, 0.15]), delay=st.integers(0, 3))
def test_every_bar_s_change_of_equity_is_its_flows(seed, gross, wild, delay):
    """INV-02."""
    panel = random_market(seed, days=16, wild=wild)
    values = random_weights(seed + 1, panel, gross=gross)
    for costs in (PROTOCOL.costs, HARSH):
        result = simulate(panel, values, *span(panel, 18), costs=costs, delay_bars=delay, cost_multiplier=1.5)
        assert identity_gap(result) < 1e-12
        total = result.price_pnl - result.fee - result.spread - result.impact + result.funding
        assert total == pytest.approx(result.total_return, abs=1e-11)


@FEW
@given(seed=SEEDS)
def test_zero_weights_earn_and_pay_nothing(seed):
    panel = random_market(seed)
    result = simulate(panel, np.zeros(panel.close.shape), *span(panel))
    assert (result.equity == 1.0).all()
    assert 0.0 == result.fee == result.spread == result.impact == result.turnover == result.mean_gross == result.sharpe
    assert 0 == result.fills


@FEW
@given(seed=SEEDS)
def test_weights_of_nothing_but_nan_are_zero_weights(seed):
    panel = random_market(seed)
    result = simulate(panel, np.full(panel.close.shape, NAN), *span(panel))
    assert (result.equity == 1.0).all()


@FEW
@given(seed=SEEDS)
def test_long_and_short_of_one_asset_net_to_nothing_but_costs(seed):
    single = random_market(seed, assets=1, days=12)
    twin = type(single)(
        single.times,
        ("X", "Y"),
        np.repeat(single.tier, 2),
        np.repeat(single.cube, 2, axis=2),
        np.repeat(single.last_bar, 2),
        single.bar_ms,
    )
    side = random_weights(seed + 2, single, gross=0.5)
    result = simulate(twin, np.concatenate([side, -side], axis=1), *span(twin), costs=FREE)
    assert np.abs(result.equity - 1).max() < 1e-12
    assert abs(result.funding) < 1e-12
    both = simulate(twin, np.concatenate([side, side], axis=1), *span(twin), costs=FREE)
    alone = simulate(single, 2 * side, *span(single), costs=FREE)
    assert both.equity == pytest.approx(alone.equity, rel=1e-12)


@FEW
@given(seed=SEEDS, power=st.integers(-8, 8))
def test_units_of_price_do_not_matter(seed, power):
    panel = random_market(seed)
    scale = 2.0**power
    cube = panel.cube.copy()
    cube[:4] *= scale
    cube[4] /= scale
    other = type(panel)(panel.times, panel.assets, panel.tier, cube, panel.last_bar, panel.bar_ms)
    values = random_weights(seed + 3, panel)
    here, there = simulate(panel, values, *span(panel)), simulate(other, values, *span(panel))
    assert here.equity == pytest.approx(there.equity, rel=1e-12)
    assert here.impact == pytest.approx(there.impact, rel=1e-9, abs=1e-15)


@FEW
@given(seed=SEEDS, factor=st.floats(0.1, 10))
def test_capital_and_volume_scale_together(seed, factor):
    panel = random_market(seed)
    cube = panel.cube.copy()
    cube[5] *= factor
    other = type(panel)(panel.times, panel.assets, panel.tier, cube, panel.last_bar, panel.bar_ms)
    values = random_weights(seed + 4, panel)
    here = simulate(panel, values, *span(panel), capital=1e6)
    there = simulate(other, values, *span(panel), capital=1e6 * factor)
    assert here.equity == pytest.approx(there.equity, rel=1e-9)


@FEW
@given(seed=SEEDS, bar=st.integers(30, 80))
def test_nothing_before_a_decision_depends_on_it(seed, bar):
    """INV-01."""
    panel = random_market(seed)
    values = random_weights(seed + 5, panel)
    changed = values.copy()
    changed[bar:] = random_weights(seed + 6, panel)[bar:]
    first = simulate(panel, values, *span(panel, 20))
    second = simulate(panel, changed, *span(panel, 20))
    upto = bar + 1 - 20  # row `bar` is decided at its close and fills one bar later
    assert first.equity[:upto].tolist() == second.equity[:upto].tolist()


@FEW
@given(seed=SEEDS)
def test_costs_only_ever_take(seed):
    panel = random_market(seed)
    values = random_weights(seed + 7, panel)
    result = simulate(panel, values, *span(panel))
    for flow in (result.bars.fee, result.bars.spread, result.bars.impact):
        assert (flow >= 0).all()


@FEW
@given(seed=SEEDS)
def test_funding_changes_sign_with_the_side(seed):
    panel = random_market(seed, assets=1)
    # one entry, then hold: the units differ in sign only
    column = np.full((len(panel.times), 1), NAN)
    column[0] = 0.5
    long_, short = simulate(panel, column, *span(panel), costs=FREE), simulate(panel, -column, *span(panel), costs=FREE)
    if not (long_.ruined or short.ruined):
        assert long_.funding == pytest.approx(-short.funding, abs=1e-15)


def test_a_cost_multiple_scales_fee_spread_and_impact_but_not_funding():
    panel = random_market(8, days=20)
    column = np.full(panel.close.shape, NAN)
    column[40] = 0.2
    window = span(panel, 40)
    single = simulate(panel, column, *window)
    double = simulate(panel, column, *window, cost_multiplier=2.0)
    for name in ("fee", "spread", "impact"):
        assert getattr(double.bars, name)[:20].sum() == pytest.approx(2 * getattr(single.bars, name)[:20].sum())
    assert single.bars.funding[:20].tolist() == pytest.approx(double.bars.funding[:20].tolist())


def test_a_contract_is_bought_from_its_first_bar_with_enough_history():
    bars, listed = 6 * 20, 6 * 8
    prices = [NAN] * listed + [100.0] * (bars - listed)
    panel = market({"A": prices})
    result = simulate(panel, weights(panel, A=1.0), *span(panel))
    # five daily returns need six daily closes: days 8 … 13, so the first fill is at the open of day 14
    fee = np.flatnonzero(result.bars.fee)
    assert 14 * 6 == fee[0]
    free = simulate(panel, weights(panel, A=1.0), *span(panel), costs=fees(5))
    assert listed == np.flatnonzero(free.bars.fee)[0]


def test_a_missing_bar_keeps_units_at_the_last_mark_and_drops_the_order():
    """INV-03."""
    panel = market({"A": [100, 100, 110, NAN, 120, 120]})
    result = simulate(panel, weights(panel, A=[1, NAN, 0, NAN, NAN, NAN]), *span(panel), costs=FREE)
    assert [1, 1, 1.1, 1.1, 1.2, 1.2] == pytest.approx(result.equity.tolist())


def test_funding_in_a_missing_bar_is_paid_at_the_last_mark():
    instants = [("A", at(12), 1e-3), ("A", at(13), 1e-3)]
    panel = market({"A": [100, 100, 110, NAN, 120, 120]}, funding=instants)
    result = simulate(panel, weights(panel, A=[1] + [NAN] * 5), *span(panel), costs=FREE)
    assert -2 * 1.1e-3 == pytest.approx(result.funding)


def test_a_position_in_a_missing_last_bar_is_closed_at_the_last_mark():
    panel = market({"A": [100, 100, 110, NAN]})
    result = simulate(panel, weights(panel, A=[1, NAN, NAN, NAN]), *span(panel), costs=fees(10))
    assert 1.1 - 1e-3 - 1.1e-3 == pytest.approx(result.equity[-1])


def test_a_bar_without_volume_moves_marks():
    panel = market({"A": [100, 100, 130, 100]}, volume={"A": [1, 1, 0, 1]})
    result = simulate(panel, weights(panel, A=[1, NAN, NAN, NAN]), *span(panel), costs=FREE)
    assert [1, 1, 1.3, 1.0] == pytest.approx(result.equity.tolist())


def test_a_contract_whose_bars_end_is_not_settled_unless_its_last_bar_is_named():
    """INV-04."""
    prices = {"A": [100, 100, 110, NAN, NAN]}
    alive = market(prices)
    result = simulate(alive, weights(alive, A=[1] + [NAN] * 4), *span(alive), costs=fees(10))
    assert 0.0 == result.bars.fee[2]
    dead = market(prices, last_bar={"A": at(8)})
    result = simulate(dead, weights(dead, A=[1] + [NAN] * 4), *span(dead), costs=fees(10))
    assert 1.1e-3 == pytest.approx(result.bars.fee[2])
    assert 0.0 == result.bars.fee[4]


def test_a_settlement_pays_impact_on_the_whole_position_and_ignores_the_cap():
    bars = 6 * 20
    path = np.tile([100.0, 102.0, 101.0, 99.0], bars // 4)
    panel = market({"A": path}, quote_volume={"A": np.full(bars, 1e6 / 6)}, last_bar={"A": at(4 * (bars - 7))})
    result = simulate(panel, weights(panel, A=1.0), *span(panel, 6 * 10), capital=1e6)
    cap = 0.05  # of a daily volume that equals the capital
    assert cap == pytest.approx(result.bars.fee[0] / 5e-4)
    row = bars - 7 - 60
    assert result.bars.fee[row] / 5e-4 > 0.9
    assert result.bars.impact[row] > 0
    assert 0.0 == result.bars.fee[row + 1 :].sum()


def test_a_close_out_without_known_liquidity_is_free_of_impact():
    panel = market({"A": [100, 101, 102, 103]})
    costs = Costs(history_rule=False, participation_cap=None)
    result = simulate(panel, weights(panel, A=1.0), *span(panel), costs=costs)
    assert 0.0 == result.impact
    assert result.fee > 0


@pytest.mark.parametrize(
    ("opens", "closes", "funding"),
    [
        ([100, 100, 300, 300], [100, 100, 300, 300], []),  # at the open: price
        ([100, 100, 100, 100], [100, 100, 100, 100], [("A", at(8), -2.0)]),  # at the open: funding
        ([100, 100, 100, 100], [100, 100, 100, 100], [("A", at(9), -2.0)]),  # inside the bar
        ([100, 100, 100, 300], [100, 100, 300, 300], []),  # at the close
        ([100, 100, 300, 100], [100, 100, 100, 100], [("A", at(9), 0.5)]),  # at the open alone: funding would heal it
        ([100, 100, 100, 10], [100, 100, 10, 10], [("A", at(9), -1.5)]),  # inside the bar alone
        ([100, 100, 100, 100], [100, 100, 300, 100], []),  # at the close alone
    ],
)
@pytest.mark.parametrize("lanes", [1, 3])
def test_ruin_at_each_of_its_three_tests_is_final_and_keeps_the_identity(opens, closes, funding, lanes):
    """INV-05."""
    panel = market({"A": opens}, {"A": closes}, funding=funding)
    window = Window(1, *(3 * span(panel)[:1]), span(panel)[1])
    orders = np.array([[-1.0], [NAN], [NAN], [NAN]])
    for (result,) in simulate_folds(panel, [orders], [window], lanes * [Scenario()], costs=fees(5)):
        assert [0.0, 0.0] == result.equity[2:].tolist()
        assert result.ruined
        assert identity_gap(result) < 1e-12
        assert 0.0 == result.bars.fee[2:].sum()


def test_ruin_by_the_costs_of_a_fill():
    panel = market({"A": [100.0] * 4})
    result = simulate(panel, weights(panel, A=1.0), *span(panel), costs=fees(20_000))
    assert [1.0, 0.0, 0.0, 0.0] == result.equity.tolist()
    assert identity_gap(result) < 1e-12


def test_ruin_by_the_costs_of_a_close_out():
    panel = market({"A": [100.0] * 3})
    result = simulate(panel, weights(panel, A=[NAN, 1, 1]), *span(panel), costs=fees(6_000))
    assert result.ruined
    assert 0.0 == result.equity[-1]
    assert identity_gap(result) < 1e-12


def test_one_ruined_fold_leaves_its_neighbours_alone():
    panel = market({"A": [100, 100, 300, 300], "B": [100, 100, 110, 110]})
    both = simulate(panel, weights(panel, A=0.0, B=[1, NAN, NAN, NAN]), *span(panel), costs=FREE)
    start, end = span(panel)
    window = Window(1, start, start, start, end)
    ruin = np.array([[-1.0, 0.0]] * 4)
    safe = np.array([[0.0, 1.0]] + [[NAN, NAN]] * 3)
    rows = simulate_folds(panel, [ruin, safe], [window, window], [Scenario()], costs=FREE)
    assert rows[0][0].ruined
    assert not rows[0][1].ruined
    assert both.equity.tolist() == rows[0][1].equity.tolist()


def test_the_cap_is_per_bar_and_the_rest_waits_for_the_next_order():
    bars = 6 * 12
    panel = market({"A": [100.0, 100.5] * (bars // 2)}, quote_volume={"A": [1e6 / 6] * bars})
    result = simulate(panel, weights(panel, A=1.0), *span(panel, 60), costs=Costs(impact_y=0), capital=1e6)
    filled = result.bars.fee[:4] / 5e-4
    assert [0.05] * 4 == pytest.approx(filled.tolist())


def test_with_a_delay_the_first_bar_has_no_order():
    panel = random_market(9, days=20)
    values = np.full(panel.close.shape, 0.1)
    plain = simulate(panel, values, *span(panel, 60))
    late = simulate(panel, values, *span(panel, 60), delay_bars=2)
    assert plain.bars.fee[0] > 0
    assert [0.0, 0.0] == late.bars.fee[:2].tolist()


def test_a_panel_that_begins_with_the_window_has_no_order_at_its_first_bar():
    panel = market({"A": [100.0] * 4})
    result = simulate(panel, weights(panel, A=1.0), *span(panel), costs=fees(10))
    assert 0.0 == result.bars.fee[0]
    assert result.bars.fee[1] > 0


def test_a_missing_asset_is_zero_and_extra_rows_are_ignored():
    panel = random_market(10, days=12)
    frame = pd.DataFrame(random_weights(11, panel), index=panel.index(), columns=list(panel.assets))
    whole = simulate(panel, frame.assign(C1=0.0), *span(panel, 30, 60))
    lacking = simulate(panel, frame.drop(columns="C1").iloc[29:], *span(panel, 30, 60))
    assert whole.equity.tolist() == lacking.equity.tolist()


def test_start_and_end_may_be_text_timestamps_or_milliseconds():
    panel = random_market(12, days=12)
    values = random_weights(13, panel)
    by_ms = simulate(panel, values, *span(panel, 6, 12))
    day = pd.Timestamp(START) + pd.Timedelta(days=1)
    by_text = simulate(panel, values, str(day), str(day + pd.Timedelta(days=1)))
    by_stamp = simulate(panel, values, day.tz_localize("UTC"), (day + pd.Timedelta(days=1)).tz_localize("UTC"))
    by_numpy = simulate(panel, values, day.to_datetime64(), (day + pd.Timedelta(days=1)).to_datetime64())
    assert by_ms.equity.tolist() == by_text.equity.tolist() == by_stamp.equity.tolist() == by_numpy.equity.tolist()
    assert 6 == len(by_ms.times)


def test_bad_weights_and_windows_are_named():
    panel = random_market(14, days=12)
    frame = pd.DataFrame(0.0, index=panel.index(), columns=list(panel.assets))
    with pytest.raises(OutputError, match="no asset"):
        simulate(panel, frame.assign(Z=1.0), *span(panel))
    with pytest.raises(OutputError, match=r"no row at 2021-03-01T08:00:00Z"):
        simulate(panel, frame.drop(index=frame.index[2]), *span(panel))
    with pytest.raises(OutputError, match="column twice"):
        simulate(panel, pd.concat([frame, frame["C0"]], axis=1), *span(panel))
    with pytest.raises(OutputError, match="not indexed by time"):
        simulate(panel, frame.reset_index(drop=True), *span(panel))
    with pytest.raises(OutputError, match="not numbers"):
        simulate(panel, frame.astype(object).assign(C0="all in"), *span(panel))
    with pytest.raises(OutputError, match="shape"):
        simulate(panel, np.zeros((3, 3)), *span(panel))
    endless = np.zeros(panel.close.shape)
    endless[7, 1] = math.inf
    with pytest.raises(OutputError, match=r"C1 is infinite at 2021-03-02T04:00:00Z"):
        simulate(panel, endless, *span(panel))
    assert 0 == simulate(panel, endless, *span(panel, 10)).fills  # not a decision row of that window
    with pytest.raises(DataError, match="no bar"):
        simulate(panel, frame, "2031-01-01", "2031-02-01")
    with pytest.raises(DataError, match="not a time"):
        simulate(panel, frame, "yesterday at noon or so", "2031-02-01")
