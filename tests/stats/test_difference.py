from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stats_cases import Floats, autoregressive, noise, reference_matrix

from autoquant.stats.difference import chosen_block, gradient, hac_error, sharpe_difference, studentised

SAMPLES = 399


def examined(first: Floats, second: Floats, seed: int = 0, samples: int = SAMPLES, **options: float):
    return sharpe_difference(first, second, np.random.default_rng(seed), samples=samples, **options)


def sharpe(returns: Floats) -> float:
    return float(returns.mean() / returns.std(ddof=1))


def parts(pair: Floats) -> Floats:
    both = np.column_stack([pair, pair**2])
    return both - both.mean(axis=0)


def slow_psi(series: Floats) -> Floats:
    """Andrews' Parzen estimator written out as in the paper: AR(1) fits, bandwidth, kernel."""
    periods, above, below = len(series), 0.0, 0.0
    for column in series.T:
        design = np.column_stack([np.ones(periods - 1), column[:-1]])
        (_, rho), residual, *_ = np.linalg.lstsq(design, column[1:], rcond=None)
        variance = residual[0] / (periods - 1)
        above += 4 * rho**2 * variance**2 / (1 - rho) ** 8
        below += variance**2 / (1 - rho) ** 4
    bandwidth = 2.6614 * (above / below * periods) ** 0.2
    psi = sum(np.outer(row, row) for row in series) / periods
    lag = 1
    while lag < bandwidth:
        x = lag / bandwidth
        kernel = 1 - 6 * x**2 + 6 * x**3 if x <= 0.5 else 2 * (1 - x) ** 3
        gamma = sum(np.outer(series[t], series[t - lag]) for t in range(lag, periods)) / periods
        psi = psi + kernel * (gamma + gamma.T)
        lag += 1
    return psi * periods / (periods - 4)


def dependent_pair(seed: int = 0, periods: int = 240) -> Floats:
    first = autoregressive(seed, periods, 0.3)
    return np.column_stack([first + 0.2, 0.5 * first + autoregressive(seed + 50, periods, -0.2) + 0.1])


def test_the_error_agrees_with_the_paper_written_out():
    pair = dependent_pair()
    slope = gradient(pair)
    expected = math.sqrt(slope @ slow_psi(parts(pair)) @ slope / len(pair))
    assert expected == pytest.approx(hac_error(pair, prewhiten=False), rel=1e-10)


def test_the_prewhitened_error_agrees_with_the_paper_written_out():
    pair = dependent_pair(1)
    series, slope = parts(pair), gradient(pair)
    matrix = np.stack([np.linalg.lstsq(series[:-1], series[1:, j], rcond=None)[0] for j in range(4)])
    left, values, right = np.linalg.svd(matrix)
    matrix = left @ np.diag(np.minimum(values, 0.97)) @ right
    residual = np.stack([series[t] - matrix @ series[t - 1] for t in range(1, len(series))])
    colour = np.linalg.inv(np.eye(4) - matrix)
    expected = math.sqrt(slope @ colour @ slow_psi(residual) @ colour.T @ slope / len(pair))
    assert expected == pytest.approx(hac_error(pair), rel=1e-10)


def test_error_vectors():
    """Of the reference matrix's first two columns. The same code gives 0.3176271 and 0.3872694 on the authors' hedge
    fund returns, as their R code does (`compute.se.Parzen`, `compute.se.Parzen.pw`)."""
    pair = reference_matrix()[:, :2]
    assert 0.11045960144786 == pytest.approx(hac_error(pair, prewhiten=False), abs=1e-12)
    assert 0.11020793613719 == pytest.approx(hac_error(pair), abs=1e-12)


def test_the_gradient_is_the_derivative_with_plus_a_half_in_the_fourth_place():
    pair = noise(3, 60, 2) + 0.004
    point = np.concatenate([pair.mean(axis=0), (pair**2).mean(axis=0)])

    def delta(at: Floats) -> float:
        return float(at[0] / math.sqrt(at[2] - at[0] ** 2) - at[1] / math.sqrt(at[3] - at[1] ** 2))

    steps = np.diag(1e-6 * np.abs(point))
    numeric = [(delta(point + step) - delta(point - step)) / (2 * step.sum()) for step in steps]
    assert numeric == pytest.approx(gradient(pair), rel=1e-5)
    assert gradient(pair)[3] > 0


def test_studentised_samples_agree_with_the_paper_written_out():
    pair, length = dependent_pair(2, 60), 5
    starts = np.random.default_rng(0).integers(60, size=(6, 12))
    delta = sharpe(pair[:, 0]) - sharpe(pair[:, 1])
    expected = []
    for row in starts:
        days = (row[:, None] + np.arange(length)).ravel() % 60
        drawn = pair[days]
        y = parts(drawn)
        zeta = [math.sqrt(length) * y[k * length : (k + 1) * length].mean(axis=0) for k in range(12)]
        psi = sum(np.outer(z, z) for z in zeta) / 12
        slope = gradient(drawn)
        error = math.sqrt(slope @ psi @ slope / 60)
        expected.append(abs(sharpe(drawn[:, 0]) - sharpe(drawn[:, 1]) - delta) / error)
    assert expected == pytest.approx(studentised(pair, starts, length, delta), rel=1e-9)


def test_a_difference_on_common_days_is_found():
    common = noise(0, 500)
    found = examined(common + noise(1, 500) / 4 + 0.001, common + noise(2, 500) / 4)
    assert found.low > 0
    assert found.p_value <= 0.05


def test_the_difference_is_that_of_the_sharpe_ratios():
    first, second = noise(0, 300) + 0.001, noise(1, 300)
    assert sharpe(first) - sharpe(second) == pytest.approx(examined(first, second).difference, rel=1e-12)


@given(seed=st.integers(0, 200), leverage=st.floats(0.01, 100.0))
@settings(max_examples=30)
def test_turning_the_pair_around_mirrors_and_leverage_changes_nothing(seed, leverage):
    first, second = noise(seed, 120) + 0.001, noise(seed + 1, 120)
    found, turned = examined(first, second), examined(second, leverage * first)
    assert found.p_value == turned.p_value
    assert (found.low, found.high) == pytest.approx((-turned.high, -turned.low), rel=1e-6, abs=1e-9)
    assert found.block == turned.block


@given(seed=st.integers(0, 10_000), shift=st.floats(-0.004, 0.004))
@settings(max_examples=60)
def test_the_interval_leaves_zero_out_exactly_when_the_p_value_is_small(seed, shift):
    found = examined(noise(seed, 100) + shift, noise(seed + 1, 100))
    assert (found.p_value <= 0.05 + 1e-12) == (found.low > 0 or found.high < 0)


def test_pairs_that_move_together_are_told_apart_sooner():
    common, first, second = noise(0, 700), noise(1, 700), noise(2, 700)
    alone = examined(first + 0.0005, second)
    together = examined(common + 0.1 * first, common + 0.1 * second)
    assert together.standard_error < alone.standard_error / 3


def test_a_series_and_its_leveraged_copy_do_not_differ():
    returns = noise(0, 200) + 0.001
    found = examined(returns, 2 * returns)
    assert (0.0, 0.0, 0.0, 1.0) == (found.difference, found.low, found.high, found.p_value)


def test_nothing_is_said_of_what_never_moves_or_is_short():
    assert examined(noise(0, 200), np.zeros(200)) is None
    assert examined(noise(0, 49), noise(1, 49)) is None


def test_blocks_are_at_least_five_and_at_most_a_tenth():
    assert 5 == chosen_block(noise(0, 400, 2))
    slow = np.column_stack([autoregressive(0, 400, 0.99), noise(1, 400)])
    assert 5 < chosen_block(slow) <= 40
    assert 8 == examined(noise(0, 200), noise(1, 200), block=8).block


def test_bad_input_is_named():
    for options in ({"samples": 0}, {"block": 0}, {"block": 101}):
        with pytest.raises(ValueError, match="blocks of"):
            examined(noise(0, 200), noise(1, 200), **options)
    with pytest.raises(ValueError, match="same periods"):
        examined(noise(0, 200), noise(1, 199))
    with pytest.raises(ValueError, match="coverage"):
        examined(noise(0, 200), noise(1, 200), coverage=95.0)
    with pytest.raises(ValueError, match="not finite"):
        examined(noise(0, 200), np.full(200, np.nan))


@pytest.mark.slow
def test_the_size_is_that_of_the_level_for_returns_with_fat_tails_and_memory():
    rng, wrong = np.random.default_rng(1), []
    for race in range(500):
        shocks = rng.standard_t(5, (366, 2)) * 0.01
        shocks[:, 1] = 0.6 * shocks[:, 0] + 0.8 * shocks[:, 1]
        returns = shocks[1:] + 0.1 * shocks[:-1] + 0.0005
        wrong.append(examined(returns[:, 0], returns[:, 1] * 1.0, seed=race, samples=199).p_value <= 0.05)
    assert 0.05 == pytest.approx(np.mean(wrong), abs=0.03)
