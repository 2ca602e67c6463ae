from __future__ import annotations

from pathlib import Path

import pytest
from climbing_cases import climb
from html_reading import Reading, section
from race_cases import SEED_FOLDS, RaceCase, score_of, shifted

from autoquant.ledger import records as r
from autoquant.oracle.records import Fault, GateResult
from autoquant.report.collect import collect
from autoquant.report.discovery import Discoveries, Share, discoveries, hits, quarter_bounds
from autoquant.report.instants import DAY, HOUR, time_ticks
from autoquant.report.page import page
from autoquant.report.panels.discovery import TREES

FAILED = GateResult("turnover", False, 51.2, 40.0, -11.2)


def found(case: RaceCase) -> Discoveries:
    return discoveries(collect(case.state, case.name).race.entrants[0])


def drawn(case: RaceCase) -> Reading:
    reading = section(page(case.state, case.name, home=case.state), "discovery")
    assert [] == reading.problems
    return reading


@pytest.fixture
def mixed(tmp_path: Path) -> RaceCase:
    """Eight verdicts of a budget of twelve, one of each kind and two keeps; the ninth attempt is open."""
    case = RaceCase(tmp_path)
    case.join("sol", budget=12)
    case.attempt("sol", "crash", fault=Fault("ZeroDivisionError", 3))
    case.attempt("sol", "keep", shifted(SEED_FOLDS, 0.5))
    case.attempt("sol", "discard", SEED_FOLDS)
    case.attempt("sol", "search", shifted(SEED_FOLDS, 0.6))
    case.attempt("sol", "gate", shifted(SEED_FOLDS, 0.1), failed=FAILED)
    case.attempt("sol", "archive", shifted(SEED_FOLDS, 0.2), slots=("stable",))
    case.attempt("sol", "keep", shifted(SEED_FOLDS, 1.25))
    case.attempt("sol", "timeout", fault=Fault("LimitError"))
    case.add(r.AttemptOpened("sol", 9, "r9", "09" * 32, "still judged", 7))
    return case


def test_a_keep_gains_over_the_champion_before_it(mixed: RaceCase) -> None:
    first, second = found(mixed).keeps
    assert (2, 2) == (first.number, first.since)
    assert 0.5 == pytest.approx(first.gain)
    assert (7, 5) == (second.number, second.since)
    assert 0.75 == pytest.approx(second.gain)
    assert score_of(SEED_FOLDS) + 1.25 == pytest.approx(second.score)


def test_without_a_seed_score_the_first_keep_has_no_gain(tmp_path: Path) -> None:
    case = RaceCase(tmp_path, seeded=False)
    case.join("sol")
    case.attempt("sol", "keep", SEED_FOLDS)
    case.attempt("sol", "keep", shifted(SEED_FOLDS, 0.5))
    first, second = found(case).keeps
    assert first.gain is None
    assert 0.5 == pytest.approx(second.gain)


def test_every_verdict_is_counted_once_and_open_attempts_not_at_all(mixed: RaceCase) -> None:
    counted = found(mixed).hits
    assert (2, 1, 1, 1, 1, 2) == (
        counted.keep, counted.search, counted.archive, counted.discard, counted.gate, counted.broken,
    )  # fmt: skip
    assert Share(4, 8) == counted.accepted


def test_attempts_per_keep_and_the_dry_spell_count_verdicts(mixed: RaceCase) -> None:
    assert 4.0 == found(mixed).attempts_per_keep
    assert 1 == found(mixed).dry


def test_quarters_are_of_the_budget_not_of_what_was_used(mixed: RaceCase) -> None:
    assert (Share(1, 3), Share(2, 3), Share(1, 2), Share(0, 0)) == found(mixed).hits.quarters
    assert found(mixed).hits.quarters[3].value is None


@pytest.mark.parametrize("budget", [1, 2, 3, 50, 150, 1000])
def test_quarters_hold_the_whole_budget_once(budget: int) -> None:
    assert list(range(1, budget + 1)) == [n for low, high in quarter_bounds(budget) for n in range(low, high + 1)]


def test_no_attempts_have_no_share() -> None:
    assert hits((), 50).accepted.interval is None


def test_the_panel_says_when_the_keeps_came_and_what_they_gained(mixed: RaceCase) -> None:
    reading = drawn(mixed)
    assert "#2, #7" in reading.text
    assert 2 == reading.words.count("+0.75")  # at both widths, not on the dates' side
    assert 8 == reading.words.count("#7")  # two time scales, above the trunk and beside the roles, at both widths
    assert "+0.750" in reading.text
    assert "4 of 8" in reading.text
    assert "50 %, 22 to 78 %" in reading.text
    assert "1 attempt since the last keep" in reading.text


def test_an_unreached_quarter_is_not_a_share_of_nothing(mixed: RaceCase) -> None:
    reading = drawn(mixed)
    assert "not reached" in [element.attributes.get("title") for element in reading.of("abbr")]
    assert "quarters 33\u202f%, 67\u202f%, 50\u202f%, n/a" in [
        e.attributes.get("aria-label") for e in reading.of("svg")
    ]


def test_without_a_keep_the_panel_says_so_and_why_there_is_no_number(tmp_path: Path) -> None:
    case = RaceCase(tmp_path)
    case.join("sol")
    case.attempt("sol", "discard", SEED_FOLDS)
    reading = drawn(case)
    assert "no keep in 1 attempt" in reading.text
    assert 2 == [element.attributes.get("title") for element in reading.of("abbr")].count("no keep")
    assert "nothing has been accepted" in reading.text


def test_before_any_verdict_the_panel_says_what_will_stand_here(tmp_path: Path) -> None:
    case = RaceCase(tmp_path)
    case.join("sol")
    case.add(r.AttemptOpened("sol", 1, "r1", "01" * 32, "a try", 0))
    assert "no attempt has a verdict" in drawn(case).text


def test_before_anybody_joins_the_panel_is_a_sentence(tmp_path: Path) -> None:
    assert "Nobody has joined." in drawn(RaceCase(tmp_path)).text


def test_tables_behind_the_tree_name_the_tip_and_whose_text_it_was(tmp_path: Path) -> None:
    case = RaceCase(tmp_path)
    case.join("sol")
    case.attempt("sol", "keep", shifted(SEED_FOLDS, 0.5))
    case.attempt("sol", "archive", SEED_FOLDS, slots=("stable", "distinct"))
    case.attempt("sol", "gate", SEED_FOLDS, failed=FAILED, lineage="stable")
    reading = drawn(case)
    assert "2 1 #1 archive" in reading.text
    assert "stable, distinct" in reading.text
    assert "3 1 stable #2 gate" in reading.text
    assert "2 accepted of 3 attempts" in reading.text


def test_every_chart_is_there_for_both_widths(mixed: RaceCase) -> None:
    classes = [element.attributes.get("class") for element in drawn(mixed).of("svg")]
    assert 2 == classes.count("chart wide") == classes.count("chart narrow")


def test_a_synthetic_source_is_named_inside_every_chart(tmp_path: Path) -> None:
    case = RaceCase(tmp_path, source="synthetic", kind="demo")
    case.join("sol")
    case.attempt("sol", "keep", shifted(SEED_FOLDS, 0.5))
    stamp = collect(tmp_path, case.name).race.source.stamp
    assert stamp
    assert 4 == drawn(case).words.count(stamp)


def test_more_competitors_than_trees_are_said(tmp_path: Path) -> None:
    case = RaceCase(tmp_path)
    for place in range(TREES + 1):
        case.join(f"agent-{place}")
        case.attempt(f"agent-{place}", "keep", shifted(SEED_FOLDS, 0.5 + place))
    reading = drawn(case)
    assert f"Drawn: the first {TREES} by standing of {TREES + 1}" in reading.text
    assert 2 * (TREES + 1) == sum(
        "chart" in element.attributes.get("class", "").split() for element in reading.of("svg")
    )


def test_a_thinned_tree_says_how_much_it_shows(tmp_path: Path) -> None:
    case = RaceCase(tmp_path)
    case.join("sol", budget=80)
    for place in range(70):
        case.attempt("sol", "search" if place % 2 else "archive", shifted(SEED_FOLDS, 0.03 * place), slots=("best",))
    assert "70 accepted of 70 attempts, thinned to 60" in drawn(case).text


def test_the_same_race_draws_the_same_panel(tmp_path: Path) -> None:
    case = RaceCase(tmp_path)
    for name in ("sol", "grok"):
        case.join(name)
    climb(case, ["sol", "grok"], 15)
    assert drawn(case).elements == drawn(case).elements


@pytest.mark.parametrize(
    ("length", "wanted", "words"),
    [
        (3 * DAY, 5, ["1 Jan", "2 Jan", "3 Jan", "4 Jan"]),
        (5 * HOUR, 6, ["1 Jan", "01:00", "02:00", "03:00", "04:00", "05:00"]),
        (40.0, 4, ["1 Jan"]),
        (400 * DAY, 6, ["1 Jan", "22 Mar", "10 Jun", "29 Aug", "17 Nov", "5 Feb"]),
    ],
)
def test_dates_on_an_axis_are_round(length: float, wanted: int, words: list[str]) -> None:
    found_words = [text for _, text in time_ticks(0.0, length, wanted)]
    assert words == found_words
