"""Of a huge race the page opens what it shows and an even sample, and says so."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from race_cases import SEED_FOLDS, RaceCase, evaluation, shifted

from autoquant.oracle.records import Evaluation
from autoquant.report import reading
from autoquant.report.collect import Collected, collect
from autoquant.report.evidence import Studied, evidence_of
from autoquant.report.page import race_page

DAYS = 12


class DailyCase(RaceCase):
    """A race whose evaluations hold daily returns."""

    def store(self, path: Path, answer: Evaluation) -> str:
        if not answer.folds or answer.daily_returns:
            return super().store(path, answer)
        rng = np.random.default_rng(int(path.stem) if path.stem.isdigit() else 0)
        daily = tuple(tuple(map(float, rng.normal(0, 0.01, DAYS))) for _ in answer.folds)
        sharpes = tuple(fold.sharpe for fold in answer.folds)
        failed = next((gate for gate in answer.gates if not gate.passed), None)
        return super().store(path, evaluation(sharpes, failed=failed, daily=daily))


@pytest.fixture
def huge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DailyCase:
    """Two competitors with 40 attempts each, where 20 are many: one keeps its third, searches with its 30th."""
    for name, value in {"WHOLE": 20, "ROWS": 10, "ROWS_HUGE": 10, "SAMPLE": 16, "SAMPLE_LEAST": 4}.items():
        monkeypatch.setattr(reading, name, value)
    case = DailyCase(tmp_path)
    for name in ("sol", "grok"):
        case.join(name, budget=40)
        for number in range(1, 41):
            status = "keep" if name == "sol" and number == 3 else "search" if number == 30 else "discard"
            case.attempt(name, status, shifted(SEED_FOLDS, 0.5 if number == 3 else number / 100))
    case.end("sol", "grok")
    return case


def read(case: RaceCase) -> Collected:
    return collect(case.state, case.name)


def test_what_the_ledger_says_is_there_for_every_attempt(huge: DailyCase) -> None:
    race = read(huge).race
    assert 80 == race.attempts
    assert all(attempt.score is not None and attempt.delta is not None for e in race.entrants for attempt in e.attempts)


def test_rows_shown_have_their_folds_and_gates_compared_with_their_parents(huge: DailyCase) -> None:
    race = read(huge).race
    for entrant in race.entrants:
        for number in reading.shown([[a.status for a in e.attempts] for e in race.entrants], 10)[entrant.index]:
            attempt = entrant.attempts[number - 1]
            assert (6, 6, True) == (len(attempt.fold_sharpes), len(attempt.fold_deltas), bool(attempt.gate_results))


def test_statistics_get_an_even_sample_of_each_and_its_champion(huge: DailyCase) -> None:
    sol, grok = read(huge).returns.trials
    assert {1, 3, 7, 12, 18, 23, 29, 34, 40} == set(sol.numbers)
    assert {1, 7, 12, 18, 23, 29, 34, 40} == set(grok.numbers)
    assert (6 * DAYS, 9) == sol.panel.shape


def test_the_page_counts_what_it_was_made_from(huge: DailyCase) -> None:
    collected = read(huge)
    found = collected.race.reading
    assert (80, True) == (found.recorded, found.partial)
    assert f"{found.opened} of 80 evaluation files were opened" in race_page(Studied(collected, evidence_of(collected)))


def test_a_closed_file_is_nobodys_business_and_an_opened_one_is_checked(huge: DailyCase) -> None:
    for number in (5, 40):
        huge.layout.evaluation("grok", number).write_text("{}")
    assert ("grok #40: evaluation file differs from the ledger's digest",) == read(huge).race.untrusted


def test_a_race_of_usual_size_is_read_whole(huge: DailyCase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "WHOLE", 80)
    collected = read(huge)
    assert not collected.race.reading.partial
    assert [40, 40] == [len(trials.numbers) for trials in collected.returns.trials]
    assert "evaluation files were opened" not in race_page(Studied(collected, evidence_of(collected)))
