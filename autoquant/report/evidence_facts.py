"""The statistics of a race for machines: null for missing, the reason beside it."""

from __future__ import annotations

import math
from typing import Any

from autoquant import codec
from autoquant.report.evidence import NOT_LOOKED_INTO, Evidence
from autoquant.report.evidence_pairs import Ranking
from autoquant.report.evidence_search import Search
from autoquant.report.findings import separation_words
from autoquant.report.model import Race, Standing, Work
from autoquant.report.nulls import Held, NullTable
from autoquant.report.placing import place_of
from autoquant.stats.conventions import CONVENTIONS
from autoquant.stats.multiple import Deflation, Hurdle
from autoquant.stats.sharpe import annualised


def standing_facts(race: Race, standing: Standing, evidence: Evidence) -> dict[str, Any]:
    """Everything about one competitor."""
    entrant = standing.entrant
    search = evidence.searches[entrant.index]
    best = evidence.scores[entrant.index].best
    return {
        **codec.encode(place_of(race, standing, evidence)),
        "working": entrant.working_score,
        "probability_best": best,
        "placebo": _held(evidence.nulls.held[entrant.index]),
        "search": None if search is None else _search(search),
        "search_missing": NOT_LOOKED_INTO if search is None else None,
        **_spent(entrant.work),
    }


def evidence_facts(evidence: Evidence) -> dict[str, Any]:
    """What concerns more than one competitor."""
    nulls = evidence.nulls
    return {
        "ranking": _ranking(evidence.ranking),
        "pairs": _pairs(evidence.ranking),
        "placebo_races": {
            "tables": [_table(table) for table in nulls.tables],
            "corrected_for": nulls.family,
            "runs_needed": nulls.runs_needed,
            "command": nulls.command,
        },
        "drawn": codec.encode(evidence.effort),
        "conventions": {
            name: {"name": one.name, "convention": one.convention, "source": one.source, "caveat": one.caveat or None}
            for name, one in CONVENTIONS.items()
        },
    }


def _spent(work: Work | None) -> dict[str, Any]:
    usage = work.usage if work else None
    return {
        "tokens": usage.tokens if usage else None,
        "cost_usd": usage.cost_usd if usage else None,
        "cost_per_keep_usd": work.cost_per_keep if work else None,
    }


def _ranking(ranking: Ranking) -> dict[str, Any]:
    return {
        "by": "noise floor" if ranking.fallback else "daily returns",
        "why": ranking.fallback or None,
        "tests": ranking.questions,
        "bootstrap_samples": ranking.samples,
        "replicate_spread": ranking.spread,
        "units": [
            {"name": u.name, "rank": rank, "races": len(u.members), "score": u.score, "low": u.low, "high": u.high}
            for u, rank in zip(ranking.units, ranking.ranks, strict=True)
        ],
    }


def _pairs(ranking: Ranking) -> list[dict[str, Any]]:
    return [
        {
            "first": ranking.units[pair.first].name,
            "second": ranking.units[pair.second].name,
            "by": "races" if pair.replicates else "days",
            "difference": pair.difference,
            "low": pair.low,
            "high": pair.high,
            "p": pair.p_value,
            "p_corrected": pair.p_holm,
            "separated": pair.separated,
            "more_months": _finite(pair.months),
            "races_each": _finite(pair.races),
            "words": separation_words(pair),
            "missing": pair.missing or None,
        }
        for pair in ranking.pairs
    ]


def _held(held: Held) -> dict[str, Any]:
    return {
        "p": held.p_value,
        "p_corrected": held.p_holm,
        "runs": held.runs,
        "champion": {kind: test.p_value for kind, test in held.champion.items()},
        "best": {kind: test.p_value for kind, test in held.best.items()},
        "no_skill_band": None if held.table is None else list(held.table.strictest.champion_band),
        "plan": None if held.table is None else held.table.plan,
        "missing": held.missing or None,
    }


def _table(table: NullTable) -> dict[str, Any]:
    return {
        "plan": table.plan,
        "runs_digest": table.runs_digest,
        "budget": table.budget,
        "nulls": [
            {
                "market": null.reference,
                "searcher": null.searcher,
                "runs": null.runs,
                "champion": list(null.champion_band),
                "best": list(null.best_band),
                "keeps": null.keeps,
                "band": null is table.strictest,
            }
            for null in table.nulls
        ],
    }


def _search(search: Search) -> dict[str, Any]:
    plain = codec.encode(search)
    plain["deflation"] = None if search.deflation is None else _deflation(search.deflation)
    return {key: value if not key.endswith("_missing") else value or None for key, value in plain.items()}


def _deflation(found: Deflation) -> dict[str, Any]:
    return {
        "headline": found.headline.probability,
        "effective": _hurdle(found.effective),
        "counted": _hurdle(found.counted),
        "days": found.observations,
    }


def _hurdle(hurdle: Hurdle) -> dict[str, Any]:
    """Threshold per year."""
    return {
        "trials": hurdle.trials,
        "threshold": annualised(hurdle.threshold),
        "probability": hurdle.probability,
    }


def _finite(value: float | None) -> float | None:
    return None if value is None or math.isinf(value) else value
