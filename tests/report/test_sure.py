"""Standings and How sure as a reader meets them, and the same for machines and for a terminal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from evidence_cases import champions, crashed, market, path, placebos, seeded_case, tried
from html_reading import Reading, read
from race_cases import SEED_FOLDS, RaceCase, shifted

from autoquant.arena.command import main
from autoquant.report import plain_leaderboard, race_leaderboard, report_facts
from autoquant.report.evidence_pairs import Versus
from autoquant.report.findings import separation_words
from autoquant.report.page import page
from autoquant.stats.conventions import CONVENTIONS

RUNS = [run / 10 for run in range(1, 40)]


def drawn(state: Path) -> Reading:
    reading = read(page(state, None, home=state))
    assert [] == reading.problems
    return reading


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Replicates, a control, an idle one, crashes, placebos and an open lockbox: everything at once."""
    state = tmp_path_factory.mktemp("whole")
    common = market()
    case = seeded_case(state, shared=common)
    skills = {"sol": 5.5, "luna-1": 1.5, "luna-2": 1.3, "hillclimb": 0.9}
    for place, (name, skill) in enumerate(skills.items(), start=1):
        case.join(name, "control" if name == "hillclimb" else "codex", group="luna" if "luna" in name else "")
        for number in range(11):
            tried(case, name, path(100 * place + number, skill - 1.0 + number / 20, common))
        crashed(case, name, 2)
        tried(case, name, path(place, skill, common), "keep", stress=True)
    case.join("idle")
    crashed(case, "idle")
    case.end(*case.ledger.view.competitors)
    placebos(case, RUNS)
    entries = {name: (name, 14, "insufficient evidence", 0.0003) for name in skills}
    case.open_lockbox(
        {"seed": (None, 0, "insufficient evidence", 0.0002)} | entries | {"sol": ("sol", 14, "confirmed", 0.003)}
    )
    return state


def test_the_standings_have_interval_placebo_verdict_and_replicates_together(whole: Path):
    text = drawn(whole).text
    for words in ("A rank is a tie group", "2 replicates together", "from 1.300 to 1.500", "of 39 runs", "confirmed",
                  "1 / 14 of 50"):  # fmt: skip
        assert words in text, words
    strips = [e for e in drawn(whole).of("svg") if e.attributes.get("aria-label", "").startswith("score 5.5")]
    assert 1 == len(strips)
    assert "blind searchers 0.29 to 3.71" in strips[0].attributes["aria-label"]


def test_the_honest_tests_come_first_and_everything_else_has_its_caveat(whole: Path):
    text = drawn(whole).text
    places = [text.index(words) for words in ("Against blind search", "Pair by pair", "After so many tries",
                                              "Does what wins on half the days", "How they climbed")]  # fmt: skip
    assert sorted(places) == places
    for key in ("placebo", "difference", "dsr", "effective_trials", "best", "sharpe", "pbo"):
        one = CONVENTIONS[key]
        assert f"{one.name} : {one.convention}; {one.source}. {one.caveat}".strip() in text


def test_placebo_runs_are_drawn_and_tabled_with_their_digests(whole: Path):
    reading = drawn(whole)
    forests = [e for e in reading.of("svg") if "searchers without skill" in e.attributes.get("aria-label", "")]
    assert 2 == len(forests)
    assert "hillclimb, the real market" in reading.text
    assert "The runs stand in no ledger, but anyone can make them again: plan" in reading.text
    assert "a p that holds at 5 % takes at least 79 runs, and there are 39:" in reading.text.replace("\xa0", " ")


def test_pairs_say_separates_or_what_it_would_take(whole: Path):
    text = drawn(whole).text
    assert "not separable: " in text
    assert "separates" in text
    assert "Difference of row minus column; bold separates" in text
    assert "more years" in text or "more months" in text


def test_missing_figures_are_na_with_a_reason(whole: Path):
    reasons = {e.attributes.get("title") for e in drawn(whole).of("abbr")}
    assert {"no champion: nothing was selected", "no attempt has daily returns on record", "no keep yet",
            "a control is no claim"} <= reasons  # fmt: skip


@pytest.mark.parametrize("kind", ["no placebo", "one", "no days", "nobody", "no seed", "faults"])
def test_every_empty_state_is_a_whole_panel(tmp_path: Path, kind: str):
    match kind:
        case "no placebo":
            champions(tmp_path, {"a": 1.0, "b": 1.2})
            expected = "n/a: no placebo races with these prices, seed, noise floor and budget are stored."
        case "one":
            champions(tmp_path, {"a": 1.0})
            expected = "n/a: one competitor has nobody to be compared with."
        case "no days":
            made = RaceCase(tmp_path)
            for name in ("a", "b"):
                made.join(name)
                made.attempt(name, "keep", shifted(SEED_FOLDS, 0.5))
            expected = "n/a: the daily returns of a and b are not on record. The ranks above go by the noise floor."
        case "nobody":
            RaceCase(tmp_path)
            expected = "Nothing to be sure of before somebody joins."
        case "no seed":
            RaceCase(tmp_path, seeded=False).join("a")
            expected = "One competitor: nothing to rank."
        case _:
            made = seeded_case(tmp_path)
            made.join("a")
            crashed(made, "a", 2)
            expected = "No champion: 2 attempts by 1 competitor did not beat the seed"
    text = drawn(tmp_path).text
    assert expected in text
    if kind == "no placebo":
        assert "uv run arena.py placebo --race autumn --runs 39" in text


def test_the_bytes_do_not_change_from_one_drawing_to_the_next(whole: Path):
    assert page(whole, None, home=whole) == page(whole, None, home=whole)


def test_the_band_moves_with_the_placebos_and_nothing_else_does(tmp_path: Path):
    case = champions(tmp_path, {"a": 1.0, "b": 1.2})
    before = report_facts(tmp_path, None)
    placebos(case, RUNS)
    after = report_facts(tmp_path, None)
    assert before["pairs"] == after["pairs"]
    assert before["standings"][0]["placebo"]["p"] is None
    assert 0.725 == after["standings"][0]["placebo"]["p"]


# In words.


def pair(**changes: object) -> Versus:
    plain: dict[str, object] = {
        "first": 0, "second": 1, "replicates": False, "difference": 0.4, "low": -0.2, "high": 1.0, "p_value": 0.2,
        "p_holm": 0.4, "separated": False, "months": 40.0, "races": None, "missing": "",
    }  # fmt: skip
    return Versus(**(plain | changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"separated": True}, "separates"),
        ({}, "not separable: about 40 more months"),
        ({"months": 600.0, "races": 9.0}, "not separable: about 50 more years, or about 9 races each"),
        ({"months": 5000.0}, "not separable: more than 100 more years"),
        ({"months": 0.0}, "not separable: at the edge"),
        ({"difference": 0.0, "months": float("inf"), "races": float("inf")}, "not separable: the same"),
        ({"difference": -0.3}, "not separable: days and score disagree"),
        ({"difference": None, "missing": "no score yet"}, "not compared: no score yet"),
        ({"months": None, "races": 2000.0, "replicates": True}, "not separable: more than 1,000 races each"),
    ],
)
def test_a_pairs_verdict_in_words(changes: dict[str, object], words: str):
    assert words == separation_words(pair(**changes))


# For machines and for a terminal.


def test_the_facts_carry_all_of_it_with_null_and_a_reason_for_what_is_missing(whole: Path):
    facts = report_facts(whole, None)
    rows = {row["competitor"]: row for row in facts["standings"]}
    sol, idle = rows["sol"], rows["idle"]
    assert (1, False, "confirmed", 14) == (sol["rank"], sol["shared"], sol["sealed"], sol["attempts"])
    assert sol["score_low"] < sol["score"] < sol["score_high"]
    assert sol["probability_best"] > 0.9
    assert (0.025, 0.1, 39) == tuple(sol["placebo"][key] for key in ("p", "p_corrected", "runs"))
    assert {"flip", "permute", "real"} == set(sol["placebo"]["champion"])
    assert 14.0 == sol["search"]["deflation"]["counted"]["trials"]
    assert 0.0 <= sol["search"]["overfit"]["probability"] <= 1.0
    assert (1, 14.0) == (sol["search"]["climb"]["confirmed_promotions"], sol["search"]["climb"]["attempts_per_keep"])
    assert (None, "no champion: nothing was selected") == (
        idle["search"]["deflation"], idle["search"]["deflation_missing"],
    )  # fmt: skip
    assert "daily returns" == facts["ranking"]["by"]
    luna = next(unit for unit in facts["ranking"]["units"] if unit["name"] == "luna")
    assert (2, pytest.approx(1.4)) == (luna["races"], luna["score"])
    assert 6 == len(facts["pairs"])
    assert "non-adaptive, optimistic" == facts["conventions"]["dsr"]["caveat"]
    assert 6 == len(facts["placebo_races"]["tables"][0]["nulls"])
    json.dumps(facts["pairs"], allow_nan=False)


def test_the_terminal_shows_the_pages_leaderboard(whole: Path, capsys: pytest.CaptureFixture[str]):
    assert 0 == main(["status", "--state-dir", str(whole)])
    shown = capsys.readouterr().out
    text = plain_leaderboard(race_leaderboard(whole, "autumn"))
    assert text in shown
    lines = text.splitlines()
    assert ["rank", "leaderboard", "champion"] == lines[0].split()[:3]
    assert lines[1].split()[:5] == ["1", "sol", "5.500", "±", lines[1].split()[4]]
    assert "0.025  confirmed" in lines[1]
    assert any(line.split()[0] == "2=" for line in lines[2:])
    assert 0 == main(["status", "--json", "--state-dir", str(whole)])
    board = json.loads(capsys.readouterr().out)["leaderboard"]
    facts = report_facts(whole, None)["standings"]
    for line, row in zip(board["places"], facts, strict=True):
        assert line == {key: row[key] for key in line}


def test_a_leaderboard_without_placebos_names_the_command(tmp_path: Path):
    champions(tmp_path, {"a": 1.0, "b": 1.2})
    text = plain_leaderboard(race_leaderboard(tmp_path, "autumn"))
    assert "= shares its rank: 0 of 1 pair told apart" in text
    assert "placebo p: none yet; uv run arena.py placebo --race autumn --runs 39" in text
    RaceCase(tmp_path / "nobody")
    assert "" == plain_leaderboard(race_leaderboard(tmp_path / "nobody", "autumn"))
