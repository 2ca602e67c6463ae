from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autoquant.harness.family import SEED_LIKE, SPACE, Member, draw, mutate, parse, render
from autoquant.harness.searchers import SEARCHERS, stream

BARS, ASSETS = 6 * 400, 8


@pytest.fixture(scope="module")
def market() -> dict[str, pd.DataFrame]:
    rng = np.random.default_rng(0)
    index = pd.date_range("2021-01-01", periods=BARS, freq="4h", tz="UTC")
    columns = [f"A{i:02d}" for i in range(ASSETS)]
    close = pd.DataFrame(np.exp(np.cumsum(rng.standard_t(4, (BARS, ASSETS)) * 0.01, axis=0)), index, columns)
    close.iloc[:700, 1] = np.nan
    close.iloc[2000:, 2] = np.nan
    close.iloc[1500:1504, 3] = np.nan
    close.iloc[900:, 4] = close.iloc[900, 4]
    volume = pd.DataFrame(rng.random((BARS, ASSETS)) * 1e7, index, columns).where(close.notna())
    funding = pd.DataFrame(rng.normal(0, 1e-4, (BARS, ASSETS)), index, columns).where(close.notna())
    return {"close": close, "quote_volume": volume, "funding": funding}


def weights(member: Member, market: dict[str, pd.DataFrame], bars: int = BARS) -> pd.DataFrame:
    space: dict[str, Any] = {}
    exec(compile(render(member), "strategy.py", "exec"), space)
    panel = SimpleNamespace(**{name: frame.iloc[:bars] for name, frame in market.items()})
    answer: pd.DataFrame = space["target_weights"](panel, market["close"].index[bars // 2])
    return answer


@given(st.integers(0, 10**6))
def test_every_member_reads_back_as_it_was_written(seed: int):
    member = draw(random.Random(seed))
    assert member == parse(render(member))


@given(st.integers(0, 10**6))
def test_a_mutation_changes_one_or_two_parameters_and_stays_in_the_family(seed: int):
    rng = random.Random(seed)
    parent = draw(rng)
    child = mutate(parent, rng)
    assert sum(parent[name] != child[name] for name in SPACE) in (1, 2)
    assert child == parse(render(child))


@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_every_member_is_causal_unlevered_and_deterministic(market: dict[str, pd.DataFrame], seed: int):
    member = draw(random.Random(seed))
    whole = weights(member, market)
    cut = weights(member, market, BARS - 333)
    pd.testing.assert_frame_equal(whole.iloc[: BARS - 333], cut, check_exact=True, check_freq=False)
    stated = whole.ffill().fillna(0.0)
    assert stated.abs().sum(axis=1).max() <= 1.0 + 1e-9
    assert np.isfinite(stated.to_numpy()).all()


@pytest.mark.parametrize("name", sorted(SPACE))
def test_every_value_of_every_parameter_gives_a_book(market: dict[str, pd.DataFrame], name: str):
    for value in set(SPACE[name]):
        stated = weights(SEED_LIKE | {name: value}, market).ffill().fillna(0.0)
        assert stated.iloc[-1].abs().sum() > 0.05


def test_a_parameter_that_says_nothing_is_not_mutated():
    children = [mutate(SEED_LIKE, random.Random(seed)) for seed in range(300)]
    assert all(child["funding_days"] == SEED_LIKE["funding_days"] for child in children)
    assert any(child["funding_tilt"] != 0.0 for child in children)


def test_other_files_are_no_members():
    assert parse("def target_weights(panel, train_end): ...") is None
    assert parse("PARAMETERS = {'lookback_days': 60}") is None
    assert parse("PARAMETERS = dict(a=1)") is None
    assert parse("PARAMETERS = [[1]]") is None
    assert parse("this is not python") is None


def test_two_seeds_search_differently_and_one_seed_goes_the_same_way_again():
    def first(seed: int) -> Member:
        return next(SEARCHERS["hillclimb"](None, stream(seed, 1)))[0]

    assert first(1) == first(1)
    assert len({render(first(seed)) for seed in range(1, 6)}) > 1


def test_a_climb_starts_from_what_stands_in_the_worktree():
    parent = draw(random.Random(5))
    child, message = next(SEARCHERS["hillclimb"](parent, stream(1, 9)))
    changed = [name for name in SPACE if child[name] != parent[name]]
    assert len(changed) in (1, 2)
    assert all(name in message for name in changed)
