"""Our numbers against other people's code, where it is installed. None of it is needed to run AutoQuant."""

from __future__ import annotations

import importlib
import warnings
from types import ModuleType

import numpy as np
import pytest
from stats_cases import autoregressive, noise, reference_matrix

from autoquant.stats.bootstrap import optimal_block_length, stationary_counts
from autoquant.stats.multiple import deflate, expected_maximum_sharpe
from autoquant.stats.overfitting import backtest_overfitting
from autoquant.stats.reality import superiority
from autoquant.stats.sharpe import probabilistic_sharpe_of


def package(name: str) -> ModuleType:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return importlib.import_module(name)
        except ImportError:
            pytest.skip(f"the cross-check {name.split('.')[0]} is not installed: uv sync --group proof")


def skewed(seed: int):
    return np.random.default_rng(seed).gumbel(0.0005, 0.01, 400)


def test_skfolio_has_the_same_probabilistic_sharpe_ratio():
    measures = package("skfolio.measures")
    for seed in range(5):
        expected = measures.probabilistic_sharpe_ratio(skewed(seed), benchmark_sharpe_ratio=0.05)
        assert expected == pytest.approx(probabilistic_sharpe_of(skewed(seed), 0.05), abs=1e-12)


def test_skfolio_has_the_same_deflated_sharpe_ratio():
    measures = package("skfolio.measures")
    sharpes = np.random.default_rng(9).normal(0, 0.05, 60)
    found = deflate(skewed(1), sharpes, 10, form="false-strategy").counted
    assert measures.deflated_sharpe_ratio(skewed(1), sharpes) == pytest.approx(found.probability, abs=1e-12)


def test_ffn_has_the_same_expected_maximum():
    ffn = package("ffn")
    for trials in (2, 10, 750):
        expected = ffn.calc_expected_max_sharpe(trials, 0.3)
        assert expected == pytest.approx(expected_maximum_sharpe(trials, 0.09, form="false-strategy"), abs=1e-12)


def test_ffn_has_the_same_probability_of_overfitting():
    ffn, pandas = package("ffn"), package("pandas")
    for panel, blocks in ((reference_matrix(), 8), (noise(1, 205, 12), 10)):
        expected = ffn.calc_prob_backtest_overfitting(pandas.DataFrame(panel), n_blocks=blocks)
        found = backtest_overfitting(panel, blocks=blocks, objective="sharpe")
        assert expected == pytest.approx(found.probability, abs=1e-12)


def test_arch_has_the_same_block_lengths():
    arch = package("arch.bootstrap")
    for periods in (20, 60, 366, 732):
        for slope in (-0.5, 0.0, 0.3, 0.9):
            series = autoregressive(periods, periods, slope)
            found = optimal_block_length(series)
            expected = arch.optimal_block_length(series).to_numpy()[0]
            assert expected == pytest.approx([found.stationary, found.circular], abs=1e-9)


def test_arch_has_the_same_superiority_once_its_losses_are_studentised():
    arch = package("arch.bootstrap")
    panel = noise(3, 400, 6) * np.array([1, 5, 1, 1, 0.2, 1]) + np.array([-0.001, 0.001, 0, 0.0008, 0.0001, -0.002])
    found, losses = superiority_and_losses(panel)
    test = arch.SPA(np.zeros(400), losses, block_size=7, reps=9999, studentize=False, seed=1)
    test.compute()
    expected = [test.pvalues[key] for key in ("lower", "consistent", "upper")]
    assert 0.05 < expected[0] < expected[2] < 0.9
    assert expected == pytest.approx([found.p_lower, found.p_consistent, found.p_upper], abs=0.02)


def test_arch_steps_down_to_the_same_columns_where_none_is_poor_enough_to_be_dropped():
    arch = package("arch.bootstrap")
    panel = noise(4, 400, 5) + np.array([0.003, 0.0016, 0.0, 0.0011, 0.0002])
    found, losses = superiority_and_losses(panel)
    for size in (0.01, 0.05, 0.1, 0.3):
        step = arch.StepM(np.zeros(400), losses, size=size, block_size=7, reps=9999, studentize=False, seed=1)
        step.compute()
        close = [p for p in found.stepwise if abs(p - size) < 0.015]  # both are draws
        assert close or list(step.superior_models) == [k for k, p in enumerate(found.stepwise) if p <= size]


def superiority_and_losses(panel):
    """Ours, and the panel as arch wants it: losses, in units of the bootstrap's standard deviation."""
    found = superiority(panel, np.random.default_rng(0), samples=9999, mean_block=7.0)
    draws = stationary_counts(np.random.default_rng(0), 9999, len(panel), 7.0) @ panel / len(panel)
    return found, -panel / draws.std(axis=0)
