"""What the page of a race says, for machines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from autoquant.report import findings, trust
from autoquant.report.evidence import Studied, study
from autoquant.report.evidence_facts import evidence_facts, standing_facts
from autoquant.report.model import Reference, Tone, Verdict


def report_facts(state_dir: Path, race: str | None) -> dict[str, Any]:
    """What the page of a race would say; parameters and errors as `study`."""
    return facts_of(study(state_dir, race))


def facts_of(studied: Studied | None) -> dict[str, Any]:
    """Standings, verdict, statistics, trust and what stands against publishing. `race` is null when there is none."""
    if studied is None:
        return {"race": None}
    model, evidence = studied.collected.race, studied.evidence
    table, strip = findings.standings(model, evidence.ranking), trust.strip(model)
    return {
        "race": model.name,
        "source": model.source.name,
        "synthetic": model.source.synthetic,
        "source_warning": model.source.banner or None,
        "seed": model.seed_score,
        "noise_floor": model.noise_floor,
        "standings": [standing_facts(model, standing, evidence) for standing in table],
        "verdict": list(findings.verdict(model, evidence)),
        **evidence_facts(evidence),
        "publishable": trust.publishable(model),
        "comparable": trust.comparable(model),
        "sealed_year": [*map(_sealed, model.lockbox.verdicts), *map(_sealed, model.lockbox.references)],
        "trust": [fact.words for fact in strip],
        "trust_problems": [fact.words for fact in strip if fact.tone != Tone.PLAIN],
        "head": model.provenance.head,
    }


def _sealed(path: Verdict | Reference) -> dict[str, Any]:
    """One line of the sealed year; a reference has no verdict."""
    return {
        "name": path.name,
        "verdict": path.words or None if isinstance(path, Verdict) else None,
        "sharpe": path.sharpe,
        "sharpe_low": path.sharpe_low,
        "sharpe_high": path.sharpe_high,
        "probability": path.probability,
        "return": path.total_return,
        "drawdown": path.drawdown,
        "days": len(path.daily_returns) or None,
        "missing": path.missing or None,
    }
