"""The finding that shapes the page: where each attempt edits the champion, only a placebo race stays honest."""

from __future__ import annotations

import math

import numpy as np
import pytest

from autoquant.stats.multiple import deflate, sidak
from autoquant.stats.placebo import placebo_test
from autoquant.stats.reality import superiority
from autoquant.stats.sharpe import probabilistic_sharpe_of
from autoquant.stats.trials import effective_trials

FOLDS, DAYS, ATTEMPTS = 6, 122, 50
LIKENESS = np.float32(0.9)
"""Correlation of a candidate's returns with its parent's."""


def folds_and_scores(paths):
    folds = paths.reshape(len(paths), FOLDS, DAYS)
    mean = folds.mean(axis=2)
    sharpes = mean / np.sqrt(((folds * folds).mean(axis=2) - mean * mean) * DAYS / (DAYS - 1)) * math.sqrt(365)
    return sharpes, sharpes.mean(axis=1) - 0.5 * sharpes.std(axis=1)


def blind_climbs(seed: int, races: int, keep: int = 0):
    """Hill climbers without skill: each attempt is a near-copy of the champion plus noise, none has an edge.

    The champion changes by the search ratchet: better by 0.02 and in four folds of six.
    """
    rng = np.random.default_rng(seed)
    champion = rng.standard_normal((races, FOLDS * DAYS), dtype=np.float32)
    sharpes, scores = folds_and_scores(champion)
    trials = [champion[:keep].copy()]
    for _ in range(ATTEMPTS):
        fresh = rng.standard_normal(champion.shape, dtype=np.float32)
        candidate = LIKENESS * champion + np.sqrt(1 - LIKENESS**2) * fresh
        trials.append(candidate[:keep].copy())
        new_sharpes, new_scores = folds_and_scores(candidate)
        better = (new_scores > scores + 0.02) & ((new_sharpes > sharpes).sum(axis=1) >= 4)
        champion[better], sharpes[better], scores[better] = candidate[better], new_sharpes[better], new_scores[better]
    return scores, champion[:keep].astype(np.float64), np.stack(trials, axis=2).astype(np.float64)


@pytest.mark.slow
def test_the_placebo_p_value_is_uniform_and_the_tests_of_fixed_sets_are_not():
    agents, champions, trials = blind_climbs(1, 1500, keep=100)
    placebos, _, _ = blind_climbs(2, 3000)
    rng = np.random.default_rng(3)
    p_values = np.array([placebo_test(agent, rng.choice(placebos, 39, replace=False)).p_value for agent in agents])
    for level in (0.05, 0.25, 0.5, 0.75):
        error = math.sqrt(level * (1 - level) / len(agents))
        assert level == pytest.approx((p_values <= level + 1e-12).mean(), abs=3 * error)

    called = {"SPA": 0, "StepM": 0, "DSR": 0, "DSR headline": 0, "Šidák": 0}
    for champion, tried in zip(champions, trials, strict=True):
        test = superiority(tried, rng, samples=199, mean_block=5.0)
        number = effective_trials(tried, rng, draws=2000).number
        deflation = deflate(champion, tried.mean(axis=0) / tried.std(axis=0, ddof=1), number)
        called["SPA"] += test.p_consistent <= 0.05
        called["StepM"] += min(test.stepwise) <= 0.05
        called["DSR"] += deflation.effective.probability > 0.95
        called["DSR headline"] += deflation.headline.probability > 0.95
        called["Šidák"] += sidak(1 - probabilistic_sharpe_of(champion), ATTEMPTS + 1) <= 0.05
    assert min(called["SPA"], called["StepM"], called["DSR"]) > 60, called  # of 100 champions, none with any skill
    assert min(called.values()) > 10, called
