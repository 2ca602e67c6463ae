"""Competitors held against placebo races that were written by hand."""

from __future__ import annotations

from pathlib import Path

import pytest
from evidence_cases import champions, crashed, path, placebos, seeded_case, tried
from race_cases import RaceCase

from autoquant.arena import placebo_answer
from autoquant.ledger.placebos import REFERENCES, cache_of, fitting_placebos
from autoquant.report.collect import collect
from autoquant.report.nulls import Held, Nulls, nulls_of
from autoquant.stats.placebo import null_distributions

TENTHS = [run / 10 for run in range(1, 40)]
"""39 runs: the k-th keeps k tenths."""


def held(state: Path) -> tuple[Nulls, dict[str, Held]]:
    race = collect(state, "autumn").race
    found = nulls_of(race, state)
    return found, {entrant.name: one for entrant, one in zip(race.entrants, found.held, strict=True)}


def test_p_counts_the_placebos_at_or_above_the_champion(tmp_path: Path):
    placebos(champions(tmp_path, {"a": 2.05, "b": 9.0}), TENTHS)
    nulls, found = held(tmp_path)
    # 2.1 … 3.9 are 19 of 39
    assert dict.fromkeys(REFERENCES, (0.5, 19)) == {
        kind: (test.p_value, test.at_least) for kind, test in found["a"].champion.items()
    }
    assert (0.5, 0.025, 39) == (found["a"].p_value, found["b"].p_value, found["b"].runs)
    assert (2, 0.05, (1,)) == (nulls.family, found["b"].p_holm, nulls.beaten_by)


def test_a_tie_counts_against_the_competitor(tmp_path: Path):
    placebos(champions(tmp_path, {"a": 2.0}), [1.0, 2.0, 3.0])
    assert 0.75 == held(tmp_path)[1]["a"].p_value


def test_the_largest_p_over_searchers_and_markets_leads_and_its_null_is_the_band(tmp_path: Path):
    placebos(champions(tmp_path, {"a": 4.05}), TENTHS, lift={("real", "hillclimb"): 1.0, ("flip", "random"): 0.5})
    nulls, found = held(tmp_path)
    values = {kind: test.at_least for kind, test in found["a"].champion.items()}
    assert {"flip": 4, "permute": 0, "real": 9} == values
    assert 10 / 40 == found["a"].p_value
    (table,) = nulls.tables
    assert ("real", "hillclimb") == (table.strictest.reference, table.strictest.searcher)
    assert pytest.approx((1.29, 3.0, 4.71)) == table.strictest.champion_band
    assert 1.0 == table.strictest.keeps


def test_a_control_where_agents_race_is_no_claim_and_is_not_counted(tmp_path: Path):
    case = champions(tmp_path, {"a": 5.0, "b": 1.0})
    case.join("hillclimb", "control")
    tried(case, "hillclimb", path(9, 4.0), "keep")
    placebos(case, TENTHS)
    nulls, found = held(tmp_path)
    assert (2, 0.05) == (nulls.family, found["a"].p_holm)
    assert (0.025, None) == (found["hillclimb"].p_value, found["hillclimb"].p_holm)


def test_where_only_controls_race_they_are_held(tmp_path: Path):
    case = seeded_case(tmp_path)
    case.join("hillclimb", "control")
    tried(case, "hillclimb", path(9, 4.0), "keep")
    placebos(case, TENTHS)
    assert (1, 0.025) == (held(tmp_path)[0].family, held(tmp_path)[1]["hillclimb"].p_holm)


def test_of_many_agents_the_runs_that_could_tell_are_named(tmp_path: Path):
    placebos(champions(tmp_path, {name: 1.0 + place for place, name in enumerate("abcde")}), TENTHS)
    nulls, _ = held(tmp_path)
    assert 99 == nulls.runs_needed
    assert () == nulls.beaten_by
    assert nulls.command.endswith("--race autumn --runs 99")


def test_another_number_of_attempts_is_another_null(tmp_path: Path):
    case = champions(tmp_path, {"a": 2.0})
    case.join("short", budget=20)
    crashed(case, "short")
    placebos(case, TENTHS)
    nulls, found = held(tmp_path)
    assert "no placebo races with 20 attempts on these data are stored" == found["short"].missing
    assert (None, None) == (found["short"].p_value, found["short"].table)
    placebos(case, [0.1, 0.2], budget=20)
    nulls, found = held(tmp_path)
    assert ([20, 50], 2) == ([table.budget for table in nulls.tables], found["short"].runs)


def test_a_race_of_another_budget_asks_for_placebos_of_its_own(tmp_path: Path):
    case = seeded_case(tmp_path)
    case.join("short", budget=20)
    nulls, found = held(tmp_path)
    assert "uv run arena.py placebo --race autumn --runs 39 --max-experiments 20" == nulls.command
    assert "no attempt has a verdict yet" == found["short"].missing


def test_nothing_stored_and_no_seed_score_are_two_reasons(tmp_path: Path):
    champions(tmp_path / "bare", {"a": 2.0})
    nulls, found = held(tmp_path / "bare")
    assert () == nulls.tables
    assert "no placebo races with 50 attempts on these data are stored" == found["a"].missing
    RaceCase(tmp_path / "none", seeded=False).join("a")
    assert "no seed score yet" == held(tmp_path / "none")[1]["a"].missing


def test_a_kind_of_market_without_a_whole_run_leaves_the_leading_p_open(tmp_path: Path):
    plan = placebos(champions(tmp_path, {"a": 2.05}), TENTHS)
    for path_of_run in cache_of(tmp_path, plan).folder.glob("real-random-*.json"):
        path_of_run.unlink()
    found = held(tmp_path)[1]["a"]
    assert {"flip", "permute"} == set(found.champion)
    assert (None, "no whole placebo run yet: the real market") == (found.p_value, found.missing)


def test_whoever_holds_the_seed_is_held_with_the_seeds_score(tmp_path: Path):
    case = seeded_case(tmp_path)
    case.join("idle")
    crashed(case, "idle")
    placebos(case, TENTHS)
    assert 0.95 == held(tmp_path)[1]["idle"].p_value  # 0.3 … 3.9 are above the seed's 0.21


def test_page_and_command_give_one_answer(tmp_path: Path):
    case = champions(tmp_path, {"a": 2.05, "b": 3.3}, tries=2)
    case.attempt("a", "archive", (4.0, 3.0, 3.5, 3.0, 4.0, 3.0), archive={"best": 4, "stable": 3, "cost_robust": 3,
                                                                         "distinct": None})  # fmt: skip
    plan = placebos(case, TENTHS, lift={("real", "random"): 0.7})
    stored = fitting_placebos(
        tmp_path, protocol=plan.protocol, data=plan.data, seed_strategy=plan.seed_strategy,
        noise_floor=plan.noise_floor, budget=plan.budget,
    )  # fmt: skip
    assert stored is not None
    nulls = null_distributions(stored.runs)
    view = case.ledger.view
    for name, one in held(tmp_path)[1].items():
        expected = placebo_answer.tested(view.competitors[name], view, nulls, plan.budget)
        assert expected.p_champion == {kind: test.p_value for kind, test in one.champion.items()}
        assert expected.p_best == {kind: test.p_value for kind, test in one.best.items()}
