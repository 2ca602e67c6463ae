"""score.json: golden files, and what a race never says."""

from __future__ import annotations

import json
import re
from dataclasses import fields, replace
from pathlib import Path

import pytest
from ratchet_cases import agreeing, failed, lifted, returns, scored, start, trial

from autoquant import codec
from autoquant.ledger.records import DecisionSummary
from autoquant.oracle.records import Confirmation, Evaluation, Fault, GateResult, Outcome, Timings
from autoquant.ratchet.decide import propose, settle
from autoquant.ratchet.feedback import feedback
from autoquant.ratchet.score_file import ScoreFile, agent_score, rounded, summary

GOLDEN = Path(__file__).parent / "golden"
SECRET = "close was 27123.5"


def written(evaluation: Evaluation, confirmation: Confirmation | None = None, *, reveal: bool = False) -> str:
    entry = trial(1, evaluation)
    proposal = propose(start(), entry, noise_floor=0.3)
    if proposal.needs_confirmation and confirmation is None:
        confirmation = agreeing(evaluation)
    decision, _ = settle(start(), entry, proposal, confirmation, noise_floor=0.3, budget=50)
    told = feedback(start(), entry, decision)
    file = agent_score(evaluation, told, decision, 1, decision.status, commit="c0" * 20, reveal=reveal)
    return codec.dumps(file, indent=2) + "\n"


KEPT = scored(lifted(0.4, 5), daily=returns(3), double=0.51)
OTHER_DAYS = returns(3, 40)  # no standard error: its last digits are the machine's, and this file shows all
CASES = {
    "score-keep.json": lambda: written(KEPT),
    "score-keep-revealed.json": lambda: written(replace(KEPT, daily_returns=OTHER_DAYS), reveal=True),
    "score-discard.json": lambda: written(scored(lifted(-0.2), daily=returns(3))),
    "score-gate.json": lambda: written(
        replace(scored(lifted(0.4)), outcome=Outcome.GATE, gates=(GateResult("drawdown", False, 0.31, 0.25, -0.06, 4),))
    ),
    "score-leak.json": lambda: written(scored(lifted(7.0)), Confirmation(False, None, None, SECRET)),
    "score-crash.json": lambda: written(failed(Outcome.CRASH, Fault("KeyError", 12, SECRET))),
}


@pytest.mark.parametrize("name", CASES)
def test_score_json_is_the_golden_one_and_reads_back(name: str) -> None:
    text = CASES[name]()
    assert (GOLDEN / name).read_text() == text
    assert text == codec.dumps(codec.loads(ScoreFile, text), indent=2) + "\n"


@pytest.mark.parametrize("name", [name for name in CASES if "revealed" not in name])
def test_in_a_race_every_number_has_at_most_four_decimals(name: str) -> None:
    for number in re.findall(r"-?\d+\.(\d+)", CASES[name]()):
        assert len(number) <= 4
    assert not re.search(r"\de-\d", CASES[name]())


@pytest.mark.parametrize("name", CASES)
def test_daily_returns_never_appear(name: str) -> None:
    assert "daily" not in CASES[name]()


def test_in_a_race_no_message_no_cut_and_no_date_come_back() -> None:
    evaluation = replace(KEPT, fault=Fault("KeyError", 12, SECRET))
    quiet = written(evaluation)
    assert "27123" not in quiet
    assert "1204" not in quiet, "the causality gate's detail names a bar"
    assert "-01-22" not in quiet
    loud = written(evaluation, reveal=True)
    assert SECRET in loud
    assert "cut 1204 of fold 3" in loud
    assert "-01-22T" in loud


def test_gates_of_form_and_causality_show_a_name_and_nothing_else() -> None:
    gate = GateResult("causality", False, 0.123, 1e-9, -0.123, 3, "bar 1204")
    file = json.loads(written(failed(Outcome.GATE, gate=gate)))
    shown = file["gates"][0]
    assert {"name": "causality", "passed": False} == {key: value for key, value in shown.items() if value is not None}
    assert {"rule": "causality"} == {k: v for k, v in file["feedback"]["nearest_miss"].items() if v is not None}


def test_a_fault_shows_its_kind_and_line_and_no_message() -> None:
    text = written(failed(Outcome.CRASH, Fault("KeyError", 12, SECRET)))
    assert "27123" not in text
    assert {"kind": "KeyError", "line": 12, "message": None} == json.loads(text)["fault"]


def test_a_leak_found_late_leaves_no_score_no_fold_and_no_difference() -> None:
    file = json.loads(CASES["score-leak.json"]())
    assert ("gate", None, [], "causality") == (file["status"], file["score"], file["folds"], file["decision"]["gate"])
    assert (None, None, {}) == (
        file["feedback"]["parent"], file["feedback"]["champion"], file["feedback"]["correlations"],
    )  # fmt: skip
    assert {"double_cost": None, "delayed": None} == file["shadows"]


def test_the_next_start_names_file_attempt_and_commit() -> None:
    kept = json.loads(CASES["score-keep.json"]())["decision"]
    assert {"file": "strategy.py", "attempt": 1, "commit": "c0" * 20, "lineage": "working"} == kept["next"]
    assert 49 == kept["attempts_left"]
    assert 0 == json.loads(CASES["score-discard.json"]())["decision"]["next"]["attempt"]


def test_outside_a_race_there_is_neither_feedback_nor_decision() -> None:
    file = agent_score(scored(), None, None, 1, "scored", reveal=True)
    assert (None, None, "scored") == (file.feedback, file.decision, file.status)
    assert scored().score == file.score


def test_rounding_reaches_every_float_and_leaves_the_rest() -> None:
    assert {"a": (0.1235, None, True, 7, "0.123456")} == rounded({"a": (0.123456, None, True, 7, "0.123456")})
    assert "0.0" == str(rounded(-0.00001))


def test_the_ledgers_summary_has_the_fields_the_ledger_knows() -> None:
    entry = trial(1, KEPT)
    proposal = propose(start(), entry, noise_floor=0.3)
    decision, _ = settle(start(), entry, proposal, agreeing(KEPT), noise_floor=0.3, budget=50)
    told = DecisionSummary(**summary(decision, entry, Timings(total=2.0)))
    assert {field.name for field in fields(DecisionSummary)} == set(summary(decision, None))
    assert (1, 1, 5, 2.0) == (told.champion, told.working, told.folds_better, told.timings["total"])
    assert codec.decode(DecisionSummary, json.loads(codec.dumps(told))) == told
    leaked, _ = settle(start(), entry, proposal, Confirmation(False, None, None), noise_floor=0.3, budget=50)
    assert (None, None, None, "causality") == (
        summary(leaked, entry)["drawdown"], summary(leaked, entry)["delta"], summary(leaked, entry)["trades"],
        summary(leaked, entry)["gate"],
    )  # fmt: skip


if __name__ == "__main__":  # writes the golden files anew, for a reviewed change of the format
    GOLDEN.mkdir(exist_ok=True)
    for case, make in CASES.items():
        (GOLDEN / case).write_text(make())
