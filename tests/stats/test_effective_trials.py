from __future__ import annotations

import math

import numpy as np
import pytest
from stats_cases import noise

from autoquant.stats.maximum import expected_maximum, trials_with_maximum
from autoquant.stats.trials import effective_trials, idea_groups


def generator() -> np.random.Generator:
    return np.random.default_rng(9)


def test_independent_trials_count_in_full():
    assert 50 == pytest.approx(effective_trials(noise(0, 2000, 50), generator()).number, abs=3)


def test_copies_count_once():
    found = effective_trials(np.tile(noise(0, 700, 1), 30), generator())
    assert (1.0, 30) == (pytest.approx(found.number, abs=1e-3), found.trials)


def test_copies_of_several_ideas_count_as_the_ideas():
    single = effective_trials(noise(1, 900, 8), generator())
    assert single.number == pytest.approx(effective_trials(np.tile(noise(1, 900, 8), 5), generator()).number, rel=1e-4)


@pytest.mark.parametrize("correlation", [0.3, 0.6, 0.9])
def test_equal_correlation_has_a_known_answer(correlation):
    # the common part shifts all alike: E[max] = √(1 − ρ) · E[max of N]
    common, own = noise(2, 5000, 1), noise(3, 5000, 60)
    panel = math.sqrt(correlation) * common + math.sqrt(1 - correlation) * own
    expected = trials_with_maximum(math.sqrt(1 - correlation) * expected_maximum(60))
    assert expected == pytest.approx(effective_trials(panel, generator()).number, rel=0.06)


def test_scale_level_and_order_of_the_trials_do_not_matter():
    panel = noise(4, 400, 12)
    plain = effective_trials(panel, generator()).number
    assert plain == pytest.approx(effective_trials(panel * np.arange(1, 13) + 0.5, generator()).number, rel=1e-4)
    assert plain == pytest.approx(effective_trials(panel[:, ::-1], generator()).number, rel=1e-5)


def test_opposites_are_two_trials():
    assert 2.0 == pytest.approx(
        effective_trials(np.column_stack([noise(5, 500), noise(6, 500)]), generator()).number, abs=0.1
    )
    one = noise(5, 500)
    assert effective_trials(np.column_stack([one, -one]), generator()).number == 2.0  # more, but never above the count


def test_the_same_generator_gives_the_same_number():
    panel = noise(7, 300, 20)
    assert effective_trials(panel, generator()) == effective_trials(panel, generator())


def test_trials_that_never_move_do_not_count():
    panel = np.column_stack([noise(8, 300, 5), np.zeros(300), np.full(300, 0.01)])
    assert 5 == effective_trials(panel, generator()).trials
    assert effective_trials(np.zeros((300, 4)), generator()) is None
    assert (1.0, 0.0) == (lambda e: (e.number, e.expected_maximum))(effective_trials(noise(8, 300, 1), generator()))


def test_bad_panels_are_named():
    with pytest.raises(ValueError, match="two dimensions"):
        effective_trials(noise(0, 10), generator())
    with pytest.raises(ValueError, match="row 1, column 0"):
        effective_trials([[0.0, 1.0], [math.nan, 0.0]], generator())
    with pytest.raises(ValueError, match="draw"):
        effective_trials(noise(0, 10, 2), generator(), draws=0)
    with pytest.raises(ValueError, match="correlation"):
        idea_groups(noise(0, 10, 2), correlation=1.0)


def test_ideas_are_groups_of_what_moves_together():
    ideas = noise(1, 500, 3)
    panel = np.repeat(ideas, [4, 1, 2], axis=1) + 0.2 * noise(2, 500, 7)
    assert (0, 0, 0, 0, 1, 2, 2) == idea_groups(panel)
    assert (0,) == idea_groups(ideas[:, :1])
    assert (None, None) == idea_groups(np.zeros((10, 2)))
