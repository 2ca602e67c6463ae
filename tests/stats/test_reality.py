from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stats_cases import noise

from autoquant.stats.bootstrap import stationary_counts
from autoquant.stats.reality import stepwise, superiority


def examined(panel, seed: int = 0, samples: int = 399, mean_block: float | None = 5.0):
    return superiority(panel, np.random.default_rng(seed), samples=samples, mean_block=mean_block)


def test_the_definition_written_out():
    panel = noise(0, 200, 5)
    panel = panel - panel.mean(axis=0) + np.array([0.0005, 0.0, -0.0017, -0.0017, -0.0017])  # three just beyond
    counts = stationary_counts(np.random.default_rng(0), 99, 200, 5.0)
    mean, draws = panel.mean(axis=0), np.array([row @ panel / 200 for row in counts])
    omega = draws.std(axis=0)
    statistic = max(0.0, (mean / omega).max())
    bound = -math.sqrt(2 * math.log(math.log(200)))
    expected = []
    for kept in (mean / omega >= bound, mean >= 0, np.ones(5, dtype=bool)):
        centre = np.where(kept, mean, 0.0)
        sampled = np.maximum(0.0, ((draws - centre) / omega).max(axis=1))
        expected.append((1 + (sampled >= statistic).sum()) / 100)
    found = examined(panel, samples=99)
    assert expected == [found.p_consistent, found.p_lower, found.p_upper]
    assert statistic == pytest.approx(found.statistic)


def test_stepping_down_written_out():
    rng = np.random.default_rng(1)
    ratio, moved = rng.normal(1.0, 1.5, 6), rng.normal(size=(99, 6))
    passed, floor, expected = [], 0.0, {}
    for column in np.argsort(-ratio):
        left = [k for k in range(6) if k not in passed]
        floor = max(floor, (1 + (moved[:, left].max(axis=1) >= ratio[column]).sum()) / 100)
        expected[int(column)] = floor
        passed.append(column)
    assert [expected[k] for k in range(6)] == stepwise(ratio, moved)


@given(st.integers(0, 500), st.floats(-0.002, 0.002))
@settings(max_examples=40)
def test_p_values_are_ordered_and_bounded(seed, drift):
    found = examined(noise(seed, 120, 6) + drift, seed, samples=99)
    assert 0.01 <= found.p_lower <= found.p_consistent <= found.p_upper <= 1.0
    assert found.stepwise[found.best] == min(found.stepwise)


@given(st.integers(0, 200))
@settings(max_examples=20)
def test_leverage_changes_nothing(seed):
    panel = noise(seed, 120, 6)
    scaled = examined(panel * np.array([1.0, 0.1, 7.0, 100.0, 0.5, 2.0]))
    assert examined(panel).stepwise == scaled.stepwise
    assert examined(panel).p_consistent == scaled.p_consistent


def test_poor_strategies_do_not_hide_a_good_one():
    good = noise(1, 500, 1) + 0.0012
    crowd = np.column_stack([good, noise(2, 500, 40) - 0.01])
    alone = examined(good)
    assert alone.p_consistent == pytest.approx(examined(crowd).p_consistent, abs=0.03)
    assert examined(crowd).p_upper > 2 * examined(crowd).p_consistent


def test_the_skilled_are_named():
    panel = noise(3, 700, 8) + np.where(np.isin(np.arange(8), [2, 5]), 0.002, 0.0)
    assert [2, 5] == [k for k, p in enumerate(examined(panel).stepwise) if p <= 0.05]


def test_nothing_above_the_benchmark_is_no_evidence():
    found = examined(-np.abs(noise(4, 100, 3)))
    assert (1.0, 0.0) == (found.p_consistent, found.statistic)


def test_columns_that_never_move_are_left_out():
    panel = np.column_stack([np.zeros(200), noise(5, 200) + 0.003, np.full(200, 0.01)])
    found = examined(panel)
    assert (None, None) == (found.stepwise[0], found.stepwise[2])
    assert 1 == found.best
    assert examined(np.zeros((200, 2))) is None


def test_the_usual_block_is_at_least_five():
    assert 5.0 == examined(noise(6, 300, 3), mean_block=None).mean_block


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="too few"):
        examined(noise(0, 15, 2))
    with pytest.raises(ValueError, match="at least 1"):
        examined(noise(0, 50, 2), samples=0)
    with pytest.raises(ValueError, match="at least 1"):
        examined(noise(0, 50, 2), mean_block=0.0)


def test_a_fixed_set_without_skill_is_called_skilled_one_time_in_twenty():
    rng = np.random.default_rng(7)
    found = [superiority(rng.normal(size=(250, 10)), rng, samples=599, mean_block=1.0) for _ in range(500)]
    assert 0.05 == pytest.approx(np.mean([test.p_consistent <= 0.05 for test in found]), abs=0.03)
    assert 0.05 == pytest.approx(np.mean([min(test.stepwise) <= 0.05 for test in found]), abs=0.03)
