from __future__ import annotations

import base64
import hashlib
import re
import shutil
from pathlib import Path

import pytest
from html_reading import Reading, read
from race_cases import SEED_FOLDS, RaceCase, score_of, searched, shifted

from autoquant.errors import LedgerError, UserError
from autoquant.ledger import records as r
from autoquant.oracle.records import Fault, GateResult
from autoquant.report import render_report, report_facts
from autoquant.report.page import page

HOSTILE = (
    "</script><script>alert(1)</script>",
    "</style><img src=x onerror=alert(1)>",
    '"><svg onload=alert(1)>',
    "{{ 7 * 7 }} {% raw %}",
    "\x1b[31mred\x07 \u202egnp.exe\u2066",
    "&lt;b&gt; &amp; 'quoted' \"twice\"",
    "a\tb\r\nc\u2028d",
    "Z\u0351\u036b\u0343\u036a\u0302\u036b\u033d\u034f\u0334",
)


def drawn(state: Path, race: str | None = None, home: Path | None = None) -> str:
    return page(state, race, home=home or state)


def parsed(html: str) -> Reading:
    reading = read(html)
    assert [] == reading.problems
    return reading


@pytest.fixture(scope="module")
def full_state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three competitors raced to the end, lockbox open, an extension, a fault, a violation, an incident."""
    state = tmp_path_factory.mktemp("full")
    case = RaceCase(state)
    case.join("sol", "codex", colour="#F59E0B", budget=12)
    case.join("grok", "grok", budget=12)
    case.join("hillclimb", "control", colour="#8A8F98", budget=12, model="hillclimb")
    case.attempt("sol", "keep", shifted(SEED_FOLDS, 0.5), description="funding tilt")
    case.attempt("grok", "keep", shifted(SEED_FOLDS, 1.2))
    for place, name in enumerate(("sol", "grok", "hillclimb")):
        searched(case, name, 11, 40 + place)
    case.add(r.FaultSeen("grok", 3, "rate_limit", "429, waited 60 s"))
    case.add(r.ViolationFound("sol", 2, "run.py", "00" * 32, "11" * 32))
    case.add(r.IncidentSeen("another worktree was touched"))
    case.end("sol", "grok", "hillclimb")
    view = case.ledger.view.competitors
    case.open_lockbox(
        {
            "seed": (None, 0, "insufficient evidence", 0.0002),
            "sol": ("sol", view["sol"].champion, "confirmed", 0.002),
            "grok": ("grok", view["grok"].champion, "rejected", -0.001),
            "hillclimb": ("hillclimb", view["hillclimb"].champion, "insufficient evidence", 0.0004),
        }
    )
    case.join("luna", "codex", budget=5, extension=True, colour="#A78BFA")
    searched(case, "luna", 2, 7)
    return state


def every_state(tmp_path: Path, full_state: Path) -> dict[str, str]:
    """A page of every kind."""
    faults = RaceCase(tmp_path / "faults")
    faults.join("grok")
    faults.add(r.FaultSeen("grok", None, "network", "no route"))
    synthetic = RaceCase(tmp_path / "synthetic", source="synthetic", kind="demo", samples=40)
    synthetic.join("hillclimb", "control")
    searched(synthetic, "hillclimb", 4, 3)
    RaceCase(tmp_path / "nobody", seeded=False)
    home = tmp_path / "home"
    home.mkdir()
    (home / "results.tsv").write_text("attempt\tstatus\tscore\n1\tkeep\t0.5\n2\tcrash\t\n")
    return {
        "full": drawn(full_state),
        "faults": drawn(tmp_path / "faults"),
        "synthetic": drawn(tmp_path / "synthetic"),
        "nobody": drawn(tmp_path / "nobody"),
        "journal": drawn(tmp_path / "none", home=home),
        "empty": drawn(tmp_path / "none"),
    }


def test_no_page_asks_anything_of_the_network(tmp_path: Path, full_state: Path):
    """INV-22."""
    for name, html in every_state(tmp_path, full_state).items():
        reading = parsed(html)
        assert {"id", "type"} >= {key for script in reading.of("script") for key in script.attributes}, name
        for element in reading.elements:
            for attribute in ("src", "srcset", "xlink:href", "action", "poster", "data", "ping", "background", "style"):
                assert attribute not in element.attributes, (name, element)
            assert not any(key.startswith("on") for key in element.attributes), (name, element)
            assert element.attributes.get("href", "data:,") == "data:,", (name, element)
        assert set() == set(re.findall(r"url\((?!#hatch)[^)]*\)", html)), name
        assert "@import" not in reading.style
        assert "//" not in reading.style


def test_the_policy_allows_style_sheet_and_script_by_their_hashes_and_nothing_else(tmp_path: Path, full_state: Path):
    for html in every_state(tmp_path, full_state).values():
        reading = parsed(html)
        policy = next(e for e in reading.of("meta") if e.attributes.get("http-equiv") == "Content-Security-Policy")
        style = base64.b64encode(hashlib.sha256(reading.style.encode()).digest()).decode()
        script = base64.b64encode(hashlib.sha256(reading.script.encode()).digest()).decode()
        allowed = f" script-src 'sha256-{script}';" if reading.script else ""
        sources = f"style-src 'sha256-{style}';{allowed} img-src data:"
        expected = f"default-src 'none'; {sources}; base-uri 'none'; form-action 'none'"
        assert expected == policy.attributes["content"]


def test_ids_are_unique_and_labels_point_at_them(tmp_path: Path, full_state: Path):
    for html in every_state(tmp_path, full_state).values():
        reading = parsed(html)
        ids = [e.attributes["id"] for e in reading.elements if "id" in e.attributes]
        assert len(ids) == len(set(ids))
        for element in reading.elements:
            assert element.attributes.get("aria-labelledby", ids[0] if ids else "") in {*ids, ""}


def test_bytes_depend_on_the_race_alone(full_state: Path, tmp_path: Path):
    """INV-22."""
    elsewhere = tmp_path / "moved" / "state"
    shutil.copytree(full_state, elsewhere)
    first = render_report(full_state, None, tmp_path / "a.html", home=full_state).path.read_bytes()
    second = render_report(elsewhere, "autumn", tmp_path / "b.html", home=tmp_path).path.read_bytes()
    assert first == second
    assert str(tmp_path).encode() not in first
    assert str(full_state).encode() not in first


def test_a_finished_race_shows_its_sections_in_order(full_state: Path):
    text = parsed(drawn(full_state)).text
    places = [
        text.index(words)
        for words in (
            "1 Standings",
            "2 The race",
            "3 Sealed year",
            "5 Every attempt",
            "What it took",
            "How they were set",
            "Provenance",
        )
    ]
    assert sorted(places) == places
    for words in (
        "lockbox opened once",
        "1 violation",
        "1 incident",
        "1 fault",
        "tamper-evident",
        "Binance USD-M archive",
    ):
        assert words in text[: places[0]]


def test_the_verdict_names_leader_and_sealed_outcome(full_state: Path):
    text = parsed(drawn(full_state)).text
    assert "So far grok " in text
    assert " by the noise floor alone; " in text
    assert "champions is confirmed on sealed data: sol." in text


def test_an_extension_is_marked_valid_only_and_budgets_as_different(full_state: Path):
    text = parsed(drawn(full_state)).text
    assert "luna joined after the sealed year was opened: VALID only" in text
    assert "Not comparable: budgets differ (5 and 12 attempts)." in text


def test_sealed_verdicts_stand_at_the_ends_of_their_lines(full_state: Path):
    reading = parsed(drawn(full_state))
    for label in ("sol confirmed", "grok rejected", "seed, hillclimb insufficient evidence"):
        assert label in reading.text


def test_every_chart_is_named_and_comes_in_two_widths(full_state: Path):
    reading = parsed(drawn(full_state))
    charts = [e.attributes for e in reading.of("svg") if "chart" in e.attributes.get("class", "").split()]
    assert all(chart["role"] == "img" and chart["aria-label"] for chart in charts)
    assert ["chart wide", "chart narrow"] * (len(charts) // 2) == [chart["class"] for chart in charts]


def told_by(words: str, state: Path) -> str:
    """A page with `words` in every place that somebody else can write."""
    case = RaceCase(state, name="safe", source=f"http://x/{words}")
    case.join("a", words, model=words, colour="#fff;}</style>")
    joined = r.CompetitorJoined(
        "b", "command", words, words, "#112233", 5, group=words, endpoint=f"http://{words}", args=(words, words),
        settings=(words,),
    )  # fmt: skip
    case.add(joined)
    case.session("a", words, version=words, resumes=words)
    case.session("b", words, version=words)
    case.spend("a", 1, 1_000, 10, 0.5, priced_by=words)
    case.attempt("a", "keep", shifted(SEED_FOLDS, 0.9), description=words)
    case.attempt("a", "crash", fault=Fault(words, 3), description=words)
    case.attempt("a", "gate", SEED_FOLDS, failed=GateResult(words, False, 1.0, 2.0), description=words)
    case.add(r.FaultSeen("a", None, words, words))
    case.add(r.ViolationFound("a", None, words, "", "aa"))
    case.add(r.IncidentSeen(words))
    case.end("a", "b", reason=words)
    case.open_lockbox({"seed": (None, 0, words, 0.001), "a": ("a", 1, "confirmed", 0.001)}, days=20)
    return drawn(state)


@pytest.mark.parametrize("hostile", HOSTILE)
def test_hostile_text_stays_text(hostile: str, tmp_path: Path):
    html = told_by(hostile, tmp_path / "hostile")
    reading, tame = parsed(html), parsed(told_by("plain words", tmp_path / "tame"))
    assert [e.tag for e in tame.elements] == [e.tag for e in reading.elements]
    assert [sorted(e.attributes) for e in tame.elements] == [sorted(e.attributes) for e in reading.elements]
    assert tame.style == reading.style
    assert [] == re.findall("[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069\u2028]", html)
    assert "7 * 7" not in hostile or "{{ 7 * 7 }}" in reading.text


def test_a_hostile_competitor_name_stays_text_in_charts_and_tables(tmp_path: Path):
    name = "<img src=x onerror=alert(1)>\u202e"
    case = RaceCase(tmp_path)
    case.join(name)
    case.join("b")
    case.ledger.append(r.CompetitorEnded(name, "disqualified"), "2026-11-02T00:00:00Z")
    reading = parsed(drawn(tmp_path))
    assert [] == reading.of("img")
    assert "<img src=x onerror=alert(1)>\\u202e" in reading.text


def test_without_race_and_journal_the_page_says_what_to_do(tmp_path: Path):
    text = parsed(drawn(tmp_path)).text
    assert "No race has been run here" in text
    assert "uv run arena.py demo" in text


def test_a_race_that_does_not_exist_is_refused_by_name(tmp_path: Path):
    RaceCase(tmp_path, name="autumn")
    with pytest.raises(UserError, match="no race 'winter'"):
        drawn(tmp_path, "winter")


def test_the_newest_race_is_drawn_when_none_is_named(tmp_path: Path):
    RaceCase(tmp_path, name="aaa", created="2026-11-03T00:00:00Z")
    RaceCase(tmp_path, name="zzz", created="2026-11-02T00:00:00Z")
    assert "“ aaa ”" in parsed(drawn(tmp_path)).text


def test_a_broken_ledger_is_refused_and_the_old_page_stays(tmp_path: Path):
    case = RaceCase(tmp_path)
    out = tmp_path / "page.html"
    out.write_text("old")
    lines = case.layout.ledger.read_text().splitlines()
    case.layout.ledger.write_text(lines[0].replace("tamper-evident", "sealed") + "\n" + lines[1] + "\n")
    with pytest.raises(LedgerError, match=r"ledger\.jsonl:1"):
        render_report(tmp_path, None, out, home=tmp_path)
    assert "old" == out.read_text()


def test_nobody_joined_is_a_page(tmp_path: Path):
    RaceCase(tmp_path, seeded=False)
    text = parsed(drawn(tmp_path)).text
    assert "Nobody has joined this race yet." in text
    assert "Nothing to draw before somebody joins." in text


def test_no_champion_is_said_and_shows_the_seeds_score(tmp_path: Path):
    case = RaceCase(tmp_path)
    case.join("a")
    case.join("b")
    case.attempt("a", "discard", shifted(SEED_FOLDS, -0.1))
    text = parsed(drawn(tmp_path)).text
    assert "No champion: 1 attempt by 2 competitors did not beat the seed" in text
    assert "the seed’s: no keep" in text


def test_one_competitor_is_compared_with_nobody(tmp_path: Path):
    case = RaceCase(tmp_path)
    case.join("a")
    case.attempt("a", "keep", shifted(SEED_FOLDS, 0.6))
    text = parsed(drawn(tmp_path)).text
    assert "alone in the race, it is compared with nobody" in text
    assert "above the champion" in text


def test_an_unopened_lockbox_is_an_empty_year_with_its_months(tmp_path: Path):
    case = RaceCase(tmp_path)
    case.join("a")
    text = parsed(drawn(tmp_path)).text
    assert "Sealed: 0 of 1 competitor done." in text
    for words in ("Jul 2025", "Apr 2026", "2025-07-01 to 2026-06-30 is not on the machine"):
        assert words in text


def test_a_reserved_lockbox_without_verdicts_says_so(tmp_path: Path):
    case = RaceCase(tmp_path)
    case.join("a")
    case.end("a")
    case.add(r.LockboxReserved((r.LockboxEntry("seed", None, 0, "77" * 32),)))
    text = parsed(drawn(tmp_path)).text
    assert "lockbox reserved 2026-11-01, not finished" in text
    assert "No equity to draw: not judged yet." in text


def test_changed_sealed_archives_are_said_in_the_strip(tmp_path: Path):
    case = RaceCase(tmp_path)
    case.join("a")
    case.end("a")
    case.add(r.LockboxReserved((r.LockboxEntry("seed", None, 0, "77" * 32),)))
    case.add(r.LockboxFetched({"changed": [{"path": "x.zip"}]}, accept_changed=True))
    text = parsed(drawn(tmp_path)).text
    assert "changed archives accepted" in text
    assert "sealed archives changed since they were pinned" in text


def test_faults_alone_make_a_page_and_no_score(tmp_path: Path):
    case = RaceCase(tmp_path)
    case.join("grok")
    for _ in range(3):
        case.add(r.FaultSeen("grok", None, "network", "no route to host"))
    text = parsed(drawn(tmp_path)).text
    assert "3 faults" in text
    assert "No attempt yet." in text
    assert "network: no route to host" in text


def test_a_missing_number_is_na_with_its_reason_never_zero(tmp_path: Path):
    """INV-21."""
    case = RaceCase(tmp_path)
    case.join("a")
    case.attempt("a", "crash", fault=Fault("ZeroDivisionError", 12))
    reading = parsed(drawn(tmp_path))
    reasons = [e.attributes["title"] for e in reading.of("abbr") if "na" in e.attributes.get("class", "").split()]
    assert 6 == reasons.count("ZeroDivisionError in line 12")  # score, Δ, folds, drawdown, turnover, trades
    assert "ZeroDivisionError in line 12" in reading.text
    assert all(reasons)


def test_an_open_attempt_is_shown_as_being_evaluated(tmp_path: Path):
    case = RaceCase(tmp_path)
    case.join("a")
    case.add(r.AttemptOpened("a", 1, "r1", "aa" * 32, "first idea", 0))
    reading = parsed(drawn(tmp_path))
    assert "still being evaluated" in {e.attributes.get("title") for e in reading.of("abbr")}
    assert "first idea" in reading.text


def test_a_failed_gate_is_named_with_value_and_limit(tmp_path: Path):
    case = RaceCase(tmp_path)
    case.join("a")
    case.attempt("a", "gate", SEED_FOLDS, failed=GateResult("drawdown", False, 0.314, 0.25, -0.064, 3))
    assert "drawdown 31.4 % of 25.0 % in fold 3" in parsed(drawn(tmp_path)).text


def test_an_altered_evaluation_is_not_believed_and_said_on_top(tmp_path: Path):
    case = RaceCase(tmp_path)
    case.join("a")
    case.attempt("a", "discard", shifted(SEED_FOLDS, 0.1))
    path = case.layout.evaluation("a", 1)
    path.write_text(path.read_text().replace("0.1", "0.9"))
    text = parsed(drawn(tmp_path)).text
    assert "1 evaluation file not as recorded" in text
    assert "a #1: evaluation file differs from the ledger's digest" in text
    assert "not as recorded" in text.split("1 Standings")[0]


def test_a_synthetic_market_is_unmissable_and_never_publishable(tmp_path: Path):
    case = RaceCase(tmp_path, source="synthetic", kind="demo")
    case.join("a")
    case.join("b")
    case.attempt("a", "keep", shifted(SEED_FOLDS, 0.9))
    html = drawn(tmp_path)
    reading = parsed(html)
    assert reading.text.startswith("[synthetic] AutoQuant demo")
    assert "No score on this page is a market result" in reading.text
    assert "publishable: no , because synthetic market" in reading.text
    drawings = re.findall(r"<svg[^>]*class=\"(?:chart|ladder)[^\"]*\"", html)
    assert reading.text.count("SYNTHETIC") == len(drawings) - 2  # the roll carries no number


def test_another_source_is_named_in_the_banner(tmp_path: Path):
    case = RaceCase(tmp_path, source="http://127.0.0.1:8777")
    case.join("a")
    text = parsed(drawn(tmp_path)).text
    assert "Not the Binance archive. Prices came from http://127.0.0.1:8777" in text
    assert "NOT THE ARCHIVE" in text


def test_a_complete_race_on_the_archive_is_publishable(tmp_path: Path):
    case = RaceCase(tmp_path)
    case.join("a")
    case.check()
    case.attempt("a", "keep", shifted(SEED_FOLDS, 0.9))
    case.end("a")
    case.open_lockbox({"seed": (None, 0, "insufficient evidence", 0.0001), "a": ("a", 1, "confirmed", 0.002)}, days=30)
    text = parsed(drawn(tmp_path)).text
    assert "publishable: yes" in text
    assert "; a is confirmed on sealed data." in text


def test_long_races_show_a_part_of_the_rows_and_say_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("autoquant.report.reading.ROWS", 8)
    case = RaceCase(tmp_path)
    case.join("a")
    case.attempt("a", "keep", shifted(SEED_FOLDS, 0.5), description="the keep")
    for number in range(19):
        case.attempt("a", "discard", SEED_FOLDS, description=f"discard {number}")
    text = parsed(drawn(tmp_path)).text
    assert "The tables show 8 of 20 attempts" in text
    assert "the keep" in text
    assert "discard 18" in text
    assert "discard 3 " not in text


def test_a_folder_is_no_file_to_write(tmp_path: Path, full_state: Path):
    with pytest.raises(UserError, match="is a folder"):
        render_report(full_state, None, tmp_path, home=tmp_path)


@pytest.mark.parametrize(
    ("kind", "source", "lines"),
    [
        (
            "demo",
            "synthetic",
            ("setup_data.py --verify --synthetic --data-dir demo/data", "evaluate.py demo/state/races/autumn/blobs/",
             "dashboard.py --race autumn --state-dir demo/state --out"),
        ),
        ("race", "http://127.0.0.1:9", ("setup_data.py --base-url http://127.0.0.1:9", "evaluate.py state/races/")),
        ("race", "binance-archive", (">uv run setup_data.py<", "dashboard.py --race autumn --out report.html")),
    ],
)  # fmt: skip
def test_the_commands_to_check_with_name_the_places_of_this_race(
    tmp_path: Path, kind: str, source: str, lines: tuple[str, ...]
):
    case = RaceCase(tmp_path / "state", kind=kind, source=source)
    case.join("a")
    case.attempt("a", "keep", shifted(SEED_FOLDS, 0.5))
    shown = page(case.state, None, home=tmp_path)
    assert [] == [line for line in lines if line not in shown]


def test_a_name_with_a_hyphen_stays_in_one_piece_in_the_verdict(tmp_path: Path):
    case = RaceCase(tmp_path / "state")
    case.join("my-agent")
    case.attempt("my-agent", "keep", shifted(SEED_FOLDS, 0.5))
    assert '<span class="whole">my-agent</span> holds' in page(case.state, None, home=tmp_path)


def test_facts_carry_the_same_standings_as_the_page(full_state: Path):
    facts = report_facts(full_state, None)
    assert "autumn" == facts["race"]
    assert "grok" == facts["standings"][0]["competitor"]
    assert score_of(SEED_FOLDS) == pytest.approx(facts["seed"])
    assert {"race": None} == report_facts(full_state / "nothing", None)


def test_the_facts_told_with_a_page_are_of_the_race_that_it_shows(tmp_path: Path):
    case = RaceCase(tmp_path)
    case.join("a")
    case.attempt("a", "keep", shifted(SEED_FOLDS, 0.5))
    before = report_facts(tmp_path, None)
    drawn = render_report(tmp_path, None, tmp_path / "page.html", home=tmp_path)
    case.attempt("a", "keep", shifted(SEED_FOLDS, 0.9))
    assert before == drawn.facts != report_facts(tmp_path, None)
    assert before["head"] in drawn.path.read_text()
    nothing = render_report(tmp_path / "none", None, tmp_path / "empty.html", home=tmp_path / "none")
    assert {"race": None} == nothing.facts
