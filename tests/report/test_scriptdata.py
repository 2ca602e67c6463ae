"""What the page gives its script, and when a page asks for itself again."""

from __future__ import annotations

import datetime as dt
import json
import re
from collections import Counter
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest
from html_reading import read
from race_cases import SEED_FOLDS, RaceCase, searched, shifted

from autoquant.ledger import records as r
from autoquant.report.collect import collect
from autoquant.report.page import page
from autoquant.report.render import TEMPLATES
from autoquant.report.scriptdata import DIGITS, script_data

SCRIPTS = sorted((TEMPLATES / "scripts").glob("*.js"))


@pytest.fixture
def case(tmp_path: Path) -> RaceCase:
    made = RaceCase(tmp_path)
    made.join("sol", "codex", colour="#F59E0B", budget=12)
    made.join("hillclimb", "control", budget=12, model="hillclimb")
    made.add(r.SessionStarted("sol", 1))
    made.spend("sol", 1, 12_345, 67, 0.0123456789)
    searched(made, "sol", 12, 40)
    searched(made, "hillclimb", 7, 41)
    made.add(r.AttemptOpened("hillclimb", 8, "r8", "aa" * 32, "half-way", 0))
    return made


def block(case: RaceCase, **options: Any) -> dict[str, Any]:
    """The data of the page itself, as a browser reads it."""
    found: dict[str, Any] = json.loads(read(page(case.state, None, home=case.state, **options)).data)
    return found


def test_columns_hold_every_attempt_as_the_record_does(case: RaceCase):
    race, told = collect(case.state, "autumn").race, block(case)
    assert ["sol", "hillclimb"] == told["competitors"]
    for entrant, columns in zip(race.entrants, told["attempts"], strict=True):
        moments = [
            dt.datetime.fromtimestamp(at, dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ") for at in accumulate(columns["utc"])
        ]
        assert [a.utc for a in entrant.attempts] == moments
        assert [a.status or "open" for a in entrant.attempts] == [
            told["statuses"][place] for place in columns["status"]
        ]
        for name, field in (("score", "score"), ("delta", "delta"), ("score_double_cost", "double_cost"),
                            ("parent", "parent"), ("drawdown", "drawdown")):  # fmt: skip
            expected = [getattr(a, field) for a in entrant.attempts]
            assert [None if e is None else pytest.approx(e, abs=5e-8) for e in expected] == columns[name]
        assert [a.strategy[:DIGITS] for a in entrant.attempts] == columns["strategy"]
    assert race.entrants[0].attempts[0].cost == told["attempts"][0]["cost_usd"][0] == 0.0123456789


def test_the_note_beside_the_downloads_says_how_many_digits_they_have(case: RaceCase):
    attempts, told = collect(case.state, "autumn").race.entrants[0].attempts, block(case)["attempts"][0]
    assert [a.score if a.score is None else round(a.score, 7) for a in attempts] == told["score"]
    assert [a.score for a in attempts] != told["score"]
    assert {16} == {len(digits) for digits in told["strategy"]}
    said = (TEMPLATES / "scripts" / "70-downloads.js").read_text()
    assert "scores to seven decimals, strategies by sixteen digits" in said


def test_what_nobody_knows_has_no_column(case: RaceCase):
    control = block(case)["attempts"][1]
    assert {"tokens", "cost_usd", "agent_seconds", "score_one_bar_later"}.isdisjoint(control)


def test_ends_name_the_axes_a_competitor_has_a_place_on(case: RaceCase):
    told = block(case)
    assert ["attempt", "time", "tokens", "cost"] == told["axes"]
    assert {"attempt", "time", "tokens", "cost"} == set(told["ends"][0])
    assert {"attempt": 7.0} == told["ends"][1]


def test_a_large_race_gives_what_the_charts_need_and_says_that_it_is_a_part(
    case: RaceCase, monkeypatch: pytest.MonkeyPatch
):
    race = collect(case.state, "autumn").race
    monkeypatch.setattr("autoquant.report.reading.WHOLE", 19)
    lean = script_data(race)
    assert lean["lean"]
    assert {"status", "score", "delta", "tokens", "cost_usd", "agent_seconds"} == set(lean["attempts"][0])
    for attempt, score in zip(race.entrants[0].attempts, lean["attempts"][0]["score"], strict=True):
        assert (attempt.score is None) is (score is None)
        assert attempt.score is None or abs(attempt.score - score) <= 5e-6
    monkeypatch.setattr("autoquant.report.reading.WHOLE", 20)
    assert not script_data(race)["lean"]


@pytest.mark.parametrize(
    "words",
    ["</script><script>alert(1)</script>", "=HYPERLINK(1)", "<!--", "a\u2028b", '"quoted", \\ and \t tab', "]]>"],
)
def test_hostile_text_is_in_the_block_as_text_and_cannot_end_it(
    tmp_path: Path, words: str, monkeypatch: pytest.MonkeyPatch
):
    case = RaceCase(tmp_path)
    case.join("a")
    case.attempt("a", "discard", SEED_FOLDS, description=words)
    attempt = collect(tmp_path, "autumn").race.entrants[0].attempts[0]
    monkeypatch.setattr("autoquant.report.reading.ROWS", 0)
    reading = read(page(tmp_path, None, home=tmp_path))
    assert [attempt.description] == json.loads(reading.data)["attempts"][0]["description"]
    assert [] == re.findall("[<>&\u2028\u2029]", reading.data)


def test_a_page_asks_for_itself_again_only_while_it_is_watched_and_the_race_goes_on(case: RaceCase):
    def refreshed(**options: Any) -> tuple[int | None, int]:
        html = page(case.state, None, home=case.state, **options)
        return json.loads(read(html).data)["reload"], html.count('<noscript><meta http-equiv="refresh" content="60">')

    assert (None, 0) == refreshed()
    assert (60, 1) == refreshed(watched=True)
    case.add(r.AttemptClosed("hillclimb", 8, "crash", None, None, None, None))
    case.end("sol", "hillclimb")
    assert (None, 0) == refreshed(watched=True)


def test_a_page_without_script_asks_by_itself_and_only_when_watched(tmp_path: Path):
    (tmp_path / "results.tsv").write_text("attempt\tstatus\tscore\n1\tkeep\t0.5\n")
    for home in (tmp_path, tmp_path / "nothing"):
        watched, plain = (page(tmp_path / "none", None, home=home, watched=watched) for watched in (True, False))
        assert (1, 0) == (watched.count('\n<meta http-equiv="refresh" content="60">'), plain.count("refresh"))


def test_the_parts_of_the_script_do_not_take_each_others_names():
    names = Counter(
        name
        for path in SCRIPTS
        for name in re.findall(r"^(?:const|let|var|function|class)\s+(\w+)", path.read_text(), re.MULTILINE)
    )
    assert [] == [name for name, number in names.items() if number > 1]


def test_the_script_speaks_to_nobody_and_makes_no_markup_of_text():
    banned = re.compile(
        r"\b(fetch|XMLHttpRequest|WebSocket|EventSource|sendBeacon|importScripts|eval|innerHTML|outerHTML|"
        r"insertAdjacentHTML|document\.write|new Function)\b"
    )
    assert {} == {path.name: found for path in SCRIPTS if (found := banned.findall(path.read_text()))}


def test_shifted_scores_keep_their_digits(tmp_path: Path):
    case = RaceCase(tmp_path)
    case.join("a")
    case.attempt("a", "discard", shifted(SEED_FOLDS, 1 / 3))
    score = collect(tmp_path, "autumn").race.entrants[0].attempts[0].score
    assert [pytest.approx(score, abs=5e-8)] == block(case)["attempts"][0]["score"]
