from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoquant.report import text
from autoquant.report.colour import DARK_PAPER, FALLBACK, LIGHT_PAPER, READABLE, contrast, ink

SPEC_COLOURS = ("#1D9BF0", "#A78BFA", "#10A37F", "#F59E0B", "#4285F4")


@given(st.text())
def test_cleaned_text_is_one_printable_line_of_bounded_length(words: str):
    cleaned = text.clean(words, 80)
    assert cleaned.isprintable()
    assert len(cleaned) <= 80


def test_a_tower_of_marks_is_thinned():
    assert "Z" + "\u0351" * 2 + "!" == text.clean("Z" + "\u0351" * 40 + "!")


@pytest.mark.parametrize(
    ("expected", "value", "digits"),
    [("0.00", -0.001, 2), ("−0.04", -0.039, 2), ("1,234.5", 1234.5, 1), ("0.000", 0.0, 3)],
)
def test_numbers_have_a_true_minus_and_no_negative_zero(expected: str, value: float, digits: int):
    assert expected == text.fixed(value, digits)


def test_signs_are_shown_where_a_change_is_meant():
    assert "+0.45" == text.fixed(0.45, 2, sign=True)
    assert "+1.0\u202f%" == text.percent(0.01, sign=True)


@pytest.mark.parametrize("colour", [*SPEC_COLOURS, *FALLBACK, "#ffffff", "#000000", "#ffff00"])
def test_every_colour_is_readable_on_both_papers(colour: str):
    drawn = ink(colour, 0)
    assert contrast(drawn.light, LIGHT_PAPER) >= READABLE
    assert contrast(drawn.dark, DARK_PAPER) >= READABLE


@pytest.mark.parametrize("colour", ["red", "#fff", "url(http://x)", "#12345g", "#123456;}</style>", ""])
def test_what_is_no_colour_becomes_one_of_ours(colour: str):
    assert ink(FALLBACK[2], 2) == ink(colour, 2)
