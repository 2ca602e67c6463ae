"""The pairs rule: the fast reference is the plain loop, and each way to get the cooldown wrong is another rule."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from task_cases import EARLY, LATE, bars_of, plain_pairs, scored

from autoquant.market.indices import Bars
from autoquant.tasks.lookahead import same
from autoquant.tasks.references import medium as reference
from autoquant.tasks.replay import Trades, replay_multi
from autoquant.tasks.solution import run
from autoquant.tasks.spec import task
from autoquant.tasks.truth import reference_source

SLIPS = {
    "checks before it decrements": {"enters_late": True},
    "counts from the exit bar": {"counts_exit_bar": True},
    "counts from the entry": {"runs_in_position": True},
    "no cooldown": {"cooldown": 0},
    "population deviation": {"ddof": 0},
    "executes on the same bar": {"lag": 0},
    "executes two bars later": {"lag": 2},
}


def spread_walk(seed: int, bars: int, pull: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Closes on the grid of 0.05 points whose spread is pulled back to its mean, so that rules trade often."""
    rng = np.random.default_rng(seed)
    bank = 45_000.0 + np.cumsum(rng.normal(0, 12, bars))
    gap, path = 0.0, np.empty(bars)
    for i, shock in enumerate(rng.normal(0, 5, bars)):
        gap = (1 - pull) * gap + shock
        path[i] = gap
    return np.round((0.35 * bank + 6_000.0 + path) * 20) / 20, np.round(bank * 20) / 20


def by_reference(nifty: NDArray[np.float64], bank: NDArray[np.float64]) -> Trades:
    """The reference solution's own trades, called here and not in a sandbox."""
    table = reference.generate_trades(pd.DataFrame({"Close": nifty}), pd.DataFrame({"Close": bank}))
    return Trades(table["bar"].to_numpy(), table.iloc[:, 1:].to_numpy(float))


@settings(deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 600), st.sampled_from([0.0, 0.02, 0.1, 0.4]))
def test_the_reference_is_the_plain_loop_on_any_walk(seed, bars, pull) -> None:
    nifty, bank = spread_walk(seed, bars, pull)
    assert same(plain_pairs(nifty, bank), by_reference(nifty, bank))


@pytest.mark.parametrize("seed", range(3))
def test_the_reference_is_the_plain_loop_where_prices_stand_still(seed) -> None:
    """Frozen minutes leave windows without deviation: no z, so no counting and no deciding there."""
    nifty, bank = spread_walk(seed, 900, 0.1)
    for start in (200, 480):
        nifty[start : start + 90], bank[start : start + 90] = nifty[start], bank[start]
    assert same(plain_pairs(nifty, bank), by_reference(nifty, bank))


@pytest.mark.parametrize("bars", [0, 1, 59, 60, 61])
def test_too_few_bars_for_a_z_give_no_trades_and_no_error(bars) -> None:
    assert 0 == len(by_reference(*spread_walk(1, bars, 0.1)).bars)


def test_a_decision_on_the_last_bar_has_no_bar_to_take_effect_on() -> None:
    nifty, bank = spread_walk(2, 400, 0.1)
    whole = by_reference(nifty, bank)
    for bar in whole.bars[:6]:
        assert same(Trades(whole.bars[whole.bars < bar], whole.positions[whole.bars < bar]), by_reference(
            nifty[:bar], bank[:bar]
        ))  # fmt: skip


def test_the_thirtieth_bar_after_an_exit_may_enter_and_none_before() -> None:
    """Decided on bar e, flat from e+1; the counter is 0 on bar e+30, whose entry is in force from e+31 on."""
    gaps = []
    for seed in range(40):
        trades = by_reference(*spread_walk(seed, 3_000, 0.4))
        gaps += np.diff(trades.bars)[trades.positions[:-1, 0] == 0].tolist()
    assert 30 == min(gaps)


def test_a_z_of_exactly_two_does_not_enter() -> None:
    spread = np.array([2, -2] * 27 + [-1] * 4 + [0, 4] + [4], float)
    nifty, bank = 7_000.0 + spread, np.full(len(spread), 20_000.0)
    assert 0 == len(by_reference(nifty, bank).bars)
    assert 0 == len(plain_pairs(nifty, bank).bars)
    assert [60] == plain_pairs(nifty, bank, enters_at_limit=True).bars.tolist()


@pytest.mark.parametrize("slip", SLIPS)
def test_each_slip_is_another_rule(slip) -> None:
    nifty, bank = spread_walk(3, 6_000, 0.05)
    assert not same(plain_pairs(nifty, bank), plain_pairs(nifty, bank, **SLIPS[slip]))


def test_the_reference_runs_the_same_in_its_sandbox(parent) -> None:
    bars = bars_of(*spread_walk(4, 3_000, 0.05))
    ran = run(parent, reference_source("medium"), task("medium").shown(bars), task("medium"))
    assert same(by_reference(bars.close("nifty"), bars.close("banknifty")), ran.trades)


@pytest.mark.parametrize(
    ("source", "slip"), [(LATE, "checks before it decrements"), (EARLY, "counts from the exit bar")]
)
def test_one_bar_more_or_less_in_the_reference_is_the_slip_of_its_name(parent, source, slip) -> None:
    nifty, bank = spread_walk(5, 6_000, 0.05)
    ran = run(parent, source, task("medium").shown(bars_of(nifty, bank)), task("medium"))
    assert same(plain_pairs(nifty, bank, **SLIPS[slip]), ran.trades)


@pytest.mark.parametrize("source", [LATE, EARLY], ids=["late", "early"])
def test_a_cooldown_that_is_one_bar_off_scores_085_for_its_sharpe(parent, medium_long, source) -> None:
    found = scored(parent, medium_long, source)
    assert 0.85 == found.score
    trades, *_, sharpe = found.rungs[-1].comparisons
    assert trades.passed
    assert not sharpe.passed
    assert 0.05 < abs(sharpe.value - sharpe.target) <= 0.5


@pytest.mark.shared
def test_the_reference_is_the_plain_loop_on_the_real_minutes(real_minutes: Bars) -> None:
    nifty, bank = real_minutes.close("nifty"), real_minutes.close("banknifty")
    found = by_reference(nifty, bank)
    assert same(plain_pairs(nifty, bank), found)
    assert (1_404, 702) == (replay_multi(found, nifty, bank).trades, replay_multi(found, nifty, bank).entries)
