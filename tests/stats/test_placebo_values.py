from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoquant.stats.conventions import CONVENTIONS
from autoquant.stats.placebo import TIE, no_skill_band, null_distributions, placebo_test, runs_needed

figures = st.lists(st.floats(-5, 5), min_size=1, max_size=50)


def test_beating_all_39_is_one_in_forty():
    assert 1 / 40 == placebo_test(2.0, np.linspace(-1, 1, 39)).p_value


def test_a_tie_counts_against_the_agent():
    found = placebo_test(1.0, [1.0, 0.5, 1.5])
    assert (3 / 4, 2, 3) == (found.p_value, found.at_least, found.runs)


@given(figures, st.floats(-6, 6), st.floats(0, 3))
def test_the_p_value_is_bounded_and_falls_as_the_figure_rises(placebos, figure, rise):
    low, high = placebo_test(figure, placebos), placebo_test(figure + rise, placebos)
    assert 1 / (len(placebos) + 1) <= high.p_value <= low.p_value <= 1.0


@given(figures, st.floats(-6, 6))
def test_only_the_order_matters(placebos, figure):
    changed = [math.atan(value) for value in placebos]
    assert placebo_test(figure, placebos).p_value <= placebo_test(math.atan(figure), changed).p_value
    assert placebo_test(figure, placebos) == placebo_test(2 * figure, [2 * value for value in placebos])


def test_without_skill_the_p_value_is_uniform():
    rng = np.random.default_rng(0)
    p_values = np.array([placebo_test(rng.normal(), rng.normal(size=39)).p_value for _ in range(4000)])
    for step in (0.05, 0.25, 0.5, 0.9):
        assert step == pytest.approx((p_values <= step + 1e-12).mean(), abs=4 * math.sqrt(step * (1 - step) / 4000))


@dataclass(frozen=True)
class Raced:
    reference: str
    searcher: str
    champion: float
    best: float
    statuses: tuple[str, ...] = ("keep", "search", "keep", "crash")


def test_runs_of_one_searcher_on_one_kind_of_market_are_one_null():
    runs = [Raced(kind, "random", run / 10, run / 10 + 1.0) for run in (1, 2, 3) for kind in ("flip", "real")]
    flip, real = null_distributions([*runs, Raced("real", "random", 0.9, 1.9, ())])
    assert ("flip", "random", (0.1, 0.2, 0.3), 3, 2.0) == (
        flip.reference, flip.searcher, flip.champion, flip.runs, flip.keeps
    )  # fmt: skip
    assert ("real", 4, 1.5) == (real.reference, real.runs, real.keeps)
    assert (1.1, 1.2, 1.3) == flip.best
    assert pytest.approx((0.11, 0.2, 0.29)) == flip.champion_band
    assert pytest.approx((1.11, 1.2, 1.29)) == flip.best_band


def test_what_a_mask_alone_can_move_is_a_tie_with_a_null():
    (null,) = null_distributions([Raced("real", "random", 1.0, 2.0)])
    assert (1.0, 1.0) == (null.champion_test(1.0 + TIE / 2).p_value, null.best_test(2.0 + TIE / 2).p_value)
    assert (0.5, 0.5) == (null.champion_test(1.0 + 2 * TIE).p_value, null.best_test(2.0 + 2 * TIE).p_value)


def test_the_band_is_of_quantiles():
    assert (0.05, 0.5, 0.95) == pytest.approx(no_skill_band(np.linspace(0, 1, 101)))


def test_as_many_runs_as_the_best_agent_needs():
    assert (19, 39, 99) == (runs_needed(0.05), runs_needed(0.05, 2), runs_needed(0.05, 5))
    best = placebo_test(9.0, [0.0] * runs_needed(0.05, 5)).p_value
    assert best * 5 <= 0.05


@pytest.mark.parametrize("placebos", [[], [math.nan], [[1.0]]])
def test_placebos_that_are_none_are_refused(placebos):
    with pytest.raises(ValueError, match="placebo figures"):
        placebo_test(1.0, placebos)


def test_bad_figures_and_levels_are_named():
    with pytest.raises(ValueError, match="finite"):
        placebo_test(math.inf, [1.0])
    with pytest.raises(ValueError, match="coverage"):
        no_skill_band([1.0], 1.5)
    with pytest.raises(ValueError, match="alpha"):
        runs_needed(0.0)
    with pytest.raises(ValueError, match="number of tests"):
        runs_needed(0.05, 0)


def test_only_a_placebo_and_a_fresh_holdout_need_no_caveat():
    assert {"placebo", "lockbox"} == {key for key, convention in CONVENTIONS.items() if not convention.caveat}
    assert {"non-adaptive, optimistic"} == {convention.caveat for convention in CONVENTIONS.values()} - {""}
