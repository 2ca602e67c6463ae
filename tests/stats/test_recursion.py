"""How a climb is summed up."""

from __future__ import annotations

import pytest

from autoquant.oracle.records import Status
from autoquant.stats.recursion import RecursionMetrics, Step, curves, recursion_metrics

CLIMB = [
    Step(1, Status.DISCARD, 0.3),
    Step(2, Status.SEARCH, 0.5),
    Step(3, Status.KEEP, 0.8),
    Step(4, Status.CRASH, None),
    Step(5, Status.ARCHIVE, 0.7),
    Step(6, Status.KEEP, 1.2),
]


def test_the_curves_step_where_a_tip_moves() -> None:
    official, working = curves(0.4, CLIMB)
    assert (0.4, 0.4, 0.8, 0.8, 0.8, 1.2) == official
    assert (0.4, 0.5, 0.8, 0.8, 0.8, 1.2) == working


def test_areas_are_mean_heights_above_the_seed() -> None:
    metrics = recursion_metrics(0.4, CLIMB)
    assert (0.0 + 0.0 + 0.4 + 0.4 + 0.4 + 0.8) / 6 == pytest.approx(metrics.official_area)
    assert (0.0 + 0.1 + 0.4 + 0.4 + 0.4 + 0.8) / 6 == pytest.approx(metrics.working_area)


def test_counts_and_places_of_keeps() -> None:
    metrics = recursion_metrics(0.4, CLIMB)
    assert (6, 2, 1, 1) == (
        metrics.attempts, metrics.confirmed_promotions, metrics.search_acceptances, metrics.archive_tips,
    )  # fmt: skip
    assert (3.0, 3, 6) == (metrics.attempts_per_keep, metrics.first_keep, metrics.last_keep)


def test_a_climb_without_keeps_has_none_per_keep() -> None:
    metrics = recursion_metrics(0.4, CLIMB[:2])
    assert (0, None, None, None) == (
        metrics.confirmed_promotions, metrics.attempts_per_keep, metrics.first_keep, metrics.last_keep,
    )  # fmt: skip
    assert 0.0 == metrics.official_area


def test_before_the_first_attempt_nothing_is_known() -> None:
    assert RecursionMetrics(0, 0, 0, 0, None, None, None, None, None) == recursion_metrics(0.4, [])


def test_a_champion_below_the_working_parent_pulls_the_working_curve_down() -> None:
    assert ((0.4, 0.8), (0.9, 0.8)) == curves(0.4, [Step(1, Status.SEARCH, 0.9), Step(2, Status.KEEP, 0.8)])
