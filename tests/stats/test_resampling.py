from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from stats_cases import autoregressive, noise, reference_matrix

from autoquant.stats.bootstrap import (
    block_sums,
    counted_sharpes,
    optimal_block_length,
    stationary_counts,
    stationary_days,
)


def test_blocks_run_on_and_around_the_end():
    starts = np.array([[3, 0, 0, 1, 0]])
    begins = np.array([[False, False, False, True, False]])
    assert [[3, 4, 0, 1, 2]] == stationary_days(starts, begins, axis=1).tolist()


@given(st.integers(1, 40), st.integers(1, 60), st.floats(1.0, 30.0), st.integers(0, 99))
def test_each_sample_draws_as_many_days_as_there_are(samples, days, block, seed):
    counts = stationary_counts(np.random.default_rng(seed), samples, days, block)
    assert (samples, days) == counts.shape
    assert [float(days)] * samples == counts.sum(axis=1).tolist()
    assert counts.min() >= 0


def test_each_day_is_drawn_equally_often_and_blocks_are_as_long_as_asked():
    counts = stationary_counts(np.random.default_rng(0), 5000, 40, 8.0)
    assert np.ones(40) == pytest.approx(counts.mean(axis=0), abs=0.15)
    starts = np.random.default_rng(1).integers(400, size=(200, 400))
    begins = np.random.default_rng(2).random((200, 400)) < 1 / 8
    steps = np.diff(stationary_days(starts, begins, axis=1), axis=1) % 400
    assert 8.0 == pytest.approx(1 / (steps != 1).mean(), rel=0.05)


def test_the_variance_of_a_mean_of_dependent_days_is_found():
    series = autoregressive(3, 4000, 0.6)
    shifts = stationary_counts(np.random.default_rng(0), 400, 4000, 60.0) @ series / 4000
    assert 1 / 0.4 / np.sqrt(4000) == pytest.approx(shifts.std(), rel=0.15)  # σ / (1 − φ) / √T


def test_counts_give_the_sharpe_ratio_of_the_drawn_days():
    panel = noise(0, 30, 3) + 5.0
    counts = stationary_counts(np.random.default_rng(1), 4, 30, 5.0)
    drawn = [np.repeat(panel, counts[k].astype(int), axis=0) for k in range(4)]
    expected = np.array([days.mean(axis=0) / days.std(axis=0, ddof=1) for days in drawn])
    assert expected == pytest.approx(counted_sharpes(counts, panel), rel=1e-8)


def test_a_day_drawn_alone_has_no_sharpe_ratio():
    assert [[0.0]] == counted_sharpes(np.array([[0.0, 3.0, 0.0]]), np.array([[0.01], [0.02], [0.05]])).tolist()


@given(st.integers(1, 12), st.integers(0, 11))
def test_block_sums_go_around_the_end(length, start):
    values = np.arange(12.0) ** 2
    expected = sum(values[(start + step) % 12] for step in range(length))
    assert expected == block_sums(np.array([start]), values, length)[0]


def test_block_length_vectors():
    """From arch 8.0.0, `optimal_block_length` of the reference matrix's first two columns."""
    found = [optimal_block_length(column) for column in reference_matrix().T[:2]]
    assert [1.390453254095, 1.591671643567, 0.507449077039, 0.580884185857] == pytest.approx(
        [x for b in found for x in (b.stationary, b.circular)], abs=1e-9
    )


def test_dependence_asks_for_longer_blocks_up_to_a_cap():
    short, middle, long = (optimal_block_length(autoregressive(1, 732, slope)) for slope in (0.0, 0.5, 0.95))
    assert short.circular < middle.circular < long.circular <= np.ceil(3 * np.sqrt(732))


def test_the_circular_length_is_a_little_longer():
    found = optimal_block_length(autoregressive(2, 732, 0.4))
    assert 1.5 ** (1 / 3) == pytest.approx(found.circular / found.stationary)


def test_nothing_is_said_of_what_is_short_or_still():
    assert optimal_block_length(noise(0, 15)) is None
    assert optimal_block_length(np.full(100, 0.01)) is None


@pytest.mark.parametrize(("samples", "days", "block"), [(0, 5, 2.0), (5, 0, 2.0), (5, 5, 0.5), (5, 5, float("nan"))])
def test_draws_of_nothing_are_refused(samples, days, block):
    with pytest.raises(ValueError, match="at least 1"):
        stationary_counts(np.random.default_rng(0), samples, days, block)
