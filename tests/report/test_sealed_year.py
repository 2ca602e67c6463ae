"""The sealed year on the page: lines, verdicts, what VALID promised, and the states without any of it."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from html_reading import read
from race_cases import SEED_FOLDS, RaceCase, score_of, shifted

from autoquant.ledger import records as r
from autoquant.report import report_facts
from autoquant.report.collect import collect
from autoquant.report.model import Race
from autoquant.report.page import page
from autoquant.report.panels.sealed import Row, context
from autoquant.report.sealed import LABELS, equity_of, month_starts
from autoquant.stats.sharpe import sharpe_interval


def raced(state: Path, *agents: str, controls: tuple[str, ...] = ("luck",), **facts: object) -> RaceCase:
    """Every agent has a champion, every control has kept the seed; all have ended."""
    case = RaceCase(state, **facts)  # type: ignore[arg-type]
    for number, name in enumerate(agents):
        case.join(name, budget=2)
        case.attempt(name, "keep", shifted(SEED_FOLDS, 0.5 + number / 10))
    for name in controls:
        case.join(name, "control", model="random", budget=2)
    case.check()
    case.end(*agents, *controls)
    return case


def judged(case: RaceCase, **drifts: float) -> dict[str, tuple[str | None, int, str, float]]:
    entries: dict[str, tuple[str | None, int, str, float]] = {"seed": (None, 0, "insufficient evidence", 0.0002)}
    for name, racer in case.ledger.view.competitors.items():
        drift = drifts.get(name, 0.0003)
        entries[name] = (name, racer.champion, "confirmed" if drift > 0.001 else "rejected", drift)
    return entries


def race_of(case: RaceCase) -> Race:
    return collect(case.state, case.name).race


def shown(case: RaceCase) -> dict[str, object]:
    return context(race_of(case))


def rows(case: RaceCase) -> dict[str, Row]:
    found = shown(case)["sealed_rows"]
    assert isinstance(found, list)
    return {row.path.name: row for row in found}


def section(case: RaceCase) -> str:
    html = page(case.state, case.name, home=case.state)
    start = html.index('<section aria-labelledby="sealed"')
    return html[start : html.index("</section>", start) + 10]


def words(case: RaceCase) -> str:
    return read(section(case)).text


def test_each_line_ends_with_its_name_and_verdict_and_the_market_with_none(tmp_path: Path):
    case = raced(tmp_path, "sol", "grok")
    case.open_lockbox(judged(case, sol=0.002, grok=-0.001))
    text = words(case)
    for label in ("sol confirmed", "grok rejected", "seed, luck insufficient evidence", "buy and hold", "cash"):
        assert label in text
    assert "buy and hold confirmed" not in text
    assert "buy and hold rejected" not in text


def test_champions_are_strong_and_controls_the_seed_and_the_market_thin(tmp_path: Path):
    case = raced(tmp_path, "sol", controls=("luck", "climber"))
    case.open_lockbox(judged(case, sol=0.002))
    html = section(case)
    groups = re.findall(
        r'<g class="(champion|control|seed|beside) (?:reference|a\d)"><path [^>]*class="line year"', html
    )
    assert {"champion": 2, "seed": 2, "beside": 2} == {word: groups.count(word) for word in set(groups)}  # two widths


def test_a_control_with_a_champion_of_its_own_has_a_thin_line(tmp_path: Path):
    case = RaceCase(tmp_path)
    case.join("climber", "control", model="hillclimb", budget=1)
    case.attempt("climber", "keep", shifted(SEED_FOLDS, 0.5))
    case.end("climber")
    case.open_lockbox(judged(case))
    assert 'class="control a0"' in section(case)
    assert "Nobody had a champion" not in words(case)


def test_the_table_sets_what_valid_promised_beside_what_came(tmp_path: Path):
    case = raced(tmp_path, "sol")
    case.open_lockbox(judged(case, sol=0.002))
    sol, seed = rows(case)["sol"], rows(case)["seed"]
    folds = shifted(SEED_FOLDS, 0.5)
    assert pytest.approx(score_of(folds)) == sol.score
    assert pytest.approx(float(np.mean(folds))) == sol.sharpe
    assert pytest.approx(score_of(SEED_FOLDS)) == seed.score
    assert f"on VALID {np.mean(folds):.2f}, sealed" in sol.strip


def test_the_interval_is_that_of_the_daily_returns_per_year(tmp_path: Path):
    case = raced(tmp_path, "sol")
    case.open_lockbox(judged(case, sol=0.002))
    verdict = next(v for v in race_of(case).lockbox.verdicts if v.name == "sol")
    low, high = sharpe_interval(verdict.daily_returns) or (0.0, 0.0)
    assert pytest.approx((low * 365**0.5, high * 365**0.5)) == (verdict.sharpe_low, verdict.sharpe_high)
    assert verdict.sharpe_low < (verdict.sharpe or 0.0) < verdict.sharpe_high


def test_a_failed_gate_is_named_with_value_and_limit_and_the_market_has_none(tmp_path: Path):
    case = raced(tmp_path, "sol")
    case.open_lockbox(judged(case, sol=-0.004))
    verdict = next(v for v in race_of(case).lockbox.verdicts if v.name == "sol")
    assert not verdict.gates_hold
    assert re.fullmatch(r"drawdown [\d.]+\u202f% of 25.0\u202f%", verdict.gates)
    assert "no gate binds a reference" in section(case)
    assert "a reference has no verdict" in section(case)


def test_entries_come_in_the_order_of_the_standings_then_controls_then_the_seed(tmp_path: Path):
    case = raced(tmp_path, "sol", "grok")
    case.open_lockbox(judged(case))
    race = race_of(case)
    text = words(case)
    table = text[text.index("entry verdict") :]
    names = ("grok", "sol", "luck", "seed", "buy and hold")
    assert sorted(names, key=table.index) == list(names)
    assert len(race.lockbox.verdicts) == 4


def test_a_race_of_an_older_version_has_no_market_and_says_why(tmp_path: Path):
    case = raced(tmp_path, "sol")
    case.open_lockbox(judged(case), market=None)
    text = words(case)
    assert "buy and hold n/a this race was opened by a version that kept no reference" in text
    assert "grey: cash." in text


def test_before_the_opening_there_is_an_empty_year_and_no_table(tmp_path: Path):
    case = raced(tmp_path, "sol")
    html = section(case)
    assert "Sealed: 2 of 2 competitors done." in read(html).text
    assert "<table" not in html
    assert "is not on the machine" in html


def test_an_opening_that_was_cut_short_shows_what_is_reserved(tmp_path: Path):
    case = raced(tmp_path, "sol")
    case.add(r.LockboxReserved((r.LockboxEntry("seed", None, 0, "0" * 64), r.LockboxEntry("sol", "sol", 1, "0" * 64))))
    text = words(case)
    assert "No equity to draw: not judged yet." in text
    assert "buy and hold n/a not computed yet" in text
    assert "0.000" not in text


def test_a_missing_evaluation_is_said_and_the_others_are_drawn(tmp_path: Path):
    case = raced(tmp_path, "sol", "grok")
    case.open_lockbox(judged(case, sol=0.002, grok=-0.001))
    case.layout.lockbox_evaluation("grok").unlink()
    case.layout.lockbox_reference("buy-and-hold").write_text("{}")
    text = words(case)
    assert "Not drawn: grok (its evaluation file is missing or altered); buy and hold (its evaluation file" in text
    assert "grok #1 rejected" in text  # the ledger has its verdict
    assert "sol confirmed" in text
    assert "grey: cash." in text
    facts = {line["name"]: line for line in report_facts(case.state, None)["sealed_year"]}
    assert (None, "its evaluation file is missing or altered") == (facts["grok"]["return"], facts["grok"]["missing"])


def test_nothing_to_draw_is_a_sentence(tmp_path: Path):
    case = raced(tmp_path, "sol")
    case.open_lockbox(judged(case), market=None)
    for name in ("seed", "sol", "luck"):
        case.layout.lockbox_evaluation(name).unlink()
    assert "No equity to draw: its evaluation file is missing or altered." in words(case)


def test_without_a_champion_the_seed_stands_there_alone_and_that_is_said(tmp_path: Path):
    case = raced(tmp_path)
    case.open_lockbox(judged(case))
    assert "Nobody had a champion, so no agent’s strategy was judged" in words(case)
    assert "The sealed year judged no champion." in read(page(case.state, None, home=case.state)).text


def test_the_numbers_behind_the_chart_are_month_ends_of_the_lines(tmp_path: Path):
    case = raced(tmp_path, "sol")
    case.open_lockbox(judged(case, sol=0.002))
    race = race_of(case)
    (line,) = [line for line in shown(case)["sealed_numbers"] if line.name == "sol"]  # type: ignore[attr-defined]
    days = next(v for v in race.lockbox.verdicts if v.name == "sol").daily_returns
    equity = equity_of(days)
    assert (equity[31], equity[-1]) == (line.values[0], line.values[-1])  # the end of July, the end of June
    assert 12 == len(line.values) == len(month_starts(race.lockbox))
    assert "Numbers behind the chart" in words(case)


def test_equity_begins_at_one_and_compounds():
    assert [1.0, 1.1, 0.55] == pytest.approx(equity_of((0.1, -0.5)).tolist())


def test_of_a_crowd_the_first_are_named_and_the_seed_and_the_market_always(tmp_path: Path):
    agents = tuple(f"agent-{number:02}" for number in range(LABELS + 4))
    case = raced(tmp_path, *agents)
    case.open_lockbox(judged(case), days=40)
    assert 4 == shown(case)["sealed_unnamed"]
    text = words(case)
    assert "4 lines without a name at the end: see the table." in text
    assert "seed, luck insufficient evidence" in text
    assert len(agents) == len(set(re.findall(r"agent-\d\d", text[text.index("entry verdict") :])))


def test_facts_carry_the_sealed_year_with_its_reference_and_no_verdict_for_it(tmp_path: Path):
    """INV-28."""
    case = raced(tmp_path, "sol")
    case.open_lockbox(judged(case, sol=0.002))
    facts = {line["name"]: line for line in report_facts(case.state, None)["sealed_year"]}
    assert {"seed", "sol", "luck", "buy and hold"} == set(facts)
    assert ("confirmed", None) == (facts["sol"]["verdict"], facts["buy and hold"]["verdict"])
    assert None not in (facts["buy and hold"]["sharpe"], facts["buy and hold"]["return"])
    assert "buy and hold" not in {verdict.name for verdict in race_of(case).lockbox.verdicts}


def test_no_two_levels_of_the_axis_read_the_same(tmp_path: Path):
    for drift in (0.0001, 0.002, 0.006):
        case = raced(tmp_path / str(drift), "sol")
        case.open_lockbox(judged(case, sol=drift), days=120)
        svg = section(case).split("<svg")[1]
        levels = re.findall(r'text-anchor="end"[^>]*>([\d.]+)<|>([\d.]+)</text>', svg)
        labels = [first or second for first, second in levels]
        assert len(labels) == len(set(labels)) > 2
