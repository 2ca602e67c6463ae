"""Repeated races: Welch's interval, the spread between races, and what nothing can be said of."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from autoquant.stats.replicates import pooled_spread, welch

# Example 1 of the encyclopaedia's article on Welch's test: equal variances and sizes, t = −2.46, ν = 25.0, p = 0.021.
FIRST = [27.5, 21.0, 19.0, 23.6, 17.0, 17.9, 16.9, 20.1, 21.9, 22.6, 23.1, 19.6, 19.0, 21.7, 21.4]
SECOND = [27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8, 22.0, 24.8, 20.2, 21.9, 22.1, 22.9, 20.5, 24.4]


def test_a_printed_example_comes_out() -> None:
    found = welch(FIRST, SECOND)
    assert found is not None
    assert (-2.46, 25.0, 0.021) == (
        round(found.difference / found.standard_error, 2), round(found.degrees, 1), round(found.p_value, 3),
    )  # fmt: skip


@pytest.mark.parametrize(("first", "second"), [((0.9, 1.1, 1.0), (0.2, 0.4)), ((1.0, 3.0), (2.0, 2.5, 9.0, 2.0))])
def test_it_agrees_with_scipy(first: tuple[float, ...], second: tuple[float, ...]) -> None:
    found, expected = welch(first, second, coverage=0.9), stats.ttest_ind(first, second, equal_var=False)
    assert found is not None
    interval = expected.confidence_interval(0.9)
    assert (expected.pvalue, expected.df) == pytest.approx((found.p_value, found.degrees), abs=1e-12)
    assert (interval.low, interval.high) == pytest.approx((found.low, found.high), abs=1e-12)


def test_the_interval_leaves_zero_out_exactly_when_p_is_small() -> None:
    rng = np.random.default_rng(3)
    for _ in range(40):
        found = welch(rng.normal(1.0, 0.5, 4), rng.normal(0.2, 0.3, 3))
        assert found is not None
        assert (found.p_value < 0.05) == (found.low > 0.0 or found.high < 0.0)


def test_one_race_on_a_side_says_nothing() -> None:
    assert welch([1.0], [0.2, 0.3]) is None
    assert welch([1.0, 2.0], []) is None


def test_races_that_all_end_alike_do_not_differ_and_without_any_spread_there_is_no_test() -> None:
    alike = welch([0.4, 0.4], [0.4, 0.4, 0.4])
    assert alike is not None
    assert (0.0, 1.0) == (alike.difference, alike.p_value)
    assert welch([0.4, 0.4], [0.5, 0.5]) is None


def test_one_side_without_spread_still_has_a_test() -> None:
    found = welch([0.4, 0.4], [0.9, 1.0, 1.1])
    assert found is not None
    assert pytest.approx(2.0) == found.degrees


def test_the_spread_between_races_pools_what_was_repeated() -> None:
    assert pytest.approx(np.sqrt((0.02 + 0.02) / 3)) == pooled_spread([[1.0, 1.2], [0.3, 0.5, 0.4], [2.0]])
    assert pooled_spread([[1.0], []]) is None


def test_results_are_rows_of_finite_numbers() -> None:
    with pytest.raises(ValueError, match="finite"):
        welch([1.0, float("nan")], [1.0, 2.0])
    with pytest.raises(ValueError, match="coverage"):
        welch([1.0, 2.0], [1.0, 2.0], coverage=1.0)
