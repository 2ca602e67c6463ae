from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from climbing_cases import FOLDS, Days, climb, market, rows, seed_days, with_sharpes
from html_reading import Reading, section
from race_cases import SEED_FOLDS, RaceCase, shifted

from autoquant.oracle.records import ShiftedScore, Stress
from autoquant.report.collect import Collected, collect
from autoquant.report.page import page
from autoquant.report.panels.resemblance import MEMBERS
from autoquant.report.resemblance import FLAT, NOT_RECORDED, Resemblance, Shadows, resemblance, shadows

GOOD = shifted(SEED_FOLDS, 0.5)
STRESS = Stress((ShiftedScore(3, 0.6), ShiftedScore(7, None), ShiftedScore(14, 0.2)), 0.15, 1.1, 0.1, 2.1)


def champion(case: RaceCase, name: str, days: Days | None, **more: object) -> None:
    """A competitor joins and its first attempt is kept."""
    case.join(name)
    case.attempt(name, "keep", GOOD, daily=() if days is None else rows(days), **more)  # type: ignore[arg-type]


def noisy(seed: int, spread: float = 0.006) -> Days:
    """Returns of the shared market and of one's own."""
    return market() + np.random.default_rng(seed).normal(0.0, spread, market().shape)


def alike(case: RaceCase) -> Resemblance:
    found = collected(case)
    return resemblance(found.race.entrants, found.returns)


def collected(case: RaceCase) -> Collected:
    return collect(case.state, case.name)


def drawn(case: RaceCase) -> Reading:
    reading = section(page(case.state, case.name, home=case.state), "resemblance")
    assert [] == reading.problems
    return reading


def shadowed(case: RaceCase) -> Shadows:
    found = shadows(collected(case).race.entrants[0])
    assert found is not None
    return found


def test_correlations_are_those_of_the_days_of_all_folds_in_a_row(tmp_path: Path) -> None:
    case = RaceCase(tmp_path, seed_daily=rows(seed_days()))
    first, second = noisy(1), noisy(2)
    champion(case, "sol", first)
    champion(case, "grok", second)
    found = alike(case)
    expected = np.corrcoef([first.ravel(), second.ravel(), seed_days().ravel()])
    assert ["sol", "grok", "seed"] == [member.name for member in found.members]
    assert () == found.correlations[0]
    assert (expected[1, 0],) == pytest.approx(found.correlations[1])
    assert tuple(expected[2, :2]) == pytest.approx(found.correlations[2])
    assert FOLDS * 122 == found.days


def test_the_seeds_own_are_named_and_not_compared(tmp_path: Path) -> None:
    case = RaceCase(tmp_path, seed_daily=rows(seed_days()))
    champion(case, "sol", noisy(1))
    case.join("grok")
    found = alike(case)
    assert ("grok",) == found.seeded
    assert ["sol", "seed"] == [member.name for member in found.members]


def test_what_is_missing_or_flat_has_a_reason_and_takes_nobody_else_along(tmp_path: Path) -> None:
    case = RaceCase(tmp_path, seed_daily=rows(seed_days()))
    champion(case, "sol", noisy(1))
    champion(case, "none", None)
    champion(case, "flat", np.zeros_like(market()))
    found = alike(case)
    assert {"sol": "", "none": NOT_RECORDED, "flat": FLAT, "seed": ""} == {m.name: m.missing for m in found.members}
    assert (None,) == found.correlations[1]
    assert (None, None) == found.correlations[2]
    assert [True, False, False] == [value is not None for value in found.correlations[3]]
    assert 1 == found.pairs


def test_copies_are_one_idea_and_strangers_another(tmp_path: Path) -> None:
    case = RaceCase(tmp_path)
    champion(case, "sol", noisy(1))
    champion(case, "copy", noisy(1) * 1.5)
    champion(case, "own", noisy(3, spread=0.05))
    assert (("sol", "copy"), ("own",)) == alike(case).groups


def test_the_error_of_a_correlation_near_zero_is_fishers() -> None:
    assert np.tanh(1.959963984540054 / np.sqrt(729)) == pytest.approx(Resemblance((), (), (), (), 732).error)
    assert Resemblance((), (), (), (), 3).error is None


def test_shadows_say_why_one_is_missing(tmp_path: Path) -> None:
    case = RaceCase(tmp_path)
    champion(case, "sol", noisy(1), double=0.4, stress=STRESS)
    found = shadowed(case)
    assert (0.4, "") == (found.double_cost.score, found.double_cost.missing)
    assert (None, "not recorded") == (found.delayed.score, found.delayed.missing)
    assert [("3 d", 0.6), ("7 d", None), ("14 d", 0.2), ("21 d", None)] == [(s.name, s.score) for s in found.shifted]
    assert ["", "the strategy gave no usable answer there", "", "not measured"] == [s.missing for s in found.shifted]
    assert (0.2, 0.6) == found.span


def test_without_details_no_moved_fold_has_a_score(tmp_path: Path) -> None:
    case = RaceCase(tmp_path)
    champion(case, "sol", noisy(1))
    found = shadowed(case)
    assert {"its details are not on record"} == {shadow.missing for shadow in found.shifted}
    assert found.span is None


def test_who_holds_the_seed_has_no_shadows(tmp_path: Path) -> None:
    case = RaceCase(tmp_path)
    case.join("sol")
    assert shadows(collected(case).race.entrants[0]) is None


def test_cells_hold_numbers_and_strong_ones_are_bold(tmp_path: Path) -> None:
    case = RaceCase(tmp_path, seed_daily=rows(noisy(1) * 0.5))
    champion(case, "sol", noisy(1))
    reading = drawn(case)
    assert "1.00" in reading.words
    assert "s5 close" in [cell.attributes.get("class") for cell in reading.of("td")]
    assert "2 strategies, about 1 idea: all look like one" in reading.text


def test_strangers_are_told_apart_in_words(tmp_path: Path) -> None:
    case = RaceCase(tmp_path)
    champion(case, "sol", noisy(1, spread=0.05))
    champion(case, "grok", noisy(2, spread=0.05))
    assert "2 strategies, 2 ideas: no two look like one" in drawn(case).text


def test_a_correlation_that_is_missing_says_whose_returns_are(tmp_path: Path) -> None:
    case = RaceCase(tmp_path)
    champion(case, "sol", noisy(1))
    champion(case, "grok", noisy(2))
    reading = drawn(case)
    assert f"seed: {NOT_RECORDED}" in [element.attributes.get("title") for element in reading.of("abbr")]


def test_without_returns_the_panel_says_so_and_still_shows_shadows(tmp_path: Path) -> None:
    case = RaceCase(tmp_path)
    champion(case, "sol", None, double=0.5)
    reading = drawn(case)
    assert f"No correlation to show. sol : {NOT_RECORDED}; seed : {NOT_RECORDED}." in reading.text
    assert "0.500" in reading.words
    assert "2× costs" in reading.words


def test_without_a_champion_there_is_nothing_to_compare(tmp_path: Path) -> None:
    case = RaceCase(tmp_path, seed_daily=rows(seed_days()))
    case.join("sol")
    assert "everybody holds the seed" in drawn(case).text


def test_before_anybody_joins_the_panel_is_a_sentence(tmp_path: Path) -> None:
    assert "Nobody has joined." in drawn(RaceCase(tmp_path)).text


def test_beyond_so_many_champions_the_first_by_standing_are_compared(tmp_path: Path) -> None:
    case = RaceCase(tmp_path, seed_daily=rows(seed_days()))
    for place in range(MEMBERS + 1):
        champion(case, f"agent-{place:02d}", with_sharpes(noisy(place), GOOD))
    reading = drawn(case)
    assert f"The first {MEMBERS} of {MEMBERS + 1} champions by standing are compared." in reading.text
    cells = [cell for cell in reading.of("td") if cell.attributes.get("class", "").startswith("s")]
    assert MEMBERS * (MEMBERS + 1) // 2 == len(cells)


def test_the_noise_floor_is_drawn_as_a_length_beside_the_scores(tmp_path: Path) -> None:
    case = RaceCase(tmp_path, seed_daily=rows(seed_days()), floor=0.312)
    case.join("sol")
    climb(case, ["sol"], 3)
    case.attempt("sol", "keep", GOOD, stress=STRESS)
    assert 2 == drawn(case).words.count("noise floor 0.31")
