"""What a search is worth after its tries: every counted attempt counts, and what is missing says why."""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from evidence_cases import champions, crashed, market, path, seeded_case, tried
from race_cases import RaceCase

from autoquant.arena.show.climb import climbs
from autoquant.ledger.ledger import read_records
from autoquant.ledger.replay import replay
from autoquant.report.collect import collect
from autoquant.report.evidence import evidence_of
from autoquant.report.evidence_effort import effort
from autoquant.report.evidence_search import NO_CHAMPION, Search
from autoquant.stats.conventions import CONVENTIONS
from autoquant.stats.multiple import deflate


def searches(state: Path) -> dict[str, Search]:
    collected = collect(state, "autumn")
    found = evidence_of(collected).searches
    named = zip(collected.race.entrants, found, strict=True)
    return {entrant.name: search for entrant, search in named if search is not None}


class Elsewhere:
    """An executor as another machine is one: what it does and gets has been pickled."""

    def map(self, function: Any, items: Iterable[Any], *, on_result: Any = None) -> list[Any]:
        return [pickle.loads(pickle.dumps(function))(pickle.loads(pickle.dumps(item))) for item in items]


@pytest.fixture
def case(tmp_path: Path) -> RaceCase:
    """One competitor: 14 discards around one idea, 5 crashes, one champion."""
    common = market()
    made = seeded_case(tmp_path, shared=common)
    made.join("a")
    for number in range(14):
        tried(made, "a", path(100 + number, 0.2 + number / 20, common))
    crashed(made, "a", 5)
    tried(made, "a", path(1, 2.5, common), "keep", stress=True)
    return made


def test_crashes_are_tries_too(case: RaceCase):
    """INV-30."""
    found = searches(case.state)["a"]
    assert (20, 15) == (found.attempts, found.trials)
    assert found.deflation is not None
    assert 20.0 == found.deflation.counted.trials


def test_both_pairings_are_those_of_the_definition_and_the_stricter_one_leads(case: RaceCase):
    collected = collect(case.state, "autumn")
    found, panel = searches(case.state)["a"], collected.returns.trials[0].panel
    assert found.effective is not None
    assert 1.0 < found.effective < 15.0
    sharpes = panel.mean(axis=0) / panel.std(axis=0, ddof=1)
    expected = deflate(panel[:, -1], sharpes, found.effective, trials=20)
    assert expected is not None
    assert found.deflation is not None
    for one, other in ((expected.effective, found.deflation.effective), (expected.counted, found.deflation.counted)):
        assert (one.threshold, one.probability) == pytest.approx((other.threshold, other.probability), rel=1e-12)
    assert max(found.deflation.effective.threshold, found.deflation.counted.threshold) == (
        found.deflation.headline.threshold
    )


def test_attempts_whose_returns_are_lost_make_n_star_an_upper_bound(case: RaceCase):
    whole = searches(case.state)["a"]
    for number in range(1, 14, 2):
        case.layout.evaluation("a", number).unlink()
    part = searches(case.state)["a"]
    assert (20, 8) == (part.attempts, part.trials)
    assert (False, True) == (whole.effective_scaled, part.effective_scaled)
    assert part.effective is not None
    assert whole.effective is not None
    assert whole.effective < part.effective <= 20.0


def test_pbo_stands_beside_what_noise_gives_and_needs_ten_different_attempts(case: RaceCase, tmp_path: Path):
    found = searches(case.state)["a"].overfit
    assert found is not None
    assert 15 == found.trials
    assert 0.0 <= found.probability < 0.2
    assert 0.05 < found.low < 0.5 < found.high < 0.95
    champions(tmp_path / "few", {"b": 1.0}, tries=8)
    few = searches(tmp_path / "few")["b"]
    assert few.overfit is None
    assert "fewer than 10 different attempts" in few.overfit_missing


def test_the_full_path_and_the_shifted_folds_are_the_champions(case: RaceCase):
    found = searches(case.state)["a"]
    assert found.sharpe is not None
    assert pytest.approx(2.5, abs=0.1) == found.sharpe.value
    assert found.sharpe.low < found.sharpe.value < found.sharpe.high
    assert found.shift is not None
    assert pytest.approx((2.5 - 0.14, 2.5 - 0.03)) == (found.shift.low, found.shift.high)
    assert (1, 4) == (found.shift.failed, found.shift.shifts)
    assert (True, 1) == (found.beyond, found.keeps_beyond)


def test_without_a_champion_nothing_was_selected(tmp_path: Path):
    case = seeded_case(tmp_path)
    case.join("a")
    tried(case, "a", path(3, -1.0))
    crashed(case, "a")
    found = searches(tmp_path)["a"]
    assert (None, None, None, None) == (found.sharpe, found.deflation, found.shift, found.beyond)
    assert {NO_CHAMPION} == {found.sharpe_missing, found.deflation_missing, found.shift_missing}
    assert pytest.approx(1.0) == found.effective


def test_a_competitor_of_crashes_alone_has_reasons_and_no_numbers(tmp_path: Path):
    case = seeded_case(tmp_path)
    case.join("a")
    crashed(case, "a", 3)
    found = searches(tmp_path)["a"]
    assert (3, 0, None, None) == (found.attempts, found.trials, found.effective, found.overfit)
    assert "no attempt has daily returns on record" == found.effective_missing == found.overfit_missing


def test_a_competitor_climbs_on_the_page_as_it_does_in_the_arenas_metrics(case: RaceCase):
    case.join("b")
    tried(case, "b", path(8, 0.9), "search")
    tried(case, "b", path(9, 0.5), "archive")
    tried(case, "b", path(10, 1.5), "keep")
    expected = climbs(replay(read_records(case.layout.ledger), "ledger"))
    assert expected == {name: search.climb for name, search in searches(case.state).items()}


def test_the_same_race_gives_the_same_numbers_and_another_competitor_changes_nobodys_search(case: RaceCase):
    once = searches(case.state)["a"]
    assert once == searches(case.state)["a"]
    case.join("b")
    tried(case, "b", path(8, 0.9), "keep")
    assert once == searches(case.state)["a"]


def test_a_usual_race_is_looked_at_whole_and_a_huge_one_in_part():
    assert not effort([150] * 5).thinned
    huge = effort([1000] * 50)
    assert huge.thinned
    assert huge.draws < effort([150] * 5).draws


def test_only_the_sealed_year_and_the_placebos_need_no_caveat():
    assert {"placebo", "lockbox"} == {name for name, one in CONVENTIONS.items() if not one.caveat}


def test_days_that_never_move_have_no_sharpe_ratio(tmp_path: Path):
    case = seeded_case(tmp_path)
    case.join("a")
    tried(case, "a", path(3, 0.4))
    case.attempt("a", "keep", (1.0,) * 6, daily=tuple(tuple(np.zeros(122).tolist()) for _ in range(6)))
    found = searches(tmp_path)["a"]
    assert (None, None) == (found.sharpe, found.deflation)
    assert "its returns never move" == found.sharpe_missing


def test_another_machines_look_into_a_search_is_the_same(case: RaceCase) -> None:
    collected = collect(case.state, "autumn")
    here, there = evidence_of(collected), evidence_of(collected, Elsewhere())
    assert any(here.searches)
    assert repr(here.searches) == repr(there.searches)
