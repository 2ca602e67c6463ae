"""The explainer says what the code does, and the committed page is the one that is made."""

from __future__ import annotations

import datetime as dt
import itertools
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from html_reading import Reading, read

from autoquant.clock import day_ms
from autoquant.oracle.folds import valid_windows
from autoquant.oracle.gates import lockbox_verdict
from autoquant.oracle.metrics import score
from autoquant.protocol import PROTOCOL
from autoquant.ratchet.decide import correction, quantile
from autoquant.report.explain import calendar, climb, fills, luck
from autoquant.report.explain.page import explainer


@pytest.fixture(scope="module")
def reading() -> Reading:
    made = read(explainer())
    assert [] == made.problems
    return made


def test_the_committed_page_is_what_is_made_here(repository: Path):
    """After a change: uv run python -m autoquant.report.explain --out docs/how-autoquant-works.html"""
    assert explainer() == (repository / "docs" / "how-autoquant-works.html").read_text()


def test_the_command_writes_the_page_and_names_it(repository: Path, tmp_path: Path):
    out = tmp_path / "deep" / "how.html"
    command = [sys.executable, "-m", "autoquant.report.explain", "--out", str(out)]
    done = subprocess.run(command, cwd=repository, capture_output=True, text=True, timeout=60, check=True)
    assert f"{out}\n" == done.stdout
    assert explainer() == out.read_text()


def test_its_folds_are_the_oracles():
    def ms(day: dt.date) -> int:
        return day_ms(day.isoformat())

    drawn = [(ms(embargo.start), ms(fold.start), ms(fold.end)) for embargo, fold in calendar.blocks()]
    assert [(w.train_end_ms, w.start_ms, w.end_ms) for w in valid_windows()] == drawn
    assert 54 == calendar.unscored_days()


def test_its_score_is_the_oracles_and_steadiness_pays():
    for folds in (calendar.STEADY, calendar.ERRATIC):
        assert score(folds) == pytest.approx(calendar.score(folds))
    assert np.mean(calendar.STEADY) == pytest.approx(np.mean(calendar.ERRATIC))
    assert calendar.score(calendar.STEADY) > 0.5 > 0.0 > calendar.score(calendar.ERRATIC)


def test_its_bar_and_its_rise_are_the_ratchets():
    for attempt, _, bar, rise in luck.luck_rows():
        assert quantile(attempt) == pytest.approx(bar)
        assert correction(attempt) == pytest.approx(rise)


def test_its_fill_costs_what_the_formula_says():
    """Cost = fee + half-spread + ⅔ · σ_day · √(order / V_day): protocol.md, by hand."""
    share = fills.EXAMPLE_ORDER / fills.EXAMPLE_VOLUME
    assert 5 + 5 + 1e4 * 2 / 3 * 0.04 * 0.002**0.5 == pytest.approx(fills.cost_bp(share, 2))
    assert 3.5 == pytest.approx(fills.cost_bp(share, 2) - fills.cost_bp(share, 1))


def test_its_climb_obeys_the_rules_it_explains():
    made = climb.climb()
    assert PROTOCOL.budget == len(made.tries)
    assert (2, 6) == (len(made.numbers("keep")), len(made.numbers("search")))
    for (_, before), (number, score_) in itertools.pairwise(made.champion):
        assert score_ - before > climb.FLOOR * correction(number)
    for (_, before), (_, score_) in itertools.pairwise(made.working):
        assert score_ - before > PROTOCOL.ratchet.search_delta


def test_its_placebo_and_sealed_examples_are_computed():
    assert [1, 18] == [above for _, _, above, _ in luck.placebo_rows()]
    assert [2 / 40, 19 / 40] == [p for *_, p in luck.placebo_rows()]
    assert ["confirmed", "insufficient evidence", "rejected"] == [verdict for *_, verdict in luck.sealed_rows()]
    for sharpe, _, _, chance, verdict in luck.sealed_rows():
        assert lockbox_verdict(sharpe, chance, True) == verdict


def test_every_drawing_is_named_and_comes_in_two_widths(reading: Reading):
    charts = [e.attributes for e in reading.of("svg")]
    assert ["chart wide", "chart narrow"] * 14 == [chart["class"] for chart in charts]
    assert all(chart["role"] == "img" and chart["aria-label"] for chart in charts)


def test_it_asks_nothing_of_the_network_and_runs_nothing(reading: Reading):
    """INV-22."""
    assert [] == reading.of("script")
    assert {"data:,", "index.html"} == {e.attributes["href"] for e in reading.elements if "href" in e.attributes}
    for element in reading.elements:
        assert not {"src", "srcset", "style", "xlink:href"} & element.attributes.keys(), element
    assert "url(" not in reading.style
    policy = next(e for e in reading.of("meta") if "http-equiv" in e.attributes)
    assert policy.attributes["content"].startswith("default-src 'none'; style-src 'sha256-")


def test_it_tells_the_whole_story_with_the_protocols_numbers(reading: Reading):
    for said in (
        "One file, one number", "Why a fill is late, and what it costs", "What the oracle hides", "One experiment",
        "Why attempts are counted", "Two ratchets", "What the placebo searchers show", "Why the lockbox opens once",
        "What is not claimed", f"{PROTOCOL.budget} tries", PROTOCOL.digest[:12], "1,080 days", "1.88",
    ):  # fmt: skip
        assert said in reading.text
