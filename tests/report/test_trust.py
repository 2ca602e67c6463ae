"""Whether a race can be believed, as the strip says it and as the rule for publishing takes it."""

from __future__ import annotations

from pathlib import Path

import pytest
from html_reading import read
from race_cases import SEED_FOLDS, RaceCase, shifted

from autoquant.ledger import records as r
from autoquant.report import report_facts, trust
from autoquant.report.collect import collect
from autoquant.report.model import Fact, Race, Tone
from autoquant.report.page import page
from autoquant.report.scriptdata import script_data


def complete(state: Path, *, checks: int = 1, **facts: object) -> RaceCase:
    """A race on the archive from a checked start to an open lockbox."""
    case = RaceCase(state, **facts)  # type: ignore[arg-type]
    case.join("a")
    for _ in range(checks):
        case.check()
    case.attempt("a", "keep", shifted(SEED_FOLDS, 0.9))
    return case


def opened(case: RaceCase) -> Race:
    case.end("a")
    case.open_lockbox({"seed": (None, 0, "rejected", 0.0), "a": ("a", 1, "confirmed", 0.002)}, days=30)
    return race(case)


def race(case: RaceCase) -> Race:
    return collect(case.state, case.name).race


def strip(case: RaceCase) -> dict[str, Fact]:
    return {fact.words: fact for fact in trust.strip(race(case))}


def test_a_race_that_meets_the_rule_is_publishable(tmp_path: Path):
    """INV-29."""
    assert trust.Publishable(True, ()) == trust.publishable(opened(complete(tmp_path)))


def test_a_race_of_a_version_that_recorded_no_checks_is_not_publishable_and_says_so(tmp_path: Path):
    """INV-29."""
    case = complete(tmp_path, checks=0)
    case.add(r.ArenaStarted(1, "host"))
    assert ("manifest verification and doctor’s checks are not on record",) == trust.publishable(opened(case)).reasons
    fact = strip(case)["Binance USD-M archive, verification not on record"]
    assert Tone.WARN is fact.tone


def test_every_start_has_to_be_checked(tmp_path: Path):
    """INV-29: a later version went on with it."""
    case = complete(tmp_path, checks=0)
    case.add(r.ArenaStarted(1, "host"))
    case.check()
    assert ("1 start of 2 without doctor’s checks on record",) == trust.publishable(opened(case)).reasons
    assert "Binance USD-M archive, verification not on record" in strip(case)


def test_data_that_are_not_as_pinned_at_one_start_are_said_even_if_a_later_one_found_them_whole(tmp_path: Path):
    """INV-29."""
    case = complete(tmp_path, checks=0)
    case.check("data: raw/A.zip: missing", verified=False)
    case.check()
    assert ("data not as their manifest pins them",) == trust.publishable(opened(case)).reasons
    assert Tone.WARN is strip(case)["Binance USD-M archive, not as pinned"].tone


def test_what_doctor_found_stands_against_publishing_in_its_words(tmp_path: Path):
    """INV-29."""
    case = complete(tmp_path)
    case.check("disk: 1 GB free, a race needs about 2")
    case.check("disk: 1 GB free, a race needs about 2")
    assert ("doctor found disk: 1 GB free, a race needs about 2",) == trust.publishable(opened(case)).reasons


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        ({"source": "synthetic"}, "synthetic market"),
        ({"source": "http://mirror.example"}, "prices not from the Binance archive"),
        ({"kind": "demo"}, "a demonstration, not a race"),
        ({"samples": 999}, "calibrated with 999 of 1,000 samples"),
    ],
)
def test_anything_but_the_real_thing_is_not_publishable(tmp_path: Path, facts: dict[str, object], reason: str):
    assert (reason,) == trust.publishable(opened(complete(tmp_path, **facts))).reasons


def test_one_altered_evaluation_stands_against_publishing(tmp_path: Path):
    case = complete(tmp_path)
    opened(case)
    file = case.layout.evaluation("a", 1)
    file.write_bytes(file.read_bytes() + b" ")
    assert ("1 evaluation file not as recorded",) == trust.publishable(race(case)).reasons


def test_an_unfinished_race_says_how_far_it_is_and_is_no_alarm(tmp_path: Path):
    case = complete(tmp_path)
    assert ("race not finished", "sealed year not judged") == trust.publishable(race(case)).reasons
    assert Tone.PLAIN is strip(case)["unfinished, 1 of 50 attempts"].tone


def test_a_competitor_that_was_left_alone_is_not_shown_as_racing(tmp_path: Path):
    case = complete(tmp_path)
    case.add(r.FaultSeen("a", None, "auth", "log in again"))
    (left,) = race(case).entrants
    assert "auth" == left.left
    fact = strip(case)["unfinished, 1 of 50 attempts, 1 left alone"]
    assert (Tone.WARN, True) == (fact.tone, "a (auth)" in fact.why)
    text = read(page(tmp_path, None, home=tmp_path)).text
    assert ("left: auth" in text, "still racing" in text) == (True, False)
    case.check()
    assert None is race(case).entrants[0].left


def test_who_was_left_stays_left_through_a_start_without_it_and_an_end_ends_it(tmp_path: Path):
    case = complete(tmp_path)
    case.join("b")
    case.add(r.FaultSeen("a", None, "auth", "log in again"))
    case.add(r.ArenaStarted(2, "host", ("b",)))
    assert ["auth", None] == [entrant.left for entrant in race(case).entrants]
    case.end("a", reason="disqualified")
    assert [None, None] == [entrant.left for entrant in race(case).entrants]


def test_budgets_that_differ_and_early_ends_are_not_comparable(tmp_path: Path):
    case = complete(tmp_path)
    case.join("b")
    assert trust.comparable(race(case))
    case.end("b", reason="stalled")
    assert not trust.comparable(race(case))
    assert "b after 0 of 50 (stalled)" in trust.notes(race(case))[0]
    other = complete(tmp_path / "other")
    other.join("b", budget=20)
    assert Tone.WARN is strip(other)["not comparable"].tone
    assert "Not comparable: budgets differ (20 and 50 attempts)." in trust.notes(race(other))[0]


def test_the_strip_answers_in_the_order_a_doubter_asks(tmp_path: Path):
    case = complete(tmp_path)
    opened(case)
    assert [
        "Binance USD-M archive, verified",
        "blind oracle",
        "tamper-evident",
        "2 protected files pinned",
        f"lockbox opened once, {case.created[:10]}",
        "0 violations",
        "0 faults",
        "finished, 1 attempt",
    ] == list(strip(case))
    assert {Tone.PLAIN} == {fact.tone for fact in strip(case).values()}


@pytest.mark.parametrize(
    ("source", "stamp", "words"),
    [
        ("synthetic", "SYNTHETIC", "No score on this page is a market result"),
        ("http://mirror.example", "NOT THE ARCHIVE", "Not the Binance archive. Prices came from http://mirror.example"),
    ],
)
def test_another_source_is_in_title_banner_strip_json_and_in_the_sealed_year(
    tmp_path: Path, source: str, stamp: str, words: str
):
    """INV-16."""
    case = complete(tmp_path, source=source)
    for stage in ("sealed", "open"):
        if stage == "open":
            opened(case)
        html = page(tmp_path, None, home=tmp_path)
        reading = read(html)
        assert reading.text.startswith(f"[{stamp.lower()}] AutoQuant")
        assert words in reading.text
        year = html[html.index('aria-labelledby="sealed"') :]
        assert 2 == year[: year.index("</section>")].count(f">{stamp}<")
        assert Tone.BAD is trust.strip(race(case))[0].tone
        facts, data = report_facts(tmp_path, None), script_data(race(case))
        assert words in facts["source_warning"]
        assert (source, True, stamp.lower()) == (data["source"], words in data["warning"], data["stamp"])
        assert not facts["publishable"].yes


def test_facts_say_what_is_wrong_apart_from_what_is_said(tmp_path: Path):
    case = complete(tmp_path)
    opened(case)
    facts = report_facts(tmp_path, None)
    assert (None, True, []) == (facts["source_warning"], facts["comparable"], facts["trust_problems"])
    case.add(r.ViolationFound("a", None, "run.py", "aa", "bb"))
    assert ["1 violation"] == report_facts(tmp_path, None)["trust_problems"]
