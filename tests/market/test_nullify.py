"""Flipped and permuted markets: what they keep, what they take away."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autoquant.clock import day_ms
from autoquant.errors import DataError
from autoquant.market import FIELDS, Panel, synthetic_panel
from autoquant.market.nullify import DAY_MS, SPLIT_MS, day_runs, draw_order, draw_signs, flip, permute

START, DAYS = "2022-11-20", 80
SEEDS = st.integers(0, 2**32 - 1)


def market(seed: int = 1, assets: int = 5) -> Panel:
    """TRAIN and VALID meet inside; contracts list one by one, one is delisted, one lacks a bar."""
    whole = synthetic_panel(seed, assets=assets, days=DAYS, start=START, listings=True)
    cube, last = whole.cube.copy(), whole.last_bar.copy()
    bars = len(FIELDS)
    dies = 390
    last[0] = whole.times[dies]
    cube[:bars, dies + 1 :, 0] = np.nan
    cube[bars:, dies + 1 :, 0] = 0.0
    cube[:bars, 200, 1] = np.nan
    cube[bars:, 300:310, 1] = np.where(cube[bars:, 300:310, 1] != 0, 0.01, 0.0)
    cube[bars + 1, ::7, 2] = 0.0003
    return replace(whole, cube=cube, last_bar=last)


MARKET = market()
NULLS = {
    "flip": lambda panel, seed: flip(panel, draw_signs(panel, seed)),
    "permute": lambda panel, seed: permute(panel, draw_order(panel, seed)),
}
nulls = pytest.mark.parametrize("null", NULLS.values(), ids=NULLS)


def bodies(panel: Panel) -> np.ndarray:
    return np.log(panel.close / panel.open)


def gaps(panel: Panel) -> np.ndarray:
    """ln(open / previous close), NaN where one of them is missing."""
    return np.log(panel.open[1:] / panel.close[:-1])


@pytest.mark.parametrize(
    "same",
    [flip(MARKET, np.ones(DAYS, dtype=np.int64)), permute(MARKET, np.arange(DAYS))],
    ids=["all signs +1", "every day in its place"],
)
def test_nothing_changed_gives_the_panel_back(same: Panel):
    np.testing.assert_allclose(MARKET.cube, same.cube, rtol=1e-12, atol=0)


@nulls
@settings(max_examples=20, deadline=None)
@given(seed=SEEDS)
def test_bars_lives_and_names_stay_and_every_bar_is_a_possible_one(null, seed: int):
    panel = null(MARKET, seed)
    assert (MARKET.assets, MARKET.bar_ms) == (panel.assets, panel.bar_ms)
    for name in ("times", "tier", "last_bar"):
        np.testing.assert_array_equal(getattr(MARKET, name), getattr(panel, name))
    np.testing.assert_array_equal(np.isnan(MARKET.cube), np.isnan(panel.cube))
    live = np.isfinite(panel.close)
    open_, high, low, close = (getattr(panel, name)[live] for name in ("open", "high", "low", "close"))
    assert (high >= np.maximum(open_, close)).all()
    assert (low <= np.minimum(open_, close)).all()
    assert (low > 0).all()
    first = live.argmax(axis=0)
    columns = np.arange(len(panel.assets))
    if null is NULLS["flip"]:
        np.testing.assert_allclose(MARKET.open[first, columns], panel.open[first, columns], rtol=1e-12)


@nulls
def test_the_same_seed_gives_the_same_market_and_another_seed_another(null):
    assert null(MARKET, 3).digest == null(MARKET, 3).digest != null(MARKET, 4).digest
    before = MARKET.digest
    assert before == market().digest, "the real panel is untouched"


@settings(max_examples=20, deadline=None)
@given(seed=SEEDS)
def test_a_flip_keeps_quote_volume_and_rescales_base_volume_by_the_new_close(seed: int):
    panel = flip(MARKET, draw_signs(MARKET, seed))
    np.testing.assert_array_equal(MARKET.quote_volume, panel.quote_volume)
    np.testing.assert_allclose(MARKET.volume * MARKET.close, panel.volume * panel.close, rtol=1e-12)


def test_a_turned_day_is_mirrored_about_its_own_splits_mean():
    signs = draw_signs(MARKET, 5)
    panel = flip(MARKET, signs)
    turned = np.repeat(signs, 6) < 0
    for part in (MARKET.times < SPLIT_MS, MARKET.times >= SPLIT_MS):
        real, made = bodies(MARKET)[part], bodies(panel)[part]
        mean = np.nanmean(real)
        np.testing.assert_allclose(2 * mean - real[turned[part]], made[turned[part]], atol=1e-12)
        np.testing.assert_allclose(real[~turned[part]], made[~turned[part]], atol=1e-12)
    sign = np.where(turned, -1.0, 1.0)[1:, None]
    np.testing.assert_allclose(sign * gaps(MARKET), gaps(panel), atol=1e-12)


def test_the_splits_means_differ_and_one_split_tells_the_other_nothing():
    train = MARKET.times < SPLIT_MS
    raised = MARKET.cube.copy()
    raised[3, ~train] *= 1.001  # closes of VALID alone
    raised[1] = np.maximum(raised[1], raised[3])
    signs = draw_signs(MARKET, 5)
    one, other = flip(MARKET, signs), flip(replace(MARKET, cube=raised), signs)
    np.testing.assert_array_equal(one.close[train], other.close[train])
    assert not np.allclose(one.close[~train], other.close[~train], equal_nan=True)


def test_highs_and_lows_of_a_turned_day_change_places():
    signs = -np.ones(DAYS, dtype=np.int64)
    panel = flip(MARKET, signs)
    up, down = np.log(MARKET.high / MARKET.open), np.log(MARKET.low / MARKET.open)
    body = bodies(panel)
    np.testing.assert_allclose(np.maximum(np.maximum(-down, body), 0), np.log(panel.high / panel.open), atol=1e-12)
    np.testing.assert_allclose(np.minimum(np.minimum(-up, body), 0), np.log(panel.low / panel.open), atol=1e-12)


def test_a_funding_rate_is_mirrored_about_its_own_splits_mean_at_its_instant():
    signs = draw_signs(MARKET, 6)
    panel = flip(MARKET, signs)
    turned = np.repeat(signs, 6) < 0
    for name in ("funding_at_open", "funding_inside"):
        real, made = getattr(MARKET, name), getattr(panel, name)
        np.testing.assert_array_equal(real == 0, made == 0)
        for part in (MARKET.times < SPLIT_MS, MARKET.times >= SPLIT_MS):
            due = (real != 0) & part[:, None]
            at = due & turned[:, None]
            np.testing.assert_allclose(2 * real[due].mean() - real[at], made[at], atol=1e-15)
            np.testing.assert_array_equal(real[due & ~turned[:, None]], made[due & ~turned[:, None]])


def test_a_wrong_number_of_signs_or_days_is_refused():
    with pytest.raises(DataError, match="79 signs for 80 days"):
        flip(MARKET, np.ones(79, dtype=np.int64))
    with pytest.raises(DataError, match="79 days for 80 days"):
        permute(MARKET, np.arange(79))


def test_days_change_places_only_within_one_set_of_contracts_and_one_split():
    runs = day_runs(MARKET)
    days = np.concatenate(runs)
    assert len(days) == len(set(days))
    live = np.isfinite(MARKET.close).reshape(DAYS, 6, -1)
    valid = (day_ms(START) + np.arange(DAYS) * DAY_MS) >= SPLIT_MS
    for run in runs:
        assert (live[run] == live[run[0], 0]).all(), "whole days with the same contracts"
        assert len(set(valid[run])) == 1
    assert not {200 // 6, 390 // 6} & set(days), "a day that lacks a bar stays, and one on which a contract ends"
    assert any({200 // 6 - 1, 200 // 6 + 1} <= set(run) for run in runs), "a gap does not break a run"


@settings(max_examples=20, deadline=None)
@given(seed=SEEDS)
def test_a_permutation_keeps_each_runs_days_whole_and_moves_all_contracts_together(seed: int):
    order = draw_order(MARKET, seed)
    assert list(range(DAYS)) == sorted(order)
    moved = set(np.flatnonzero(order != np.arange(DAYS)))
    for run in day_runs(MARKET):
        assert set(order[run]) == set(run)
        moved -= set(run)
    assert not moved
    panel = permute(MARKET, order)

    def by_day(values: np.ndarray) -> np.ndarray:
        return values.reshape(DAYS, 6, -1)

    for read in (bodies, lambda p: np.log(p.high / p.open), lambda p: np.log(p.low / p.open)):
        np.testing.assert_allclose(by_day(read(MARKET))[order], by_day(read(panel)), atol=1e-12)
    for name in ("quote_volume", "funding_at_open", "funding_inside"):
        np.testing.assert_array_equal(by_day(getattr(MARKET, name))[order], by_day(getattr(panel, name)))
    money = (MARKET.volume * MARKET.close, panel.volume * panel.close)
    np.testing.assert_allclose(by_day(money[0])[order], by_day(money[1]), rtol=1e-12)


def test_a_permutation_keeps_what_each_contract_earned_over_a_run():
    calm = synthetic_panel(2, assets=3, days=60, start="2024-01-01")
    panel = permute(calm, draw_order(calm, 9))
    np.testing.assert_allclose(calm.close[-1], panel.close[-1], rtol=1e-10)


def test_a_day_cannot_stand_where_other_bars_are_live():
    order = np.arange(DAYS)
    order[[0, 79]] = order[[79, 0]]
    with pytest.raises(DataError, match="other bars are live"):
        permute(MARKET, order)


def momentum_sharpe(panel: Panel, days: int = 20) -> float:
    """Long what rose over `days`, short what fell, before costs."""
    close = panel.close[5::6]
    change = close[1:] / close[:-1] - 1.0
    past = np.log(close[days:-1] / close[: -days - 1])
    book = np.sign(past - np.median(past, axis=1, keepdims=True))
    earned = (book * change[days:]).mean(axis=1)
    return float(earned.mean() / earned.std() * np.sqrt(365))


def drift_sharpe(panel: Panel, about: float) -> float:
    """Holding all contracts alike, log returns before costs, beside a drift per bar of `about`."""
    daily = np.log(panel.close[5::6][1:] / panel.close[5::6][:-1]).mean(axis=1) - 6 * about
    return float(daily.mean() / daily.std() * np.sqrt(365))


def test_flipping_takes_a_planted_edge_away_and_leaves_the_drift_and_the_clusters():
    real = synthetic_panel(3, assets=12, days=900, start="2023-01-01")
    mean = float(bodies(real).mean())
    made = [flip(real, draw_signs(real, seed)) for seed in range(30)]
    assert momentum_sharpe(real) > 1.0
    assert abs(np.mean([momentum_sharpe(panel) for panel in made])) < 0.4
    assert abs(np.mean([drift_sharpe(panel, mean) for panel in made])) < 0.5

    def clusters(panel: Panel) -> float:
        size = np.abs(bodies(panel) - mean).mean(axis=1)
        return float(np.corrcoef(size[:-6], size[6:])[0, 1])

    assert clusters(real) == pytest.approx(np.mean([clusters(panel) for panel in made]), abs=1e-9)
