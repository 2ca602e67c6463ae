from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from engine_markets import market, span, weights

from autoquant import codec
from autoquant.oracle import simulate
from autoquant.oracle.gates import Verdict, economic_gates, lockbox_verdict, stated_gross

NAN = math.nan
ROWS = [np.full((4, 2), 0.25)] * 6


@pytest.fixture(scope="module")
def healthy():
    panel = market({"A": [100.0, 101.0, 99.0] * 8, "B": [100.0] * 24})
    result = simulate(panel, weights(panel, A=0.5), *span(panel))
    return dataclasses.replace(
        result,
        max_drawdown=0.1,
        equity=np.linspace(1, 1.1, 24),
        turnover_sum=5.0,
        years=1.0,
        trades=10,
        mean_gross=0.5,
        volatility=0.15,
    )


def gates(folds, decisions=ROWS):
    return {gate.name: gate for gate in economic_gates(folds, decisions)}


def with_fold(healthy, number, **changes):
    return [dataclasses.replace(healthy, **changes) if n == number else healthy for n in range(1, 7)]


def test_a_healthy_strategy_passes_all(healthy):
    found = gates([healthy] * 6)
    assert ["leverage", "drawdown", "turnover", "trades", "exposure"] == list(found)
    assert all(gate.passed and gate.headroom >= 0 for gate in found.values())


@pytest.mark.parametrize(
    ("name", "changes", "value", "limit"),
    [
        ("leverage", {"mean_gross": 1.2}, 1.2, 1.1),
        ("drawdown", {"max_drawdown": 0.26}, 0.26, 0.25),
        ("drawdown", {"max_drawdown": 1.0}, 1.0, 0.25),
        ("trades", {"trades": 0}, 0.0, 1.0),
        ("exposure", {"mean_gross": 0.09}, 0.09, 0.10),
        ("exposure", {"volatility": 0.04}, 0.04, 0.05),
    ],
)
def test_one_bad_fold_fails_its_gate_and_is_named(healthy, name, changes, value, limit):
    found = gates(with_fold(healthy, 4, **changes))
    gate = found.pop(name)
    assert not gate.passed
    assert (value, limit, 4) == (gate.value, gate.limit, gate.fold)
    assert gate.headroom < 0
    assert all(other.passed for other in found.values())


@pytest.mark.parametrize("value", [NAN, math.inf, -math.inf])
@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("leverage", "mean_gross"),
        ("drawdown", "max_drawdown"),
        ("exposure", "volatility"),
        ("turnover", "turnover_sum"),
    ],
)
def test_a_value_that_is_not_finite_fails_and_stays_json(healthy, name, field, value):
    """INV-10, INV-21."""
    gate = gates(with_fold(healthy, 2, **{field: value}))[name]
    assert not gate.passed
    assert gate.value is None
    assert gate.headroom is None
    assert "missing" in gate.detail
    codec.dumps(gate)


def test_the_chained_path_may_fall_further_than_any_fold(healthy):
    falling = dataclasses.replace(healthy, equity=np.linspace(1, 0.9, 24))
    gate = gates([falling] * 6)["drawdown"]
    assert not gate.passed
    assert gate.fold is None
    assert 1 - 0.9**6 == pytest.approx(gate.value)


def test_turnover_is_measured_against_the_gross_that_earned_it(healthy):
    small = dataclasses.replace(healthy, mean_gross=0.12)
    assert 5.0 / 0.12 == pytest.approx(gates([small] * 6)["turnover"].value)
    assert not gates([small] * 6)["turnover"].passed
    full = dataclasses.replace(healthy, mean_gross=1.05, turnover_sum=39.0)
    assert 39.0 == pytest.approx(gates([full] * 6)["turnover"].value)


def test_trades_need_a_total_as_well(healthy):
    gate = gates([dataclasses.replace(healthy, trades=3)] * 6)["trades"]
    assert (18.0, 20.0, None, False) == (gate.value, gate.limit, gate.fold, gate.passed)


def test_leverage_is_read_from_the_rows_as_returned(healthy):
    rows = [*ROWS[:5], np.array([[0.5, 0.5], [0.6, -0.5]])]
    gate = gates([healthy] * 6, rows)["leverage"]
    assert not gate.passed
    assert (6, 1.1) == (gate.fold, pytest.approx(gate.value))
    rounding = [np.full((4, 2), 0.5 + 4e-10)] * 6
    assert gates([healthy] * 6, rounding)["leverage"].passed


def test_a_weight_held_through_nan_counts_in_the_leverage():
    rows = np.array([[NAN, 0.3], [0.8, NAN], [NAN, NAN], [0.1, NAN]])
    assert [0.3, 1.1, 1.1, 0.4] == pytest.approx(stated_gross(rows).tolist())


def test_no_fold_and_no_row_is_no_pass():
    assert not any(gate.passed for gate in economic_gates([], []))


@pytest.mark.parametrize(
    ("sharpe", "probability", "hold", "verdict"),
    [
        (2.0, 0.951, True, Verdict.CONFIRMED),
        (2.0, 0.95, True, Verdict.INSUFFICIENT),
        (0.0, 0.5, True, Verdict.REJECTED),
        (-0.1, 0.99, True, Verdict.REJECTED),
        (2.0, 0.99, False, Verdict.REJECTED),
        (NAN, NAN, True, Verdict.REJECTED),
        (1.0, NAN, True, Verdict.INSUFFICIENT),
    ],
)
def test_verdicts_on_the_sealed_year(sharpe, probability, hold, verdict):
    assert verdict is lockbox_verdict(sharpe, probability, hold)
    assert verdict.value in ("confirmed", "rejected", "insufficient evidence")
