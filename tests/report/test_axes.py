"""Where attempts stand on the axes of the race."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from race_cases import SEED_FOLDS, RaceCase, shifted

from autoquant.ledger import records as r
from autoquant.report import axes
from autoquant.report.axes import Axis, Placing
from autoquant.report.collect import collect
from autoquant.report.model import Entrant


def raced(state: Path, *amounts: tuple[int, float | None] | None, session: bool = True, name: str = "a") -> RaceCase:
    """A race of one with an attempt for each amount of tokens and cost; None for an attempt that nothing is put to."""
    case = RaceCase(state)
    case.join(name, budget=9)
    if session:
        case.add(r.SessionStarted(name, 1))
    for number, amount in enumerate(amounts, 1):
        if amount is not None:
            case.spend(name, number, amount[0], 0, amount[1])
        case.attempt(name, "keep" if number == 2 else "discard", shifted(SEED_FOLDS, 0.1 * number))
    return case


def only(case: RaceCase) -> Entrant:
    return collect(case.state, "autumn").race.entrants[0]


def test_tokens_and_cost_add_up_and_an_attempt_without_a_figure_stays_where_the_last_stood(tmp_path: Path):
    entrant = only(raced(tmp_path, (1_000, 0.5), None, (3_000, 1.0)))
    assert (1_000.0, 1_000.0, 4_000.0) == axes.positions(entrant, Axis.TOKENS)
    assert (0.5, 0.5, 1.5) == axes.positions(entrant, Axis.COST)
    assert (1.0, 2.0, 3.0) == axes.positions(entrant, Axis.ATTEMPT)


def test_attempts_before_the_first_figure_have_no_place_and_never_zero(tmp_path: Path):
    entrant = only(raced(tmp_path, None, None, (3_000, 1.0)))
    assert (None, None, 3_000.0) == axes.positions(entrant, Axis.TOKENS)
    placing = Placing.of(entrant, Axis.TOKENS)
    assert 3_000.0 == placing.step(2)  # by then the keep had happened
    assert 0.0 == placing.step(0)


def test_one_unknown_price_leaves_no_place_on_the_cost_axis(tmp_path: Path):
    entrant = only(raced(tmp_path, (1_000, 0.5), (2_000, None)))
    assert (None, None) == axes.positions(entrant, Axis.COST)
    assert (Axis.ATTEMPT, Axis.TIME, Axis.TOKENS) == axes.offered([entrant])


def test_an_axis_that_nobody_has_a_figure_for_is_not_offered(tmp_path: Path):
    entrant = only(raced(tmp_path, None, None, session=False))
    assert (Axis.ATTEMPT,) == axes.offered([entrant])
    assert () == axes.present([entrant], Axis.TIME)


def test_lines_end_with_all_that_was_used(tmp_path: Path):
    case = raced(tmp_path, (1_000, 0.5), (2_000, 0.5))
    case.spend("a", None, 7_000, 0, 2.0)
    case.add(r.SessionEnded("a", 1, "exited", 0, 7_200.0, judging_seconds=200.0))
    entrant = only(case)
    assert (2.0, 7_000.0, 10_000.0, 3.0) == tuple(axes.extent(entrant, axis) for axis in Axis)


def test_how_many_attempts_had_been_handed_in_by_a_place(tmp_path: Path):
    placing = Placing.of(only(raced(tmp_path, (1_000, 0.1), (2_000, 0.1), (3_000, 0.1))), Axis.TOKENS)
    assert [0, 1, 1, 2, 3] == [placing.used_by(place) for place in (0.0, 1_000.0, 2_999.0, 3_000.0, 9e9)]


def test_units_suit_the_length_of_the_axis():
    assert "hours of agent time" == axes.unit(Axis.TIME, 7_200.0).words
    assert "minutes of agent time" == axes.unit(Axis.TIME, 7_199.0).words
    assert "seconds of agent time" == axes.unit(Axis.TIME, 30.0).words
    assert ("0", "2 M", "4 M") == tuple(words for _, words in axes.marks(Axis.TOKENS, 5e6, 3))
    assert ("0", "$0.2", "$0.4") == tuple(words for _, words in axes.marks(Axis.COST, 0.5, 3))


@given(st.sampled_from(list(Axis)), st.floats(1.0, 1e9), st.integers(2, 12))
def test_ticks_stand_on_the_axis_begin_at_zero_and_do_not_repeat_a_label(axis: Axis, high: float, wanted: int):
    marks = axes.marks(axis, high, wanted)
    assert (0.0, "0") == marks[0]
    assert all(0.0 <= place <= high * (1 + 1e-9) for place, _ in marks)
    assert len(marks) == len({words for _, words in marks})
