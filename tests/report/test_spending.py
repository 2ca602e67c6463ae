"""Tokens, cost, time and settings on the page: what is known as it is, what is not as a dash."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from html_reading import Reading, read
from race_cases import SEED_FOLDS, RaceCase, shifted

from autoquant.ledger import records as r
from autoquant.report import report_facts
from autoquant.report.collect import collect
from autoquant.report.glyphs import time_bar
from autoquant.report.model import Entrant
from autoquant.report.page import page


@pytest.fixture
def case(tmp_path: Path) -> RaceCase:
    """One with a keep and known costs, one with tokens of unknown cost, a control that spends nothing."""
    made = RaceCase(tmp_path)
    made.join(
        "sol-2", "codex", colour="#F59E0B", budget=5, group="sol", endpoint="http://me:hunter2@gateway/v1",
        args=("--search", "off"), settings=("no auto-update", "effort high on every request"),
    )  # fmt: skip
    made.join("grok", "grok", budget=5, model="grok-4.5")
    made.join("hillclimb", "control", colour="#8A8F98", budget=5, model="hillclimb")
    made.session("sol-2", seconds=7_200.0, judging=1_200.0)
    made.session(
        "sol-2", "rate limit", seconds=1_800.0, judging=0.0, lost=600.0, resumes="c-1", version="codex 0.172.0"
    )
    made.session("sol-2", resumes="c-1", version="codex 0.172.0")
    made.add(r.BackedOff("sol-2", 300.0, "rate limit"))
    made.session("grok", version="grok 1.0.41")
    made.session("hillclimb", "done", version="searcher hillclimb, seed 1")
    made.spend("sol-2", 1, 1_000_000, 20_000, 2.0)
    made.attempt("sol-2", "keep", shifted(SEED_FOLDS, 0.9))
    made.spend("sol-2", 2, 500_000, 10_000, 1.0)
    made.attempt("sol-2", "discard", shifted(SEED_FOLDS, 0.1))
    made.spend("grok", 1, 340_000, 1_000, None)
    made.attempt("grok", "discard", SEED_FOLDS)
    return made


def entrant(case: RaceCase, name: str) -> Entrant:
    return next(e for e in collect(case.state, "autumn").race.entrants if e.name == name)


def drawn(case: RaceCase) -> Reading:
    reading = read(page(case.state, None, home=case.state))
    assert [] == reading.problems
    return reading


def test_the_model_carries_what_a_search_took(case: RaceCase):
    work = entrant(case, "sol-2").work
    assert work is not None
    assert work.usage is not None
    assert (6, 1_500_000, 1_200_000, 30_000, 15_000, 3.0) == (
        work.usage.requests, work.usage.input, work.usage.cached, work.usage.output, work.usage.reasoning,
        work.usage.cost_usd,
    )  # fmt: skip
    assert (3.0, 3, 2, ("2026-11-30",)) == (work.cost_per_keep, work.sessions, work.resumed, work.priced_by)
    assert (("early stop", 2), ("rate limit", 1)) == work.endings
    assert (6_000 + 1_200 + 3_000, 600 + 300) == (work.agent_seconds, work.infrastructure_seconds)


def test_attempts_carry_what_led_to_them(case: RaceCase):
    assert [(1_020_000, 2.0), (510_000, 1.0)] == [(a.tokens, a.cost) for a in entrant(case, "sol-2").attempts]
    assert [(341_000, None)] == [(a.tokens, a.cost) for a in entrant(case, "grok").attempts]


def test_a_correction_leaves_attempts_their_tokens_and_no_cost(case: RaceCase):
    case.add(r.UsageCounted("sol-2", 3, 3, 0, 0, 0, 0, 0, -0.5, "cli"))
    sol = entrant(case, "sol-2")
    assert sol.work is not None
    assert 2.5 == (sol.work.usage.cost_usd if sol.work.usage else None)
    assert [(1_020_000, None), (510_000, None)] == [(a.tokens, a.cost) for a in sol.attempts]


def test_what_nobody_told_is_none_and_not_zero(case: RaceCase):
    control = entrant(case, "hillclimb").work
    assert control is not None
    assert (None, None, 1) == (control.usage, control.cost_per_keep, control.sessions)
    case.join("late", "codex")
    waiting = entrant(case, "late").work
    assert waiting is not None
    assert (None, None, 0, ()) == (
        waiting.agent_seconds, waiting.infrastructure_seconds, waiting.sessions, waiting.endings,
    )  # fmt: skip


def test_settings_are_shown_and_a_password_is_not(case: RaceCase):
    html = page(case.state, None, home=case.state)
    text = read(html).text
    for words in (
        "replicate of sol", "codex · gpt-5.6-sol · high", "codex 0.171.0, codex 0.172.0", "http://gateway/v1",
        "--search off", "no auto-update, effort high on every request", "grok 1.0.41", "the vendor’s",
    ):  # fmt: skip
        assert words in text, words
    assert "hunter2" not in html


def section(shown: str, name: str) -> str:
    found = re.search(rf'<section aria-labelledby="{name}">.*?</section>', shown, re.DOTALL)
    assert found is not None
    return found.group(0)


def test_the_page_writes_amounts_with_dashes_for_the_unknown_and_a_footnote(case: RaceCase):
    reading = read(section(page(case.state, None, home=case.state), "work"))
    for words in ("1.5 M", "1.2 M", "$3.00", "340 k", "2 h 50 m", "+ 15 m 0 s infrastructure", "3 , 2 resumed",
                  "2 early stop, 1 rate limit", "list prices of 2026-11-30"):  # fmt: skip
        assert re.sub(r"\s*,", ",", words) in re.sub(r"\s*,", ",", reading.text), words
    reasons = [e.attributes["title"] for e in reading.of("abbr") if "na" in e.attributes.get("class", "").split()]
    assert 2 == reasons.count("neither the program nor the price table knows")  # cost, per keep
    assert 8 == reasons.count("a control uses no model")  # seven amounts, endpoint
    assert "–: not known." in reading.text


def test_a_race_that_told_of_no_tokens_has_no_cost_in_its_standings(tmp_path: Path):
    bare = RaceCase(tmp_path)
    bare.join("hillclimb", "control")
    bare.attempt("hillclimb", "discard", SEED_FOLDS)
    heads = re.findall(r"<th[^>]*>([^<]*)</th>", page(tmp_path, None, home=tmp_path))
    assert 1 == heads.count("cost")
    assert 0 == heads.count("tokens")


def test_attempts_have_tokens_only_where_some_were_told(case: RaceCase):
    tables = re.findall(r"<th[^>]*>([^<]*)</th>", section(page(case.state, None, home=case.state), "attempts"))
    assert 2 == tables.count("tokens")  # of sol-2 and grok


def test_facts_carry_tokens_and_cost(case: RaceCase):
    rows = {row["competitor"]: row for row in report_facts(case.state, None)["standings"]}
    assert (1_530_000, 3.0, 3.0) == tuple(rows["sol-2"][k] for k in ("tokens", "cost_usd", "cost_per_keep_usd"))
    assert (341_000, None, None) == tuple(rows["grok"][k] for k in ("tokens", "cost_usd", "cost_per_keep_usd"))
    assert (None, None, None) == tuple(rows["hillclimb"][k] for k in ("tokens", "cost_usd", "cost_per_keep_usd"))


def test_every_option_is_shown_and_versions_that_are_not_are_counted(case: RaceCase):
    args = tuple(f"--option-{n}" for n in range(20))
    case.join("many", "command", args=args)
    for n in range(11):
        case.session("many", version=f"paper 1.{n}")
    setup = entrant(case, "many").setup
    assert setup is not None
    assert args == setup.args
    assert (*(f"paper 1.{n}" for n in range(8)), "3 more") == setup.versions
    text = drawn(case).text
    assert " ".join(args) in text
    assert "paper 1.7, 3 more" in text


def test_page_and_status_take_cost_per_keep_from_one_place(case: RaceCase):
    for name, racer in case.ledger.view.competitors.items():
        work = entrant(case, name).work
        assert racer.cost_per_keep_usd == (work.cost_per_keep if work else None)
    assert 3.0 == case.ledger.view.competitors["sol-2"].cost_per_keep_usd


def test_a_time_bar_is_as_long_as_its_times_on_the_common_scale():
    assert 'd="M0 3H55" class="time agent"' in time_bar(50.0, 25.0, 100.0)
    assert 'd="M55 3H82.5" class="time other"' in time_bar(50.0, 25.0, 100.0)
    assert "path" not in time_bar(0.0, 0.0, 100.0)
    assert "path" not in time_bar(0.0, 0.0, 0.0)
