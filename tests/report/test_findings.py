from __future__ import annotations

from pathlib import Path

from evidence_cases import champions, market, path, placebos, seeded_case, tried
from race_cases import SEED_FOLDS, RaceCase, score_of, shifted

from autoquant.ledger import records as r
from autoquant.report import findings, trust
from autoquant.report.collect import collect
from autoquant.report.evidence import standing_evidence
from autoquant.report.model import Tone


def race_with(state: Path, gains: dict[str, float], floor: float = 0.3) -> RaceCase:
    """One keep per competitor, the given distance above the seed; no daily returns."""
    case = RaceCase(state, floor=floor)
    for name, gain in gains.items():
        case.join(name)
        if gain:
            case.attempt(name, "keep", shifted(SEED_FOLDS, gain))
    return case


def table(state: Path) -> list[tuple[str, int | None, bool]]:
    collected = collect(state, "autumn")
    rows = findings.standings(collected.race, standing_evidence(collected).ranking)
    return [(row.entrant.name, row.rank, row.shared) for row in rows]


def said(state: Path) -> str:
    collected = collect(state, "autumn")
    return " ".join(findings.verdict(collected.race, standing_evidence(collected)))


def test_without_daily_returns_who_is_within_the_noise_floor_of_the_first_shares_its_rank(tmp_path: Path):
    race_with(tmp_path, {"a": 1.0, "b": 0.8, "c": 0.6, "d": 0.0})
    # 1.0 − 0.6 > 0.3; 0.6 − 0.0 > 0.3
    assert [("a", 1, True), ("b", 1, True), ("c", 3, False), ("d", 4, False)] == table(tmp_path)


def test_without_a_seed_score_nobody_has_a_rank(tmp_path: Path):
    RaceCase(tmp_path, seeded=False).join("a")
    assert [("a", None, False)] == table(tmp_path)
    assert "The seed has no score yet, so nobody can be compared. The sealed year is unopened." == said(tmp_path)


def test_replicates_stand_side_by_side_under_one_rank(tmp_path: Path):
    skills = {"sol-1": 1.95, "luna-1": 1.0, "sol-2": 2.0, "sol-3": 1.9, "luna-2": 0.95, "luna-3": 0.9}
    champions(tmp_path, skills, groups={name: name[:-2] for name in skills})
    assert [("sol-2", 1, False), ("sol-1", 1, False), ("sol-3", 1, False)] == table(tmp_path)[:3]
    assert [("luna-1", 2, False), ("luna-2", 2, False), ("luna-3", 2, False)] == table(tmp_path)[3:]
    assert "So far sol (3 races) leads with 1.950 and separates from luna (3 races);" in said(tmp_path)


def test_equals_are_said_not_to_separate(tmp_path: Path):
    case = champions(tmp_path, {"a": 1.4, "b": 1.3, "c": 1.2})
    assert said(tmp_path).startswith("So far no agent separates from the others (tie group of 3); ")
    case.end("a", "b", "c")
    assert said(tmp_path).startswith("No agent separates from the others (tie group of 3); ")


def test_a_leader_is_named_with_whom_it_separates_from(tmp_path: Path):
    champions(tmp_path, {"a": 6.0, "b": 0.4, "c": 0.2}).end("a", "b", "c")
    assert said(tmp_path).startswith("a leads with 6.000 and separates from all 2 others; ")


def test_a_leading_group_is_named_with_whom_it_separates_from(tmp_path: Path):
    champions(tmp_path, {"a": 6.1, "b": 6.0, "c": 0.2}).end("a", "b", "c")
    assert said(tmp_path).startswith("a and b lead as a tie group of 2 and separate from c; ")


def test_a_control_in_the_leading_group_is_told(tmp_path: Path):
    case = champions(tmp_path, {"a": 1.2})
    case.join("hillclimb", "control")
    tried(case, "hillclimb", path(5, 1.3, market()), "keep")
    assert "no competitor separates from the others (tie group of 2, a control without skill among them)" in said(
        tmp_path
    )


def test_a_lead_by_the_noise_floor_alone_is_called_one(tmp_path: Path):
    race_with(tmp_path, {"a": 1.0, "b": 0.5})
    assert "a leads with" in said(tmp_path)
    assert "separates from b, by the noise floor alone" in said(tmp_path)


def test_a_lone_competitor_is_compared_with_nobody(tmp_path: Path):
    race_with(tmp_path, {"a": 1.0})
    seed, score = score_of(SEED_FOLDS), score_of(SEED_FOLDS) + 1
    start = f"So far a holds {score:.3f} against the seed’s {seed:.3f} after 1 attempt; "
    assert said(tmp_path).startswith(f"{start}alone in the race, it is compared with nobody; ")


def test_without_placebo_races_nobody_is_held_yet(tmp_path: Path):
    champions(tmp_path, {"a": 1.0, "b": 2.0})
    assert "; nobody is held against blind searchers yet; the sealed year is unopened." in said(tmp_path)


def test_who_beats_the_blind_searchers_is_named_with_the_corrected_p(tmp_path: Path):
    case = champions(tmp_path, {"a": 6.0, "b": 1.0})
    placebos(case, [run / 10 for run in range(1, 40)])
    assert "; a beats 39 blind searchers (p = 0.050, corrected for 2); " in said(tmp_path)


def test_more_than_one_may_beat_them(tmp_path: Path):
    case = champions(tmp_path, {"a": 6.0, "b": 7.0})
    placebos(case, [run / 20 for run in range(1, 60)])
    assert "; a and b beat 59 blind searchers (p ≤ 0.033, corrected for 2); " in said(tmp_path)


def test_too_few_runs_for_so_many_agents_are_no_proof_and_the_number_that_could_tell_is_named(tmp_path: Path):
    case = champions(tmp_path, {"a": 6.0, "b": 1.0, "c": 1.0, "d": 1.0})
    placebos(case, [run / 10 for run in range(1, 40)])
    assert (
        "; a stands out against 39 blind searchers (p = 0.025), not after correction for 4 (79 could tell); "
        in said(tmp_path)
    )


def test_none_may_beat_them(tmp_path: Path):
    case = champions(tmp_path, {"a": 1.05, "b": 0.5})
    placebos(case, [run / 10 for run in range(1, 40)])
    assert "; none beats 39 blind searchers (smallest p = 0.750); " in said(tmp_path)


def test_the_sealed_year_has_the_last_word(tmp_path: Path):
    case = champions(tmp_path, {"a": 1.0, "b": 2.0})
    case.end("a", "b")
    case.open_lockbox(
        {
            "seed": (None, 0, "insufficient evidence", 0.0001),
            "a": ("a", 1, "confirmed", 0.002),
            "b": ("b", 1, "rejected", -0.001),
        }
    )
    assert said(tmp_path).endswith("; 1 of 2 champions is confirmed on sealed data: a.")


def test_a_synthetic_market_is_named_before_anything_else(tmp_path: Path):
    case = seeded_case(tmp_path, source="synthetic", kind="demo")
    case.join("a")
    tried(case, "a", path(3, 1.0), "keep")
    assert said(tmp_path).startswith("On a synthetic market, which proves nothing about a real one: so far a holds ")


def test_faults_only_is_no_verdict(tmp_path: Path):
    case = RaceCase(tmp_path)
    case.join("a")
    case.add(r.FaultSeen("a", None, "network", "no route"))
    assert f"No attempt has a verdict yet; the seed stands at {score_of(SEED_FOLDS):.3f}." in said(tmp_path)


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
