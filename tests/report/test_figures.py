from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoquant.report import figures as fig

FLOATS = st.floats(-1e6, 1e6, allow_nan=False)


@given(st.lists(st.floats(0, 400), min_size=1, max_size=20), st.floats(1, 30))
def test_labels_keep_order_distance_and_the_drawing(wanted: list[float], gap: float):
    places = fig.spread(wanted, gap, 0.0, 400.0)
    fitting = min(gap, 400.0 / max(1, len(wanted) - 1))
    ordered = [places[i] for i in sorted(range(len(wanted)), key=lambda i: (wanted[i], i))]
    assert all(b - a >= fitting - 1e-6 for a, b in pairwise(ordered))
    assert -1e-6 <= min(places)
    assert max(places) <= 400.0 + 1e-6


def test_labels_that_do_not_collide_stay_where_they_are():
    assert (10.0, 90.0, 50.0) == fig.spread([10.0, 90.0, 50.0], 15.0, 0.0, 100.0)


@given(FLOATS, st.floats(1e-3, 1e6), st.integers(1, 12))
def test_ticks_are_round_inside_and_not_too_many(low: float, span: float, wanted: int):
    marks = fig.ticks(low, low + span, wanted)
    slack = 1e-6 * max(1.0, abs(low), span)
    assert all(low - slack <= mark <= low + span + slack for mark in marks)
    assert len(marks) <= wanted / 0.7 + 1
    assert sorted(marks) == list(marks)


def test_an_empty_domain_has_one_tick():
    assert (0.5,) == fig.ticks(0.5, 0.5, 4)


@given(FLOATS)
def test_a_coordinate_is_short_and_never_negative_zero(value: float):
    text = fig.coordinate(value)
    assert re.fullmatch(r"-?\d+(\.[1-9])?", text)
    assert text != "-0"
    assert float(text) == pytest.approx(value, abs=0.051)


@given(st.text())
def test_no_text_leaves_its_element(words: str):
    drawn = fig.tag("text", words, aria_label=words)
    assert (2 if words else 1) == drawn.count("<")
    assert 2 == drawn.count('"')


def test_a_step_line_holds_each_value_until_the_next():
    assert '<path d="M0 9H4V5H10" class="line"/>' == fig.steps([(0, 9), (4, 5)], 10, "line")


def test_nothing_to_draw_is_nothing():
    assert "" == fig.steps([], 10, "line") == fig.path([], "line") == fig.dots([], "dots") == fig.rules([], 3, "rule")


def test_a_value_outside_a_scale_is_held_at_its_edge():
    scale = fig.Scale(0, 1, 100, 0)
    assert 100 == scale(-5)
    assert 0 == scale(7)
    assert 50 == scale(0.5)
    assert not scale.holds(7)


@pytest.mark.parametrize("position", range(len(fig.MARKERS)))
def test_every_competitor_of_a_roster_has_a_mark_of_its_own(position: int):
    others = {fig.marker(other, 5, 5, "mark") for other in range(len(fig.MARKERS)) if other != position}
    assert fig.marker(position, 5, 5, "mark") not in others
