"""What is shown beside an accepted score."""

import numpy as np
import pytest

from autoquant.oracle.metrics import sharpe_ratio
from autoquant.oracle.records import ShiftedScore
from autoquant.oracle.stress import drawdown_at_volatility, stress

DAYS = [np.random.default_rng(k).normal(0.001, 0.02, 122).tolist() for k in range(6)]


def test_scaling_a_strategy_leaves_its_drawdown_at_a_volatility_alone() -> None:
    returns = np.concatenate(DAYS)
    assert drawdown_at_volatility(returns, 0.2) == pytest.approx(drawdown_at_volatility(returns / 10, 0.2))


def test_a_path_that_never_moves_has_no_drawdown_and_no_interval() -> None:
    still = stress([[0.0] * 122], [])
    assert (None, 0.0, None, None) == (
        still.drawdown_at_volatility,
        still.sharpe,
        still.sharpe_low,
        still.sharpe_high,
    )


def test_a_loss_that_scaling_makes_total_is_a_fall_to_zero_and_no_further() -> None:
    returns = [-0.9, 0.1, *[0.0] * 363]
    assert 1.0 == drawdown_at_volatility(returns, 2.0)


def test_the_interval_lies_around_the_ratio_of_the_full_path() -> None:
    shown = stress(DAYS, [ShiftedScore(3, 0.4), ShiftedScore(7, None)])
    full = sharpe_ratio(np.concatenate(DAYS))
    assert full == shown.sharpe
    assert shown.sharpe_low is not None
    assert shown.sharpe_high is not None
    assert full == pytest.approx((shown.sharpe_low + shown.sharpe_high) / 2)
    # i.i.d. normal days: about 1.96 · √(365 / 731)
    assert 1.385 == pytest.approx((shown.sharpe_high - shown.sharpe_low) / 2, rel=0.02)
    assert (3, 7) == tuple(item.days for item in shown.shifted)
