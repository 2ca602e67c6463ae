"""The paired stationary bootstrap against a slow one written day by day."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest
from ratchet_cases import returns, score_of, scored, trial

from autoquant.ratchet.bootstrap import counted_sharpes, standard_error
from autoquant.stats.bootstrap import stationary_counts


def sharpe(path: np.ndarray) -> float:
    return float(path.mean() / path.std(ddof=1) * np.sqrt(365))


def slow_standard_error(a: np.ndarray, b: np.ndarray, samples: int) -> float:
    generator, differences = np.random.default_rng(99), []
    for _ in range(samples):
        scores = []
        drawn = []
        for fold in range(a.shape[0]):
            days, day = [], 0
            for _ in range(a.shape[1]):
                restart = not days or generator.random() < 0.1
                day = int(generator.integers(a.shape[1])) if restart else (day + 1) % a.shape[1]
                days.append(day)
            drawn.append(days)
            assert fold == len(drawn) - 1
        for path in (a, b):
            scores.append(score_of([sharpe(path[fold][days]) for fold, days in enumerate(drawn)]))
        differences.append(scores[0] - scores[1])
    return float(np.std(differences, ddof=1))


def test_the_standard_error_is_that_of_a_loop_over_days() -> None:
    ours, theirs = returns(1, 122), returns(2, 122)
    mixed = 0.8 * np.array(ours) + 0.6 * np.array(theirs)
    other = tuple(tuple(row) for row in mixed.tolist())
    fast = standard_error(trial(1, scored(daily=ours)), trial(2, scored(daily=other)), samples=4000)
    slow = slow_standard_error(np.array(ours), mixed, 400)
    assert slow == pytest.approx(fast, rel=0.12)


def test_one_pair_always_has_the_same_standard_error_and_another_pair_another_draw() -> None:
    a, b = trial(1, scored(daily=returns(1, 60))), trial(2, scored(daily=returns(2, 60)))
    first = standard_error(a, b)
    assert first == standard_error(a, b)
    assert first != standard_error(replace(a, strategy="ff" * 32), b)
    assert first == pytest.approx(standard_error(replace(a, strategy="ff" * 32), b), rel=0.1)


def test_two_equal_paths_differ_by_nothing() -> None:
    assert 0.0 == standard_error(trial(1, scored(daily=returns(1))), trial(2, scored(daily=returns(1))))


def test_paths_of_different_days_have_no_standard_error() -> None:
    a = trial(1, scored(daily=returns(1, 12)))
    for daily in (returns(1, 11), returns(1, 12, folds=5), ()):
        assert (
            standard_error(a, trial(2, scored(daily=daily) if daily else replace(scored(), daily_returns=()))) is None
        )


def test_draws_cover_every_day_alike_in_blocks_of_the_mean_length() -> None:
    counts = stationary_counts(np.random.default_rng(1), 4000, 50, 10.0)
    assert np.all(counts.sum(axis=1) == 50)
    assert np.ones(50) == pytest.approx(counts.mean(axis=0), abs=0.15)
    # variance of the mean of an AR(1)-like step function grows with the block length: 10 days is 8 to 10 times one day
    path = np.sin(2 * np.pi * np.arange(50) / 50)
    spread = (counts @ path / 50).var() / (stationary_counts(np.random.default_rng(1), 4000, 50, 1.0) @ path / 50).var()
    assert 5.0 < spread < 12.0


def test_sharpe_from_counts_is_sharpe_of_the_drawn_days() -> None:
    generator = np.random.default_rng(3)
    path = generator.normal(0.001, 0.01, 40)
    counts = stationary_counts(generator, 20, 40, 10.0)
    expected = [sharpe(np.repeat(path, row.astype(int))) for row in counts]
    assert expected == pytest.approx(counted_sharpes(counts, path).tolist(), rel=1e-10)


@pytest.mark.parametrize("level", [0.0, 0.01, -1.0])
def test_a_flat_path_has_a_sharpe_of_zero(level: float) -> None:
    counts = stationary_counts(np.random.default_rng(3), 5, 40, 10.0)
    assert [0.0] * 5 == counted_sharpes(counts, np.full(40, level)).tolist()


def test_a_thousand_samples_take_less_than_fifty_milliseconds() -> None:
    a, b = trial(1, scored(daily=returns(1, 122))), trial(2, scored(daily=returns(2, 122)))

    def seconds() -> float:
        begin = time.process_time()
        standard_error(a, b)
        return time.process_time() - begin

    assert min(seconds() for _ in range(7)) < 0.05
