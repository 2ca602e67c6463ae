from __future__ import annotations

import math

import numpy as np
import pytest

from autoquant.stats.sharpe import probabilistic_sharpe, probabilistic_sharpe_of


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
