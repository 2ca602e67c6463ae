"""Who separates from whom, with planted truth."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from evidence_cases import champions, crashed, market, path, seeded_case, tried
from race_cases import SEED_FOLDS, RaceCase, score_of, shifted

from autoquant.report import evidence_pairs
from autoquant.report.collect import collect
from autoquant.report.evidence import standing_evidence
from autoquant.report.evidence_pairs import Ranking
from autoquant.stats.difference import plain_difference
from autoquant.stats.separation import months_to_separate


def ranked(state: Path) -> Ranking:
    return standing_evidence(collect(state, "autumn")).ranking


def by_name(found: Ranking) -> dict[str, int | None]:
    return {unit.name: rank for unit, rank in zip(found.units, found.ranks, strict=True)}


def test_two_of_equal_skill_share_the_rank_and_months_that_would_separate_them_are_told(tmp_path: Path):
    champions(tmp_path, {"a": 1.4, "b": 1.3})
    found = ranked(tmp_path)
    assert {"a": 1, "b": 1} == by_name(found)
    (pair,) = found.pairs
    assert not pair.separated
    assert pytest.approx(0.1, abs=0.02) == pair.difference
    assert pair.low is not None
    assert pair.high is not None
    assert pair.low < 0 < pair.high
    assert pair.months is not None
    assert pair.months > 100
    assert pair.races is None
    days = plain_difference(*(path(seed, skill, market()).ravel() for seed, skill in ((1, 1.4), (2, 1.3))))
    assert days is not None
    whole = months_to_separate(days.difference, days.standard_error, days.observations)
    assert whole - 732 / (365 / 12) == pytest.approx(pair.months)  # beyond those there are


def test_a_clearly_better_one_separates(tmp_path: Path):
    champions(tmp_path, {"weak": 0.3, "strong": 5.0})
    found = ranked(tmp_path)
    assert {"strong": 1, "weak": 2} == by_name(found)
    assert 1 == found.separated
    assert "" == found.fallback


def test_a_rank_begins_only_where_everybody_above_separates_from_everybody_below(tmp_path: Path):
    champions(tmp_path, {"best": 3.0, "middle": 1.9, "last": 0.8})
    found = ranked(tmp_path)
    assert {(0, 2)} == {(pair.first, pair.second) for pair in found.pairs if pair.separated}
    assert (1, 1, 1) == found.ranks


def test_whoever_holds_the_seed_holds_the_same_champion_and_asks_one_question(tmp_path: Path):
    common = market()
    case = seeded_case(tmp_path, shared=common)
    for name in ("a", "b", "c"):
        case.join(name)
        crashed(case, name)
    tried(case, "a", path(1, 1.0, common), "keep")
    found = ranked(tmp_path)
    assert 1 == found.questions
    same = found.pairs[-1]
    assert (0.0, 1.0, 1.0, False) == (same.difference, same.p_value, same.p_holm, same.separated)
    assert found.pairs[0].p_value == found.pairs[0].p_holm == found.pairs[1].p_holm


def test_days_against_the_order_of_the_scores_separate_nobody(tmp_path: Path):
    """A steady path scores above a wild one that earns far more: the score takes half the folds' spread away."""
    case = seeded_case(tmp_path)
    for name in ("steady", "wild"):
        case.join(name)
    tried(case, "steady", path(1, 0.3), "keep")
    tried(case, "wild", np.array([path(2, level)[fold] for fold, level in enumerate((-4.0, 12.0) * 3)]), "keep")
    found = ranked(tmp_path)
    assert ["steady", "wild"] == [unit.name for unit in found.units]
    (pair,) = found.pairs
    assert pair.difference is not None
    assert pair.difference < 0
    assert pair.p_holm is not None
    assert pair.p_holm <= 0.05
    assert not pair.separated
    assert (1, 1) == found.ranks


def test_without_daily_returns_ranks_fall_back_to_the_noise_floor_and_say_so(tmp_path: Path):
    case = RaceCase(tmp_path, floor=0.3)
    for name, gain in {"a": 1.0, "b": 0.8, "c": 0.6, "d": 0.4}.items():
        case.join(name)
        case.attempt(name, "keep", shifted(SEED_FOLDS, gain))
    found = ranked(tmp_path)
    assert {"a": 1, "b": 1, "c": 3, "d": 3} == by_name(found)
    assert () == found.pairs
    assert "the daily returns of 4 champions are not on record" == found.fallback


def test_one_lost_file_is_named_as_the_reason(tmp_path: Path):
    case = champions(tmp_path, {"a": 1.0, "b": 5.0})
    case.layout.evaluation("a", 1).write_text("{}")
    assert "the daily returns of a are not on record" == ranked(tmp_path).fallback


def test_too_many_champions_are_not_compared_one_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    champions(tmp_path, {"a": 1.0, "b": 5.0})
    monkeypatch.setattr(evidence_pairs, "CHAMPIONS_MOST", 1)
    assert "too many to compare" in ranked(tmp_path).fallback


def test_more_pairs_than_a_bootstrap_can_resolve_go_by_their_error_alone(tmp_path: Path):
    champions(tmp_path, {f"r{place}": 0.2 + place / 10 for place in range(11)} | {"star": 8.0})
    found = ranked(tmp_path)
    assert (None, 66) == (found.samples, found.questions)
    assert 1 == by_name(found)["star"]
    assert 11 == found.ranks.count(2)


def test_a_single_competitor_has_no_pair_and_nobody_has_no_rank_without_a_seed_score(tmp_path: Path):
    champions(tmp_path / "one", {"a": 1.0})
    found = ranked(tmp_path / "one")
    assert ((1,), (), "") == (found.ranks, found.pairs, found.fallback)
    RaceCase(tmp_path / "none", seeded=False).join("a")
    assert (None,) == ranked(tmp_path / "none").ranks
    RaceCase(tmp_path / "empty")
    assert () == ranked(tmp_path / "empty").units


# Replicates: the race is the unit.

SOL, LUNA = ("sol-1", "sol-2", "sol-3"), ("luna-1", "luna-2", "luna-3")
GROUPS = {name: name.split("-")[0] for name in (*SOL, *LUNA)}


def test_replicates_are_ranked_together_by_their_mean_and_shown_with_their_range(tmp_path: Path):
    skills = dict(zip(SOL, (1.0, 1.2, 1.1), strict=True)) | dict(zip(LUNA, (1.15, 0.9, 1.1), strict=True))
    champions(tmp_path, skills, groups=GROUPS)
    found = ranked(tmp_path)
    first = found.units[0]
    assert ("sol", True) == (first.name, first.replicated)
    assert pytest.approx((1.1, 1.0, 1.2), abs=1e-6) == (first.score, first.low, first.high)
    assert (1, 1) == found.ranks
    (pair,) = found.pairs
    assert pair.replicates
    assert pair.races is not None
    assert pair.races > 2
    assert pair.months is None
    assert found.spread is not None


def test_replicates_far_apart_separate_by_their_races_though_their_days_do_not(tmp_path: Path):
    skills = dict(zip(SOL, (1.9, 2.0, 1.95), strict=True)) | dict(zip(LUNA, (0.9, 1.0, 0.95), strict=True))
    case = champions(tmp_path, skills, groups=GROUPS)
    found = ranked(tmp_path)
    assert {"sol": 1, "luna": 2} == by_name(found)
    champions(tmp_path / "alone", {"sol": 1.95, "luna": 0.95})
    assert {"sol": 1, "luna": 1} == by_name(ranked(tmp_path / "alone"))
    assert 6 == len(case.ledger.view.competitors)


def test_a_single_race_separates_from_replicates_when_it_separates_from_each(tmp_path: Path):
    skills = {"sol-1": 0.2, "sol-2": 0.4, "star": 6.5}
    champions(tmp_path / "each", skills, groups=GROUPS)
    assert {"star": 1, "sol": 2} == by_name(ranked(tmp_path / "each"))
    champions(tmp_path / "one", skills | {"sol-2": 6.0}, groups=GROUPS)
    found = ranked(tmp_path / "one")
    assert {"star": 1, "sol": 1} == by_name(found)
    assert not found.pairs[0].replicates


def test_a_single_race_above_one_replicate_and_below_another_asks_nothing_that_could_separate(tmp_path: Path):
    champions(tmp_path, {"sol-1": 8.0, "sol-2": -9.0, "luna": 1.0}, groups=GROUPS)
    (pair,) = ranked(tmp_path).pairs
    assert 1.0 == pair.p_value == pair.p_holm
    assert not pair.separated


def test_a_replicate_that_holds_the_seed_makes_its_pair_no_other_ones_question(tmp_path: Path):
    case = champions(tmp_path, {"sol-1": 1.5, "star": 6.5}, groups=GROUPS)
    for name, group in (("sol-2", GROUPS["sol-2"]), ("idle", "")):
        case.join(name, group=group)
        crashed(case, name)
    found = ranked(tmp_path)
    assert ["star", "sol", "idle"] == [unit.name for unit in found.units]
    assert 3 == found.questions == len(found.pairs)


def test_a_lone_replicate_stands_under_its_own_name(tmp_path: Path):
    champions(tmp_path, {"sol-1": 1.0, "b": 1.0}, groups=GROUPS)
    assert {"sol-1", "b"} == {unit.name for unit in ranked(tmp_path).units}


def test_the_seeds_score_is_what_a_competitor_without_a_keep_is_ranked_by(tmp_path: Path):
    case = champions(tmp_path, {"a": 1.0})
    case.join("idle")
    unit = ranked(tmp_path).units[-1]
    assert ("idle", pytest.approx(score_of(SEED_FOLDS))) == (unit.name, unit.score)
