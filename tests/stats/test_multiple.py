from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from stats_cases import noise, reference_matrix

from autoquant.stats.maximum import expected_maximum
from autoquant.stats.multiple import deflate, expected_maximum_sharpe, holm, minimum_backtest_years, sidak
from autoquant.stats.sharpe import probabilistic_sharpe, probabilistic_sharpe_of

HALF = 0.5 / 250
CLOSED = "false-strategy"

probabilities = st.lists(st.floats(0.0, 1.0), max_size=12)


def deflated(trials: float, skew: float = -3.0, kurtosis: float = 10.0) -> float:
    threshold = expected_maximum_sharpe(trials, HALF, form=CLOSED)
    return probabilistic_sharpe(2.5 / math.sqrt(250), 1250, skew=skew, kurtosis=kurtosis, benchmark=threshold)


def test_threshold_of_a_hundred_trials():
    assert 0.113172 == pytest.approx(expected_maximum_sharpe(100, HALF, form=CLOSED), abs=5e-7)


def test_deflated_sharpe_ratio_of_the_paper():
    assert 0.90039683444939034 == pytest.approx(deflated(100), abs=1e-9)
    assert 0.950502 == pytest.approx(deflated(46), abs=5e-7)
    assert 0.942771 == pytest.approx(deflated(100, skew=0.0, kurtosis=3.0), abs=5e-7)


def test_recorded_vectors_of_skfolio():
    """From skfolio 1.12.2, on columns 0 and 3 of the reference matrix: PSR against 0.05, DSR among all ten columns."""
    matrix = reference_matrix()
    sharpes = matrix.mean(axis=0) / matrix.std(axis=0, ddof=1)
    for column, psr, dsr in (
        (0, 0.07163630506234671, 0.004669069238934742),
        (3, 0.027385281107033293, 0.0010982528891646968),
    ):
        assert psr == pytest.approx(probabilistic_sharpe_of(matrix[:, column], 0.05), abs=1e-9)
        found = deflate(matrix[:, column], sharpes, 10, form=CLOSED).counted.probability
        assert dsr == pytest.approx(found, abs=1e-9)


def test_minimum_backtest_of_the_paper_is_five_years_for_45_trials():
    assert 5.0 == pytest.approx(minimum_backtest_years(45, 1.0, form=CLOSED), abs=0.005)


def test_both_pairings_are_shown_and_the_higher_threshold_leads():
    returns, sharpes = noise(0, 501) + 0.001, noise(1, 40) * 10
    found = deflate(returns, sharpes, 7.5)
    assert 1 / 500 == found.effective.variance
    assert expected_maximum(7.5) / math.sqrt(500) == pytest.approx(found.effective.threshold)
    assert sharpes.std(ddof=1) * expected_maximum(40) == pytest.approx(found.counted.threshold)
    assert found.counted.threshold > found.effective.threshold
    assert found.counted.probability < found.effective.probability
    assert found.counted is found.headline


def test_every_attempt_counts_even_without_a_sharpe_ratio():
    returns, sharpes = noise(0, 300), noise(1, 40)
    assert 50.0 == deflate(returns, sharpes, 5, trials=50).counted.trials
    with pytest.raises(ValueError, match="39 trials"):
        deflate(returns, sharpes, 5, trials=39)


def test_a_single_trial_is_not_deflated():
    found = deflate(noise(3, 300) + 0.002, [0.2], 1)
    assert (0.0, 0.0) == (found.effective.threshold, found.counted.threshold)


def test_returns_that_never_move_cannot_be_deflated():
    assert deflate([0.0] * 50, [0.0, 0.1], 2) is None


@pytest.mark.parametrize("sharpes", [[], [math.nan], [[0.1]]])
def test_trials_without_a_sharpe_ratio_are_refused(sharpes):
    with pytest.raises(ValueError, match="Sharpe"):
        deflate(noise(0, 100), sharpes, 2)


@pytest.mark.parametrize("variance", [-1e-9, math.nan, math.inf])
def test_a_variance_that_is_none_is_refused(variance):
    with pytest.raises(ValueError, match="variance"):
        expected_maximum_sharpe(10, variance)


def test_a_target_below_nothing_is_refused():
    with pytest.raises(ValueError, match="above 0"):
        minimum_backtest_years(10, 0.0)


@given(st.floats(1.0, 1e4), st.floats(1.0, 5.0))
def test_deflation_grows_with_trials(trials, factor):
    assert deflated(trials) >= deflated(trials * factor)


@given(probabilities)
def test_holm_never_lowers_a_p_value_and_keeps_the_order(p_values):
    found = holm(p_values)
    assert all(p <= q <= 1.0 for p, q in zip(p_values, found, strict=True))
    assert sorted(found) == [found[i] for i in sorted(range(len(found)), key=p_values.__getitem__)]


@given(probabilities, st.randoms(use_true_random=False))
def test_holm_does_not_mind_the_order_given(p_values, random):
    places = list(range(len(p_values)))
    random.shuffle(places)
    found, shuffled = holm(p_values), holm([p_values[i] for i in places])
    assert [found[i] for i in places] == list(shuffled)


@given(probabilities.filter(len), st.floats(0.001, 0.999))
def test_holm_rejects_what_bonferroni_does_and_more(p_values, alpha):
    for plain, corrected in zip(p_values, holm(p_values), strict=True):
        assert corrected <= min(1.0, plain * len(p_values)) + 1e-15
        assert plain > alpha or len(p_values) > 1 or corrected <= alpha


def test_holm_by_hand():
    assert (0.03, 0.06, 0.06, 0.02) == pytest.approx(holm([0.01, 0.04, 0.03, 0.005]))


@given(st.floats(0.0, 1.0), st.integers(1, 1000))
def test_sidak_lies_between_the_p_value_and_bonferroni(p_value, tests):
    assert p_value - 1e-12 <= sidak(p_value, tests) <= min(1.0, tests * p_value) + 1e-12


def test_what_is_no_probability_is_refused():
    for bad in (-0.1, 1.1, math.nan):
        with pytest.raises(ValueError, match="p-value"):
            holm([0.5, bad])
    with pytest.raises(ValueError, match="number of tests"):
        sidak(0.5, 0)


def test_holm_keeps_the_family_wise_error():
    p_values = np.random.default_rng(0).uniform(size=(2000, 10))
    wrong = np.mean([min(holm(list(row))) <= 0.05 for row in p_values])
    assert 1 - 0.995**10 == pytest.approx(wrong, abs=0.015)
