from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoquant.stats.maximum import expected_maximum, false_strategy_maximum, trials_with_maximum


@pytest.mark.parametrize(
    ("trials", "expected"), [(2, 0.564190), (10, 1.538753), (50, 2.249074), (150, 2.649247), (1000, 3.241436)]
)
def test_exact_expected_maximum(trials, expected):
    assert expected == pytest.approx(expected_maximum(trials), abs=5e-7)


def test_exact_expected_maximum_where_it_is_known_in_closed_form():
    assert 1 / math.sqrt(math.pi) == pytest.approx(expected_maximum(2), abs=1e-12)
    assert 1.5 / math.sqrt(math.pi) == pytest.approx(expected_maximum(3), abs=1e-12)


def test_the_closed_form():
    assert 1.574598 == pytest.approx(false_strategy_maximum(10), abs=5e-7)
    assert 2.5306028932016846 == pytest.approx(false_strategy_maximum(100), abs=1e-12)


@pytest.mark.parametrize("trials", [1.0, 0.5, 0.0, -3.0])
def test_one_trial_or_less_has_nothing_to_select(trials):
    assert 0.0 == expected_maximum(trials) == false_strategy_maximum(trials)


def test_the_closed_form_is_low_at_two_and_high_from_ten_on():
    assert 0.92 == pytest.approx(false_strategy_maximum(2) / expected_maximum(2), abs=0.01)
    ratios = [false_strategy_maximum(n) / expected_maximum(n) for n in (10, 50, 100, 300, 750)]
    assert 1.004 < min(ratios) <= max(ratios) < 1.024


def test_the_closed_form_never_goes_below_nothing_selected():
    assert 0.0 == false_strategy_maximum(1.0001)


@given(st.floats(1.0, 1e6), st.floats(1.0001, 3.0))
def test_more_trials_reach_higher(trials, factor):
    assert 0.0 <= expected_maximum(trials) < expected_maximum(trials * factor)


@given(st.floats(1.0, 1e9))
def test_the_inverse_finds_the_trials_again(trials):
    assert trials == pytest.approx(trials_with_maximum(expected_maximum(trials)), rel=1e-8)


def test_a_simulation_agrees():
    found = np.random.default_rng(0).normal(size=(20_000, 30)).max(axis=1)
    assert expected_maximum(30) == pytest.approx(found.mean(), abs=4 * found.std() / math.sqrt(20_000))


@pytest.mark.parametrize("function", [expected_maximum, false_strategy_maximum, trials_with_maximum])
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_numbers_that_are_none_are_refused(function, value):
    with pytest.raises(ValueError, match="trials"):
        function(value)
