"""What the page of a race says, for machines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from autoquant.report import findings, trust
from autoquant.report.collect import collect, newest_race
from autoquant.report.model import Work


def report_facts(state_dir: Path, race: str | None) -> dict[str, Any]:
    """Standings, verdict, trust and what stands against publishing. `race` is null when there is none."""
    name = race if race is not None else newest_race(state_dir)
    if name is None:
        return {"race": None}
    model = collect(state_dir, name).race
    standings = [
        {
            "rank": standing.rank,
            "competitor": standing.entrant.name,
            "score": standing.entrant.score,
            "working": standing.entrant.working_score,
            "champion": standing.entrant.champion.number if standing.entrant.champion else None,
            "keeps": standing.entrant.keeps,
            "attempts": standing.entrant.closed,
            "budget": standing.entrant.budget,
            "sealed": standing.entrant.verdict.words or None if standing.entrant.verdict else None,
            "faults": standing.entrant.faults,
            "violations": standing.entrant.violations,
            **_spent(standing.entrant.work),
        }
        for standing in findings.standings(model)
    ]
    return {
        "race": model.name,
        "source": model.source.name,
        "synthetic": model.source.synthetic,
        "seed": model.seed_score,
        "noise_floor": model.noise_floor,
        "standings": standings,
        "verdict": list(findings.verdict(model)),
        "publishable": trust.publishable(model),
        "trust": [fact.words for fact in trust.strip(model)],
        "head": model.provenance.head,
    }


def _spent(work: Work | None) -> dict[str, Any]:
    usage = work.usage if work else None
    return {
        "tokens": usage.tokens if usage else None,
        "cost_usd": usage.cost_usd if usage else None,
        "cost_per_keep_usd": work.cost_per_keep if work else None,
    }
