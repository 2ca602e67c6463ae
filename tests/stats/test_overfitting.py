from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stats_cases import Floats, noise, reference_matrix

from autoquant.stats.overfitting import Objective, backtest_overfitting, noise_band


def test_the_reference_matrix_is_the_designs():
    assert (-0.00310513, 0.00694533, -0.01146957) == pytest.approx(reference_matrix()[0, :3], abs=5e-9)


@pytest.mark.parametrize(("blocks", "expected"), [(4, 0.1666667), (8, 0.1142857), (16, 0.1584305)])
def test_probability_on_the_reference_matrix(blocks, expected):
    found = backtest_overfitting(reference_matrix(), blocks=blocks, objective="sharpe")
    assert expected == pytest.approx(found.probability, abs=5e-8)


def test_a_recorded_vector_of_ffn():
    """From ffn 1.4.1, `calc_prob_backtest_overfitting` of the reference matrix in twelve blocks of 13 rows."""
    found = backtest_overfitting(reference_matrix(), blocks=12, objective="sharpe")
    assert 0.3008658008658009 == pytest.approx(found.probability, abs=1e-12)


@pytest.mark.parametrize("blocks", [4, 8, 16])
def test_a_trial_with_skill_is_chosen_rightly(blocks):
    skilled = reference_matrix() + np.where(np.arange(10) == 3, 0.01, 0.0)
    assert 0.0 == backtest_overfitting(skilled, blocks=blocks, objective="sharpe").probability


def test_an_odd_number_of_trials():
    found = backtest_overfitting(reference_matrix()[:, :9], blocks=8, objective="sharpe", trials_least=2)
    assert 0.2285714 == pytest.approx(found.probability, abs=5e-8)


def test_fewer_than_ten_distinct_trials_say_nothing():
    matrix = reference_matrix()
    assert backtest_overfitting(matrix[:, :9]) is None
    assert backtest_overfitting(np.column_stack([matrix[:, :9], matrix])) is not None
    assert backtest_overfitting(matrix[:, [0, 1, 2, 3, 4, 5, 6, 7, 8, 8, 0]]) is None
    assert noise_band(matrix[:, :9], np.random.default_rng(0)) is None


def plainly(panel: Floats, blocks: int, objective: Objective) -> float:
    """The definition, split by split."""
    rows = len(panel) // blocks
    parts = [panel[i * rows : (i + 1) * rows] for i in range(blocks)]

    def sharpe(days: Floats) -> Floats:
        return days.mean(axis=0) / days.std(axis=0, ddof=1)

    def figure(half: list[Floats]) -> Floats:
        if objective == "sharpe":
            return sharpe(np.concatenate(half))
        folds = np.stack([sharpe(part) for part in half])
        return folds.mean(axis=0) - 0.5 * folds.std(axis=0)

    bad = []
    for chosen in combinations(range(blocks), blocks // 2):
        inside = figure([parts[i] for i in chosen])
        outside = figure([parts[i] for i in range(blocks) if i not in chosen])
        winner = outside[inside.argmax()]
        rank = (outside < winner).sum() + ((outside == winner).sum() + 1) / 2
        omega = rank / (panel.shape[1] + 1)
        bad.append(np.log(omega / (1 - omega)) <= 0)
    return float(np.mean(bad))


@pytest.mark.parametrize("objective", ["score", "sharpe"])
@pytest.mark.parametrize("seed", range(4))
def test_block_sums_agree_with_the_definition(objective, seed):
    panel = noise(seed, 83, 11) + 0.02  # three rows too many for eight blocks; a mean that costs digits
    assert plainly(panel, 8, objective) == backtest_overfitting(panel, blocks=8, objective=objective).probability


@given(scale=st.floats(0.01, 100.0), seed=st.integers(0, 50), objective=st.sampled_from(["score", "sharpe"]))
@settings(max_examples=25)
def test_leverage_order_and_copies_of_trials_change_nothing(scale, seed, objective):
    panel = noise(seed, 96, 10)
    expected = backtest_overfitting(panel, blocks=8, objective=objective).probability
    leveraged = panel * np.linspace(1.0, scale, 10)
    assert expected == backtest_overfitting(leveraged, blocks=8, objective=objective).probability
    assert expected == backtest_overfitting(panel[:, ::-1], blocks=8, objective=objective).probability
    copied = np.column_stack([panel, panel[:, 2:5]])
    assert expected == backtest_overfitting(copied, blocks=8, objective=objective).probability


def test_rows_that_fill_no_block_are_dropped_at_the_end():
    panel = noise(1, 170, 10)
    found = backtest_overfitting(panel, blocks=16)
    assert 160 == found.periods
    assert found == backtest_overfitting(panel[:160], blocks=16)


def test_trials_that_never_trade_have_a_sharpe_ratio_of_zero():
    panel = np.column_stack([noise(2, 160, 10), np.zeros(160), np.full(160, 0.01)])
    found = backtest_overfitting(panel, blocks=8)
    assert 12 == found.trials
    assert 0.0 <= found.probability <= 1.0


def test_noise_ranges_widely_and_the_band_says_so():
    found = [backtest_overfitting(noise(seed, 732, 50), blocks=10).probability for seed in range(40)]
    low, high = noise_band(noise(99, 732, 50), np.random.default_rng(0), blocks=10)
    assert 0.5 == pytest.approx(np.mean(found), abs=0.1)
    assert 0.15 < low < 0.35
    assert 0.6 < high < 0.9
    assert 30 <= sum(low <= value <= high for value in found) <= 40


def test_skill_falls_out_of_the_band():
    skilled = noise(5, 732, 20) + np.where(np.arange(20) == 3, 0.003, 0.0)
    low, _ = noise_band(skilled, np.random.default_rng(0), blocks=8)
    assert backtest_overfitting(skilled, blocks=8).probability < low


def test_bad_input_is_named():
    panel = noise(0, 100, 10)
    for blocks in (7, 0, 22):
        with pytest.raises(ValueError, match="blocks is even"):
            backtest_overfitting(panel, blocks=blocks)
    with pytest.raises(ValueError, match="too few for 16 blocks"):
        backtest_overfitting(panel[:31])
    with pytest.raises(ValueError, match="coverage"):
        noise_band(panel, np.random.default_rng(0), coverage=0.0)
    with pytest.raises(ValueError, match="draw"):
        noise_band(panel, np.random.default_rng(0), draws=0)
