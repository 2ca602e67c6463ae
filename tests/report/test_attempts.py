from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from html_reading import Reading, read
from race_cases import SEED_FOLDS, RaceCase, searched, shifted

from autoquant import files
from autoquant.ledger import records as r
from autoquant.ledger.layout import RaceLayout
from autoquant.oracle.records import Fault, GateResult, ShiftedScore, Stress
from autoquant.report import reading as openings
from autoquant.report.collect import collect
from autoquant.report.page import page

SEED = "import numpy as np\n\nDAYS = 60\n\n\ndef target_weights(panel, train_end):\n    return panel.close * 0.0\n"
STRESS = Stress((ShiftedScore(3, 0.81), ShiftedScore(7, 0.44), ShiftedScore(14, None)), 0.2, 1.31, 0.2, 2.4)


def drawn(case: RaceCase) -> str:
    return page(case.state, None, home=case.state)


def section(shown: str, name: str = "attempts") -> str:
    found = re.search(rf'<section aria-labelledby="{name}">.*?</section>', shown, re.DOTALL)
    assert found is not None
    return found.group(0)


def row(shown: str, index: int, number: int) -> Reading:
    """The table body of one attempt."""
    found = re.search(rf"<tbody id=attempt-{index}-{number} .*?(?=<tbody id=|</table>\n+</details>)", shown, re.DOTALL)
    assert found is not None
    return read(f"<table>{found.group(0)}</table>")


@pytest.fixture
def case(tmp_path: Path) -> RaceCase:
    """One competitor with a keep from the seed and a discard from the keep."""
    case = RaceCase(tmp_path, seed_text=SEED)
    case.join("sol")
    first = SEED.replace("60", "90")
    case.attempt("sol", "keep", shifted(SEED_FOLDS, 0.5), text=first, slots=("best", "stable"), stress=STRESS,
                 delayed=0.612, reason="beats the champion: Δscore > 0.3 (got +0.5)")  # fmt: skip
    case.attempt("sol", "discard", shifted(SEED_FOLDS, 0.4), text=first.replace("* 0.0", "* 0.1"), description="less")
    return case


def test_a_row_tells_what_became_of_an_attempt(case: RaceCase):
    text = row(drawn(case), 0, 1).text
    for words in ("1 keep", "+0.500", "6/6", "all pass , drawdown 13.0 % left", "12.0 %", "31.4×", "240",
                  "rank by funding-adjusted momentum"):  # fmt: skip
        assert words in text


def test_an_opened_row_tells_folds_gates_shadows_and_the_reason(case: RaceCase):
    text = row(drawn(case), 0, 1).text
    for words in (
        "from the seed, took best, stable, beyond error",
        "beats the champion: Δscore > 0.3 (got +0.5)",
        "Δ by fold +0.50 +0.50 +0.50 +0.50 +0.50 +0.50 Sharpe 1.40 0.30 1.20 0.60 1.10 0.80",
        "gate value limit room drawdown 12.0 % ≤ 25.0 % 13.0 %",
        "one bar later 0.612, folds moved 0.440 to 0.810, Sharpe of the whole path 1.31 (0.20 to 2.40)",
    ):
        assert words in text


def test_an_opened_row_shows_the_change_and_the_command_that_scores_it_again(case: RaceCase):
    shown = drawn(case)
    attempts = case.ledger.view.competitors["sol"].attempts
    first, second = row(shown, 0, 1).text, row(shown, 0, 2).text
    assert "1 line added, 1 removed @@ -2,3 +2,3 @@ -DAYS = 60 +DAYS = 90" in first
    assert "from #1" in second
    assert "- return panel.close * 0.0 + return panel.close * 0.1" in second
    assert f"uv run evaluate.py state/races/autumn/blobs/{attempts[1].strategy[:12]}*" in second
    assert (case.layout.blob(attempts[1].strategy)).is_file()
    assert "git diff" not in section(shown)


def test_a_failed_gate_says_by_how_much(case: RaceCase):
    case.attempt("sol", "gate", SEED_FOLDS, failed=GateResult("trades", False, 12.0, 20.0, -8.0))
    assert "trades 12 ≥ 20 −8 fails" in row(drawn(case), 0, 3).text


def test_leverage_is_told_only_where_it_fails(case: RaceCase):
    case.attempt("sol", "gate", SEED_FOLDS, failed=GateResult("leverage", False, 1.2, 1.0, -0.2, 2))
    shown = drawn(case)
    assert "leverage 1.20 ≤ 1 −0.20 fails" in row(shown, 0, 3).text
    assert "leverage" not in row(shown, 0, 1).text


def test_an_attempt_without_a_score_says_why_and_still_shows_its_text(case: RaceCase):
    case.attempt("sol", "crash", fault=Fault("ZeroDivisionError", 6), text=SEED.replace("0.0", "(1 / 0)"))
    reading = row(drawn(case), 0, 3)
    reasons = [e.attributes["title"] for e in reading.of("abbr")]
    assert ["ZeroDivisionError in line 6"] * 6 == reasons
    assert "+ return panel.close * (1 / 0)" in reading.text
    assert "2× costs" not in reading.text


def test_a_missing_or_altered_text_is_said_and_its_command_stays(case: RaceCase):
    attempts = case.ledger.view.competitors["sol"].attempts
    case.layout.blob(attempts[0].strategy).write_text("another text")
    case.attempt("sol", "discard", SEED_FOLDS)
    shown = drawn(case)
    assert "No diff: its text differs from its digest." in row(shown, 0, 1).text
    assert "No diff: the parent’s text differs from its digest." in row(shown, 0, 2).text
    assert "git diff --no-index state/races/autumn/blobs/{" in row(shown, 0, 2).text
    assert "uv run evaluate.py" in row(shown, 0, 3).text


def test_hostile_words_and_code_stay_text_in_a_row(case: RaceCase):
    hostile = "</pre></summary><img src=x onerror=alert(1)>\u202e\x1b[2J{{ 7 * 7 }}"
    case.attempt("sol", "discard", SEED_FOLDS, text=f"{SEED}# {hostile}\n", description=hostile, reason=hostile)
    case.attempt("sol", "discard", SEED_FOLDS, text=f"{SEED}# tame\n", description="tame", reason="tame")
    shown = drawn(case)
    reading, tame = row(shown, 0, 3), row(shown, 0, 4)
    assert [] == reading.problems
    assert [e.tag for e in tame.elements] == [e.tag for e in reading.elements]
    assert 3 == reading.text.count("<img src=x onerror=alert(1)>\\u202e\\x1b[2J{{ 7 * 7 }}")


def test_rows_stand_in_the_order_of_their_numbers_and_tables_in_that_of_the_standings(tmp_path: Path):
    case = RaceCase(tmp_path)
    for name in ("first", "second"):
        case.join(name)
        searched(case, name, 12, 3)
    case.attempt("second", "keep", shifted(SEED_FOLDS, 3.0))
    ids = [e.attributes["id"] for e in read(drawn(case)).of("tbody") if "id" in e.attributes]
    assert [f"attempt-1-{n}" for n in range(1, 14)] + [f"attempt-0-{n}" for n in range(1, 13)] == ids


def test_the_keys_count_every_status(tmp_path: Path):
    case = RaceCase(tmp_path)
    case.join("sol")
    for status, times in (("discard", 3), ("archive", 2), ("crash", 1)):
        for _ in range(times):
            fault = Fault("ValueError", 1) if status == "crash" else None
            case.attempt("sol", status, () if fault else SEED_FOLDS, fault=fault)
    case.add(r.AttemptOpened("sol", 7, "r7", "aa" * 32, "on its way", 0))
    assert "2 archive 3 discard 1 crash 1 open" in read(section(drawn(case))).text


def test_tokens_and_cost_have_a_column_where_somebody_told_them(tmp_path: Path):
    case = RaceCase(tmp_path)
    case.join("sol")
    case.join("mute")
    case.session("sol")
    case.spend("sol", 1, 53_000, 400, 0.19)
    case.attempt("sol", "discard", SEED_FOLDS)
    case.attempt("mute", "discard", SEED_FOLDS)
    shown = drawn(case)
    assert "53 k · $0.19" in row(shown, 0, 1).text
    assert 1 == section(shown).count(">tokens</th>")


def test_a_big_races_tables_open_on_demand(tmp_path: Path):
    case = RaceCase(tmp_path)
    case.join("sol", budget=200)
    for _ in range(121):
        case.attempt("sol", "discard", SEED_FOLDS, store=False)
    assert '<details class="table a0" data-e="0">' in drawn(case)


def strategy(parameters: Sequence[int]) -> str:
    """About 4 kB, a parameter in every other line."""
    lines = [f"    window_{n:02d} = {value}  # of the mean that the rule takes\n    use(window_{n:02d})"
             for n, value in enumerate(parameters)]  # fmt: skip
    return "def target_weights(panel, train_end):\n" + "\n".join(lines) + "\n    return total\n"


@pytest.fixture(scope="module")
def full_size(tmp_path_factory: pytest.TempPathFactory) -> RaceCase:
    """Five competitors with 150 attempts each, every strategy on disk, long descriptions and reasons."""
    draw = np.random.Generator(np.random.PCG64(5))
    parameters = draw.integers(0, 99, 45)
    case = RaceCase(tmp_path_factory.mktemp("full"), seed_text=strategy(parameters))
    words = "a hypothesis of the usual length, which says what is changed, why, and what it should do to the folds " * 2
    for name in ("sol", "grok", "opus", "flash", "hillclimb"):
        case.join(name, budget=150)
        held = parameters.copy()
        for number in range(150):
            trial = held.copy()
            trial[draw.integers(0, 45, 6)] = draw.integers(0, 99, 6)
            status = "search" if number % 12 == 5 else "discard"
            case.attempt(name, status, shifted(SEED_FOLDS, 0.001 * number), text=strategy(trial),
                         description=words[:180], reason="search asks for " + words[:140])  # fmt: skip
            if status == "search":
                held = trial
    return case


def test_tables_of_a_full_race_keep_to_their_bytes(full_size: RaceCase):
    shown = section(drawn(full_size))
    assert 750 == shown.count("<tbody id=attempt-")
    assert len(shown.encode()) < 1_150_000


def test_of_a_full_race_with_long_words_accepted_attempts_come_first(full_size: RaceCase):
    shown = section(drawn(full_size))
    body = r"<tbody id=attempt-(\d)-(\d+) class=\"is-(\w+)\">(.*?)(?=<tbody id=|</section>)"
    bodies = [(int(number), status, words) for _, number, status, words in re.findall(body, shown, re.DOTALL)]
    full = [(number, status) for number, status, words in bodies if "<table class=gates>" in words]
    whole = [(number, status) for number, status, words in bodies if "<pre class=diff>" in words]
    for told in (full, whole):
        accepted = sum(status == "search" for _, status in told)
        assert 5 * 7 < accepted
        assert 5 * 13 == accepted or len(told) == accepted
    short = next(words for number, status, words in bodies if number == 1)
    assert "<p>drawdown 12.0\u202f% ≤ 25.0\u202f%\n" in short
    assert re.search(r"<p>\d+ lines added, \d+ removed\n+<pre class=copy>git diff --no-index state/races/autumn", short)
    assert re.search(r"is newest is told in full; [\d,]+ others in short", shown)


def test_thinned_tables_keep_what_was_accepted_and_the_newest(monkeypatch: pytest.MonkeyPatch, full_size: RaceCase):
    monkeypatch.setattr(openings, "ROWS", 100)
    shown = section(drawn(full_size))
    accepted = [number + 1 for number in range(150) if number % 12 == 5]
    newest = [number for number in range(1, 151) if number not in accepted][-20 + len(accepted) :]
    numbers = [int(number) for number in re.findall(r"<tbody id=attempt-2-(\d+) ", shown)]
    assert sorted([*accepted, *newest]) == numbers
    assert "The tables show 100 of 750 attempts" in shown


def test_a_journals_rows_have_neither_ids_nor_commands(tmp_path: Path):
    (tmp_path / "results.tsv").write_text("attempt\tstatus\tscore\tdescription\n1\tkeep\t0.5\t<b>one\n1\tcrash\t\t\n")
    reading = read(page(tmp_path / "none", None, home=tmp_path))
    assert [] == reading.problems
    assert [] == [e for e in reading.of("tbody") if "id" in e.attributes]
    assert [] == reading.of("details")
    assert "<b>one" in reading.text
    assert "no description" in reading.text


def test_faults_and_violations_are_counted_above_their_list(tmp_path: Path):
    case = RaceCase(tmp_path)
    case.join("sol")
    for _ in range(2):
        case.add(r.FaultSeen("sol", 3, "rate_limit", "429"))
    case.add(r.ViolationFound("sol", 2, "run.py", "00" * 32, "11" * 32))
    text = read(section(drawn(case))).text
    assert "2 faults , 1 violation . A fault never scores and never uses an attempt." in text
    assert "run.py changed" in text


def test_what_a_violation_changed_is_shown_inert_and_only_as_the_record_has_it(tmp_path: Path):
    case = RaceCase(tmp_path)
    case.join("sol")
    diff = "--- expected/run.py\n+++ found/run.py\n@@ -1 +1 @@\n-a\n+</pre><script>alert(1)</script>\x1b[2J\u202e\n"
    layout = RaceLayout(tmp_path, case.name)
    digest = files.sha256_bytes(diff.encode())
    files.atomic_write(layout.evidence(digest), diff)
    files.atomic_write(layout.evidence("ab" * 32), diff)
    case.add(r.ViolationFound("sol", 2, "run.py", "00" * 32, "11" * 32, digest))
    case.add(r.ViolationFound("sol", 2, "evaluate.py", "00" * 32, "11" * 32, "ab" * 32))
    markup = section(drawn(case))
    reading = read(markup)
    assert [] == reading.problems
    assert "+</pre><script>alert(1)</script>\\x1b[2J\\u202e" in reading.text
    assert 1 == reading.text.count("what was changed")
    (problem,) = collect(case.state, case.name).race.untrusted
    assert "evidence: diff abababababab differs from the ledger's digest" == problem
