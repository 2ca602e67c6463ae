from __future__ import annotations

from pathlib import Path

from race_cases import SEED_FOLDS, RaceCase, score_of, shifted

from autoquant.report import findings, trust
from autoquant.report.collect import collect
from autoquant.report.model import Tone


def race_with(state: Path, gains: dict[str, float], floor: float = 0.3) -> RaceCase:
    """One keep per competitor, the given distance above the seed."""
    case = RaceCase(state, floor=floor)
    for name, gain in gains.items():
        case.join(name)
        if gain:
            case.attempt(name, "keep", shifted(SEED_FOLDS, gain))
    return case


def ranks(state: Path) -> dict[str, int | None]:
    return {s.entrant.name: s.rank for s in findings.standings(collect(state, "autumn").race)}


def test_who_is_within_the_noise_floor_of_the_first_shares_its_rank(tmp_path: Path):
    race_with(tmp_path, {"a": 1.0, "b": 0.8, "c": 0.6, "d": 0.0})
    assert {"a": 1, "b": 1, "c": 3, "d": 4} == ranks(tmp_path)  # 1.0 − 0.6 > 0.3; 0.6 − 0.0 > 0.3


def test_a_rank_group_is_measured_from_its_first_not_from_neighbour_to_neighbour(tmp_path: Path):
    race_with(tmp_path, {"a": 1.0, "b": 0.8, "c": 0.6, "d": 0.4})
    assert {"a": 1, "b": 1, "c": 3, "d": 3} == ranks(tmp_path)


def test_without_a_seed_score_nobody_has_a_rank(tmp_path: Path):
    RaceCase(tmp_path, seeded=False).join("a")
    assert {"a": None} == ranks(tmp_path)


def test_a_lead_inside_the_noise_floor_separates_nobody(tmp_path: Path):
    race_with(tmp_path, {"a": 1.0, "b": 0.9})
    words = findings.verdict(collect(tmp_path, "autumn").race)[0]
    assert f"a holds {score_of(SEED_FOLDS) + 1:.3f}" in words
    assert "does not separate from b: the gap is inside the noise floor of 0.300" in words


def test_a_lead_beyond_the_noise_floor_is_stated_with_both_numbers(tmp_path: Path):
    race_with(tmp_path, {"a": 1.0, "b": 0.5})
    assert findings.verdict(collect(tmp_path, "autumn").race)[0].endswith(
        ", 0.500 ahead of b: more than the noise floor of 0.300."
    )


def test_a_leading_control_is_called_one(tmp_path: Path):
    case = RaceCase(tmp_path)
    case.join("hillclimb", "control")
    case.join("b")
    case.attempt("hillclimb", "keep", shifted(SEED_FOLDS, 1.0))
    assert "hillclimb, a control without skill, holds" in findings.verdict(collect(tmp_path, "autumn").race)[0]


def test_what_stands_against_publishing_is_listed(tmp_path: Path):
    RaceCase(tmp_path, source="synthetic", kind="demo", samples=40).join("a")
    verdict = trust.publishable(collect(tmp_path, "autumn").race)
    assert not verdict.yes
    assert (
        "synthetic market",
        "a demonstration, not a race",
        "never started",
        "calibrated with 40 of 1,000 samples",
        "race not finished",
        "sealed year not judged",
    ) == verdict.reasons


def test_the_strip_is_plain_unless_something_is_wrong(tmp_path: Path):
    case = RaceCase(tmp_path)
    case.join("a")
    case.check()
    case.end("a")
    assert {Tone.PLAIN} == {fact.tone for fact in trust.strip(collect(tmp_path, "autumn").race)}


def test_the_working_line_rises_with_search_and_keep_the_official_with_keep_alone(tmp_path: Path):
    case = RaceCase(tmp_path)
    case.join("a")
    for status, gain in (("search", 0.2), ("archive", 0.1), ("keep", 0.6), ("discard", 0.9)):
        case.attempt("a", status, shifted(SEED_FOLDS, gain))
    entrant = collect(tmp_path, "autumn").race.entrants[0]
    assert [0, 1, 3] == [step.attempt for step in entrant.working]
    assert [0, 3] == [step.attempt for step in entrant.official]
    assert (1, 2) == (entrant.keeps, entrant.accepted)


def test_fold_bars_compare_with_the_working_parent_of_that_moment(tmp_path: Path):
    case = RaceCase(tmp_path)
    case.join("a")
    case.attempt("a", "search", shifted(SEED_FOLDS, 0.25))
    case.attempt("a", "discard", shifted(SEED_FOLDS, 0.5))
    first, second = collect(tmp_path, "autumn").race.entrants[0].attempts
    assert (0.25,) * 6 == tuple(round(v, 12) for v in first.fold_deltas)
    assert (0.25,) * 6 == tuple(round(v, 12) for v in second.fold_deltas)
