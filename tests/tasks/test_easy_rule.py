"""The crossover rule: the reference is the plain loop over the bars."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from task_cases import rows_of

from autoquant.tasks.lookahead import same
from autoquant.tasks.references import easy as reference
from autoquant.tasks.replay import Trades


def by_loop(close: NDArray[np.float64]) -> Trades:
    path = np.zeros((len(close) + 1, 1))
    for i in range(50, len(close)):
        fast, slow = close[i - 19 : i + 1].mean(), close[i - 49 : i + 1].mean()
        path[i + 1] = (fast > slow) * 1.0 - (fast < slow) * 1.0
    return rows_of(path[: len(close)])


def by_reference(close: NDArray[np.float64]) -> Trades:
    table = reference.generate_trades(pd.DataFrame({"Close_nifty": close}))
    return Trades(table["bar"].to_numpy(), table[["position"]].to_numpy(float))


@settings(deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 700))
def test_the_reference_is_the_plain_loop_on_any_walk(seed, bars) -> None:
    close = 20_000.0 + np.cumsum(np.random.default_rng(seed).normal(0, 6, bars))
    assert same(by_loop(close), by_reference(close))


def test_prices_that_stand_still_are_neither_above_nor_below() -> None:
    close = 20_000.0 + np.cumsum(np.random.default_rng(1).normal(0, 6, 400))
    close[200:300] = 19_800.0
    found = by_reference(close)
    assert same(by_loop(close), found)
    assert 0.0 in found.positions


@pytest.mark.parametrize("bars", [0, 1, 50, 51])
def test_nothing_is_held_while_bars_are_too_few(bars) -> None:
    assert 0 == len(by_reference(np.arange(1.0, bars + 1)).bars)


def test_the_first_signal_is_of_bar_50_and_the_first_position_of_bar_51() -> None:
    assert ([51], [[1.0]]) == (
        by_reference(np.arange(1.0, 200)).bars.tolist(),
        by_reference(np.arange(1.0, 200)).positions.tolist(),
    )


def test_only_rows_on_which_the_position_changes_are_returned() -> None:
    close = 20_000.0 + np.cumsum(np.random.default_rng(2).normal(0, 6, 2_000))
    positions = by_reference(close).positions[:, 0]
    assert (np.diff(positions, prepend=0.0) != 0).all()
