from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from stats_cases import noise

from autoquant.stats.compare import compare_pairs, tie_groups
from autoquant.stats.multiple import holm

values = st.lists(st.one_of(st.none(), st.floats(-3, 3)), min_size=1, max_size=7)


def generator() -> np.random.Generator:
    return np.random.default_rng(4)


def test_all_pairs_in_order_with_holm_over_them():
    pairs = compare_pairs(noise(0, 300, 4), generator(), samples=199)
    assert list(combinations(range(4), 2)) == [(pair.first, pair.second) for pair in pairs]
    assert holm([pair.test.p_value for pair in pairs]) == tuple(pair.p_holm for pair in pairs)


def test_a_pairs_test_is_the_same_whoever_else_races():
    panel = noise(1, 300, 4)
    few = compare_pairs(panel[:, :2], generator(), samples=199)
    assert few[0].test == compare_pairs(panel, generator(), samples=199)[0].test


def test_what_its_own_interval_does_not_separate_never_is():
    for pair in compare_pairs(noise(2, 200, 6) + np.linspace(0, 0.004, 6), generator(), samples=999):
        assert not pair.separated or pair.test.low > 0 or pair.test.high < 0


def test_who_never_moves_is_compared_with_nobody():
    panel = np.column_stack([noise(3, 200, 2), np.zeros(200)])
    pairs = compare_pairs(panel, generator(), samples=199)
    assert [False, True, True] == [pair.test is None and pair.p_holm is None for pair in pairs]
    assert pairs[0].test.p_value == pairs[0].p_holm


def test_one_competitor_or_none_has_no_pairs():
    assert () == compare_pairs(noise(0, 200, 1), generator())
    assert () == compare_pairs(np.empty((200, 0)), generator())


def test_one_far_ahead_leads_and_the_others_tie():
    panel = noise(5, 700, 4) + np.array([0.0, 0.004, 0.0001, 0.0])
    pairs = compare_pairs(panel, generator(), samples=999)
    sharpes = list(panel.mean(axis=0) / panel.std(axis=0))
    assert (2, 1, 2, 2) == tie_groups(sharpes, [(pair.first, pair.second) for pair in pairs if pair.separated])


def test_a_chain_of_ties_is_one_group():
    assert (1, 1, 1) == tie_groups([3.0, 2.0, 1.0], [(0, 2)])


def test_the_order_of_groups_is_that_of_the_values():
    everybody = list(combinations(range(3), 2))
    assert (3, 1, 2) == tie_groups([0.1, 0.9, 0.5], everybody)
    assert (None, 1, 2) == tie_groups([None, 0.9, 0.5], everybody)
    assert () == tie_groups([], [])


@given(values, st.data())
def test_who_is_not_separated_shares_a_rank_and_better_is_never_worse(values, data):
    pairs = list(combinations(range(len(values)), 2))
    separated = data.draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    ranks = tie_groups(values, separated)
    assert [rank is None for rank in ranks] == [value is None for value in values]
    for first, second in pairs:
        if ranks[first] is None or ranks[second] is None:
            continue
        assert (first, second) in separated or ranks[first] == ranks[second]
        if values[first] > values[second]:
            assert ranks[first] <= ranks[second]
    known = [rank for rank in ranks if rank is not None]
    assert all(rank == 1 + sum(other < rank for other in known) for rank in known)


def test_a_pair_of_strangers_is_refused():
    with pytest.raises(ValueError, match="not among the 2"):
        tie_groups([1.0, 2.0], [(0, 2)])


def test_without_a_bootstrap_pairs_agree_with_it_but_for_its_own_error() -> None:
    panel = np.random.default_rng(5).normal((0.0, 0.02, 0.25), 1.0, (732, 3))
    drawn = compare_pairs(panel, np.random.default_rng(1), samples=1999)
    plain = compare_pairs(panel, np.random.default_rng(1), samples=None)
    assert [pair.separated for pair in drawn] == [pair.separated for pair in plain]
    for one, other in zip(drawn, plain, strict=True):
        assert one.test is not None
        assert other.test is not None
        assert (one.test.difference, one.test.standard_error) == (other.test.difference, other.test.standard_error)
        assert one.test.low == pytest.approx(other.test.low, abs=0.2 * (one.test.high - one.test.low))
        assert (0, 732) == (other.test.block, other.test.observations)


def test_without_a_bootstrap_equal_series_are_equal_and_still_ones_have_no_test() -> None:
    panel = np.random.default_rng(5).normal(0.0, 1.0, (100, 3))
    panel[:, 1], panel[:, 2] = 2.0 * panel[:, 0], 0.0
    same, still, _ = compare_pairs(panel, np.random.default_rng(1), samples=None)
    assert same.test is not None
    assert (0.0, 1.0, False) == (same.test.difference, same.test.p_value, same.separated)
    assert still.test is None
