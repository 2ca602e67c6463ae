"""A race's leaderboard, worked out from its record and the files that it names."""

from __future__ import annotations

from pathlib import Path

from autoquant.report.collect import Collected, collect
from autoquant.report.evidence import Evidence, standing_evidence
from autoquant.report.findings import standings
from autoquant.report.leaderboard import Leaderboard, Place
from autoquant.report.model import LockboxStage, Race, Standing


def race_leaderboard(state_dir: Path, race: str) -> Leaderboard:
    """The leaderboard of a race, as its page has it.

    Raises
    ------
    UserError : no such race.
    LedgerError : its ledger is broken.
    """
    return collected_leaderboard(collect(state_dir, race))


def collected_leaderboard(collected: Collected) -> Leaderboard:
    """The same of a race that was read."""
    return leaderboard_of(collected.race, standing_evidence(collected))


def leaderboard_of(race: Race, evidence: Evidence) -> Leaderboard:
    """The same from what was read and computed."""
    ranking = evidence.ranking
    return Leaderboard(
        places=tuple(place_of(race, standing, evidence) for standing in standings(race, ranking)),
        ranked_by=f"noise floor: {ranking.fallback}" if ranking.fallback else "daily returns",
        pairs=len(ranking.pairs),
        separated=ranking.separated,
        placebo_command=None if evidence.nulls.tables else evidence.nulls.command,
    )


def place_of(race: Race, standing: Standing, evidence: Evidence) -> Place:
    """One competitor's line."""
    entrant = standing.entrant
    estimate, held = evidence.scores[entrant.index], evidence.nulls.held[entrant.index]
    usage = entrant.work.usage if entrant.work else None
    sealed = entrant.verdict.words if entrant.verdict else ""
    return Place(
        rank=standing.rank,
        shared=standing.shared,
        competitor=entrant.name,
        replicate_of=(entrant.setup.replicate_of or None) if entrant.setup else None,
        score=entrant.score,
        champion=entrant.champion.number if entrant.champion else None,
        score_low=estimate.low,
        score_high=estimate.high,
        score_missing=estimate.missing or None,
        placebo_p=held.p_value,
        placebo_runs=held.runs,
        placebo_missing=held.missing or None,
        sealed=sealed or None,
        sealed_missing=None if sealed else _unsealed(race, standing),
        keeps=entrant.keeps,
        attempts=entrant.closed,
        budget=entrant.budget,
        cost_usd=usage.cost_usd if usage else None,
        faults=entrant.faults,
        violations=entrant.violations,
    )


def _unsealed(race: Race, standing: Standing) -> str:
    if standing.entrant.extension:
        return "joined after the sealed year was opened"
    return "unopened" if race.lockbox.stage is LockboxStage.SEALED else "not in the judged set, or not judged yet"
