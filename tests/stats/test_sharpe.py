from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoquant.stats.sharpe import (
    annualised,
    minimum_track_record,
    moments,
    probabilistic_sharpe,
    probabilistic_sharpe_of,
    sharpe_interval,
    sharpe_variance,
)


def test_probability_with_normal_returns():
    assert 0.981675 == pytest.approx(probabilistic_sharpe(0.458, 24), abs=5e-7)


def test_probability_with_fat_left_tails_is_lower():
    assert 0.913361 == pytest.approx(probabilistic_sharpe(0.458, 24, skew=-2.448, kurtosis=10.164), abs=5e-7)


def test_probability_against_a_deflated_benchmark():
    found = probabilistic_sharpe(2.5 / math.sqrt(250), 1250, skew=-3, kurtosis=10, benchmark=0.11317218)
    assert 0.90039683444939034 == pytest.approx(found, abs=1e-6)


def test_a_sample_gives_its_own_moments():
    rng = np.random.default_rng(0)
    returns = rng.standard_t(5, 300) * 0.01 + 0.001
    unit = (returns - returns.mean()) / returns.std()
    expected = probabilistic_sharpe(
        returns.mean() / returns.std(ddof=1), 300, skew=(unit**3).mean(), kurtosis=(unit**4).mean()
    )
    assert expected == pytest.approx(probabilistic_sharpe_of(returns), rel=1e-12)
    assert probabilistic_sharpe_of(returns, 0.2) < probabilistic_sharpe_of(returns)


def test_returns_that_never_move_are_no_evidence():
    assert 0.5 == probabilistic_sharpe_of([0.001] * 100)
    assert 0.5 == probabilistic_sharpe_of([0.0] * 100)
    assert 0.5 == probabilistic_sharpe_of([0.01])


def test_a_shift_of_the_sign_mirrors_the_probability():
    returns = np.random.default_rng(1).normal(0.001, 0.02, 200)
    assert 1.0 == pytest.approx(probabilistic_sharpe_of(returns) + probabilistic_sharpe_of(-returns))


def test_what_is_not_finite_is_left_out():
    returns = np.random.default_rng(2).normal(0.001, 0.02, 200)
    holes = np.insert(returns, [0, 50, 200], [np.nan, np.inf, np.nan])
    assert moments(returns) == moments(holes)
    assert sharpe_interval(returns) == sharpe_interval(holes)
    assert 200 == moments(holes).observations


def test_moments_are_biased_and_kurtosis_is_raw():
    found = moments([0.0, 0.0, 0.0, 4.0])  # mean 1, σ² = 3, Σz³/4 = (27 − 3)/4/3^1.5, Σz⁴/4 = (81 + 3)/4/9
    assert 6 / 3**1.5 == pytest.approx(found.skew)
    assert 21 / 9 == pytest.approx(found.kurtosis)
    assert 1 / 2 == pytest.approx(found.sharpe)  # std with ddof 1 is 2


@pytest.mark.parametrize(
    ("expected", "sharpe", "skew", "kurtosis"),
    [(0.715216, 0.7079, -0.2250, 2.9570), (1.159303, 0.8183, -1.4455, 7.0497)],
)
def test_minimum_track_record_in_years_of_months(expected, sharpe, skew, kurtosis):
    assert expected == pytest.approx(minimum_track_record(sharpe, skew=skew, kurtosis=kurtosis) / 12, abs=5e-7)


def test_minimum_track_record_in_years_of_days():
    found = minimum_track_record(2 / math.sqrt(250), benchmark=1 / math.sqrt(250)) / 250
    assert 2.7311878017 == pytest.approx(found, abs=5e-11)


def test_no_track_record_shows_what_is_not_there():
    assert math.inf == minimum_track_record(0.1, benchmark=0.1)
    assert math.inf == minimum_track_record(-0.1)
    assert 1.0 == minimum_track_record(0.1, confidence=0.5)


@pytest.mark.parametrize("confidence", [0.4, 1.0, math.nan])
def test_a_confidence_that_is_none_is_refused(confidence):
    with pytest.raises(ValueError, match="confidence"):
        minimum_track_record(0.1, confidence=confidence)


@given(
    sharpe=st.floats(0.01, 0.5),
    benchmark=st.floats(-0.2, 0.0),
    skew=st.floats(-1.0, 1.0),
    confidence=st.floats(0.6, 0.99),
)
def test_probability_after_the_minimum_track_record_is_the_confidence(sharpe, benchmark, skew, confidence):
    periods = minimum_track_record(sharpe, skew=skew, kurtosis=5.0, benchmark=benchmark, confidence=confidence)
    before = probabilistic_sharpe(sharpe, math.floor(periods), skew=skew, kurtosis=5.0, benchmark=benchmark)
    after = probabilistic_sharpe(sharpe, math.ceil(periods), skew=skew, kurtosis=5.0, benchmark=benchmark)
    assert before <= confidence + 1e-12
    assert after >= confidence - 1e-12


@given(scale=st.floats(1e-3, 1e3), seed=st.integers(0, 1000))
def test_scale_changes_no_figure_of_a_sample(scale, seed):
    returns = np.random.default_rng(seed).standard_t(4, 100) * 0.01
    assert probabilistic_sharpe_of(returns) == pytest.approx(probabilistic_sharpe_of(scale * returns), rel=1e-9)
    assert sharpe_interval(returns) == pytest.approx(sharpe_interval(scale * returns), rel=1e-6, abs=1e-9)


@given(values=st.lists(st.floats(-0.1, 0.1), min_size=2, max_size=30))
def test_the_variance_of_a_samples_sharpe_ratio_is_never_negative(values):
    found = moments(values)
    assert found is None or sharpe_variance(found.sharpe, found.skew, found.kurtosis) >= -1e-6


def test_the_interval_covers_as_often_as_it_says():
    rng = np.random.default_rng(5)
    covered = [low <= 0.1 <= high for low, high in (sharpe_interval(rng.normal(0.1, 1.0, 250)) for _ in range(1000))]
    assert 0.95 == pytest.approx(np.mean(covered), abs=0.021)  # 3 standard errors


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="coverage"):
        sharpe_interval([0.1, 0.2], coverage=1.0)
    with pytest.raises(ValueError, match="one dimension"):
        moments([[0.1, 0.2]])


def test_days_are_shown_per_year_by_the_root_of_365():
    assert math.sqrt(365) == annualised(1.0)
