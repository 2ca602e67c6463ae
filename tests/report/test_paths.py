"""Path data that a browser reads back to the places it was made from."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoquant.report import figures, paths

NUMBER = re.compile(r"-?(?:\d+\.\d+|\.\d+|\d+)")
PLACES = st.lists(st.tuples(st.floats(-50, 1_000), st.floats(-50, 1_000)), min_size=1, max_size=40)


def visited(data: str) -> list[tuple[float, float]]:
    """Where the pen stands after each command, by the grammar of SVG paths."""
    x = y = 0.0
    points: list[tuple[float, float]] = []
    for command, words in re.findall(r"([MmLlHhVv])([^MmLlHhVv]*)", data):
        numbers = [float(word) for word in NUMBER.findall(words)]
        assert words.replace(" ", "") == "".join(NUMBER.findall(words))
        pairs = list(zip(numbers[::2], numbers[1::2], strict=False)) if command in "MmLl" else [(n, n) for n in numbers]
        for first, second in pairs:
            if command == "M":
                x, y = first, second
            elif command in "ml":
                x, y = x + first, y + second
            elif command == "h":
                x += first
            elif command == "v":
                y += second
            points.append((x, y))
    return points


@given(PLACES)
def test_dots_lie_where_they_were_put_however_many_there_are(places: list[tuple[float, float]]):
    moves = visited(paths.dots(places))[::2]
    assert len(places) == len(moves)
    for wanted, got in zip(places, moves, strict=True):
        assert pytest.approx(wanted, abs=0.051) == got


@given(PLACES)
def test_strokes_stand_on_their_points(places: list[tuple[float, float]]):
    tops = visited(paths.strokes(places, 6.0))[1::2]
    for (x, y), got in zip(places, tops, strict=True):
        assert pytest.approx((x, y - 6.0), abs=0.051) == got


@given(PLACES)
def test_stairs_pass_the_last_point_of_every_place_and_end_at_the_last_level(places: list[tuple[float, float]]):
    ordered = sorted(places)
    until = ordered[-1][0] + 10.0
    got = visited(paths.stairs(ordered, until))
    last = {figures.coordinate(x): (x, y) for x, y in ordered}
    for wanted in [*last.values(), (until, ordered[-1][1])]:
        assert any(pytest.approx(wanted, abs=0.051) == point for point in got)
    assert pytest.approx((until, ordered[-1][1]), abs=0.051) == got[-1]


@given(PLACES)
def test_an_outline_passes_its_points_in_order(places: list[tuple[float, float]]):
    got = visited(paths.outline(places))
    assert pytest.approx(places[0], abs=0.051) == got[0]
    assert pytest.approx(places[-1], abs=0.051) == got[-1]
    assert len(got) <= len(places)


def test_nothing_to_draw_is_nothing():
    assert "" == paths.dots([]) == paths.strokes([], 3.0) == paths.stairs([], 9.0) == paths.outline([])
    assert "" == paths.marks(0, [])


@pytest.mark.parametrize("position", range(len(figures.MARKERS)))
def test_every_mark_of_the_roster_can_be_set_many_times_and_is_hollow_where_the_single_one_is(position: int):
    many = paths.marks(position, [(10.0, 20.0), (30.0, 40.0)])
    assert 2 == many.count("M")
    assert ("hollow" in figures.marker(position, 1.0, 1.0, "mark")) is ("hollow" in many)
    others = {paths.marks(other, [(10.0, 20.0)]) for other in range(len(figures.MARKERS)) if other != position}
    assert paths.marks(position, [(10.0, 20.0)]) not in others
