from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoquant.stats.proportion import wilson


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_the_four_intervals_of_newcombes_table(successes: int, trials: int, low: float, high: float) -> None:
    """Newcombe (1998), table I, method 3."""
    assert (low, high) == pytest.approx(wilson(successes, trials), abs=5e-5)


def test_no_trial_has_no_share() -> None:
    assert wilson(0, 0) is None


def test_more_successes_than_trials_are_refused() -> None:
    with pytest.raises(ValueError, match="5 successes of 4 trials"):
        wilson(5, 4)
    with pytest.raises(ValueError, match="-1 successes"):
        wilson(-1, 4)


def test_a_coverage_of_everything_is_refused() -> None:
    with pytest.raises(ValueError, match="coverage"):
        wilson(1, 4, coverage=1.0)


@given(st.integers(1, 2000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), st.floats(0.5, 0.999))
def test_the_interval_holds_the_share_mirrors_and_stays_inside(case: tuple[int, int], coverage: float) -> None:
    successes, trials = case
    found, mirrored = (
        wilson(successes, trials, coverage=coverage),
        wilson(trials - successes, trials, coverage=coverage),
    )
    assert found is not None
    assert mirrored is not None
    assert 0.0 <= found[0] <= successes / trials <= found[1] <= 1.0
    assert found == pytest.approx((1.0 - mirrored[1], 1.0 - mirrored[0]), abs=1e-12)


@given(st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(1, n), st.just(n))))
def test_each_end_rejects_the_share_just_so(case: tuple[int, int]) -> None:
    """At both ends the score test's statistic is z: |p̂ − p| = z·√(p(1 − p)/n)."""
    successes, trials = case
    found = wilson(successes, trials)
    assert found is not None
    for end in found:
        gap = 1.959963984540054**2 * end * (1 - end) / trials
        assert (successes / trials - end) ** 2 == pytest.approx(gap, abs=1e-9)
