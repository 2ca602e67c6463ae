from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stats_cases import noise

from autoquant.stats.separation import months_to_separate, replicates_to_separate
from autoquant.stats.standings import probability_best, standings


def generator() -> np.random.Generator:
    return np.random.default_rng(6)


def folds(seed: int, competitors: int, drift: float = 0.0) -> list[np.ndarray]:
    return [noise(seed + k, 122, competitors) + drift * np.arange(competitors) for k in range(6)]


def test_the_score_is_the_races():
    panels = folds(0, 3)
    for column, standing in enumerate(standings(panels, generator(), samples=50)):
        sharpes = [p[:, column].mean() / p[:, column].std(ddof=1) * math.sqrt(365) for p in panels]
        assert np.mean(sharpes) - 0.5 * np.std(sharpes) == pytest.approx(standing.score, rel=1e-9)


def test_the_error_is_about_that_of_a_mean_of_fold_sharpes():
    # a third of a year per fold: σ of a fold's Sharpe ratio is √3, of the mean of six √3/√6; the spread comes on top
    found = standings(folds(10, 1), generator(), samples=1000, mean_block=1.0)[0]
    assert 0.6 < found.standard_error < 1.0
    assert (found.low + found.high) / 2 == pytest.approx(found.score)
    assert 2 * 1.959964 * found.standard_error == pytest.approx(found.high - found.low)


@given(st.integers(0, 100), st.integers(1, 5))
@settings(max_examples=15)
def test_somebody_is_best(seed, competitors):
    found = standings(folds(seed, competitors), generator(), samples=60)
    assert 1.0 == pytest.approx(sum(standing.best for standing in found))


def test_copies_share_and_skill_leads():
    panels = folds(3, 2, drift=0.003)
    copied = [panel[:, [0, 1, 1]] for panel in panels]
    seed, first, second = standings(copied, generator(), samples=300)
    assert first == second
    assert seed.best < 0.01 < 0.49 < first.best <= 0.5


@pytest.mark.parametrize("competitors", [3, 5, 7, 9, 11])
def test_who_holds_the_same_is_best_as_often_wherever_it_stands(competitors):
    # a product of matrices rounds its last columns otherwise: enough to turn every tie
    panels = [noise(k, 122, competitors) for k in range(6)]
    for panel in panels:
        panel[:, -1] = panel[:, 0]
    found = standings(panels, generator(), samples=100)
    assert found[0] == found[-1]


def with_sharpe(seed: int, yearly: float) -> np.ndarray:
    days = noise(seed, 122, 1)[:, 0]
    days = days - days.mean()
    return days + yearly * days.std(ddof=1) / math.sqrt(365)


def test_equal_scores_are_best_as_often_however_their_folds_differ():
    # 1 = 1 − 0 = 1.5 − ½ · 1; a resample spreads equal folds most, which is no reason to put them second
    swinging = (2.5, 0.5) * 3
    panels = [np.column_stack([with_sharpe(k, 1.0), with_sharpe(50 + k, swinging[k])]) for k in range(6)]
    even, uneven = standings(panels, generator(), samples=400)
    assert even.score == pytest.approx(uneven.score)
    assert 0.5 == pytest.approx(even.best, abs=0.06)


def test_who_never_trades_scores_zero_without_error():
    idle = standings([np.column_stack([p, np.zeros(122)]) for p in folds(0, 1)], generator(), samples=50)[1]
    assert (0.0, 0.0, 0.0) == (idle.score, idle.standard_error, idle.low)


def test_ties_share_a_sample():
    assert (0.5, 0.25, 0.25) == probability_best(np.array([[2.0, 1.0, 1.0], [0.0, 3.0, 3.0]]))


def test_bad_folds_are_named():
    for bad in ([], [noise(0, 9, 2), noise(0, 9, 3)], [noise(0, 1, 2)]):
        with pytest.raises(ValueError, match="at least one fold"):
            standings(bad, generator())
    with pytest.raises(ValueError, match="two samples"):
        standings(folds(0, 1), generator(), samples=1)
    assert () == standings([np.empty((9, 0))], generator())


def test_twice_the_difference_needs_a_quarter_of_the_months():
    assert months_to_separate(0.1, 0.05, 730) == pytest.approx(months_to_separate(0.2, 0.05, 730) * 4)


def test_a_difference_as_large_as_its_critical_value_needs_the_days_it_has_at_even_power():
    months = months_to_separate(1.959964 * 0.05, 0.05, 730, power=0.5)
    assert 24.0 == pytest.approx(months, rel=1e-6)


@given(st.floats(0.01, 1.0), st.floats(0.01, 1.0), st.floats(0.1, 0.9), st.integers(1, 45))
def test_more_power_and_more_pairs_need_more(difference, error, power, pairs):
    plain = months_to_separate(difference, error, 700, power=power)
    assert plain < months_to_separate(difference, error, 700, power=power + 0.05)
    assert plain <= months_to_separate(difference, error, 700, power=power, pairs=pairs)
    assert replicates_to_separate(difference, error) <= replicates_to_separate(difference, error, pairs=pairs)
    assert plain == months_to_separate(-difference, error, 700, power=power)


def test_so_many_replicates_find_the_difference_four_times_in_five():
    races = replicates_to_separate(0.5, 0.6)
    rng = np.random.default_rng(0)
    first, second = rng.normal(0.5, 0.6, (4000, races)), rng.normal(0.0, 0.6, (4000, races))
    z = (first.mean(axis=1) - second.mean(axis=1)) / (0.6 * math.sqrt(2 / races))
    assert 0.8 == pytest.approx((np.abs(z) > 1.959964).mean(), abs=0.03)


def test_no_difference_is_never_found_and_no_estimate_is_refused():
    assert math.inf == months_to_separate(0.0, 0.1, 700) == replicates_to_separate(0.0, 0.1)
    assert 2 == replicates_to_separate(5.0, 0.01)
    for arguments in ((math.nan, 0.1, 700), (0.1, -0.1, 700), (0.1, 0.1, 0)):
        with pytest.raises(ValueError, match="no estimate"):
            months_to_separate(*arguments)
    with pytest.raises(ValueError, match="no estimate"):
        replicates_to_separate(0.1, math.inf)
    with pytest.raises(ValueError, match="pairs"):
        months_to_separate(0.1, 0.1, 700, pairs=0)
    with pytest.raises(ValueError, match="power"):
        replicates_to_separate(0.1, 0.1, power=1.0)
