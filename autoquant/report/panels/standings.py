"""Who won: the leaderboard, each score with its interval among what blind searchers reach."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from autoquant.report import strips
from autoquant.report.evidence import Evidence
from autoquant.report.evidence_pairs import Unit
from autoquant.report.evidence_scores import ScoreEstimate
from autoquant.report.model import Entrant, Race, Standing
from autoquant.report.nulls import Held
from autoquant.report.text import fixed


@dataclass(frozen=True)
class Row:
    """A competitor on the board."""

    standing: Standing
    estimate: ScoreEstimate
    held: Held
    strip: Markup
    together: Unit | None
    """The replicates it is the first of: their line stands above it."""
    replicate: bool


def context(race: Race, table: Sequence[Standing], evidence: Evidence) -> dict[str, Any]:
    """Names for `panels/standings.html.j2`."""
    domain = _domain(race, evidence)
    ranking = evidence.ranking
    return {
        "board": [_row(race, standing, evidence, domain) for standing in table],
        "board_axis": strips.axis_strip(domain),
        "board_seed": strips.score_strip(
            domain, score=race.seed_score, interval=None, band=None, folds=race.seed_folds, index=None,
            words=f"seed, folds {_folds(race.seed_folds)}",
        ),
        "board_domain": domain,
        "ranking": ranking,
        "nulls": evidence.nulls,
        "tied_all": len(ranking.leaders) == len(ranking.units) > 1,
        "seed_verdict": next((v for v in race.lockbox.verdicts if v.competitor is None), None),
    }  # fmt: skip


def _row(race: Race, standing: Standing, evidence: Evidence, domain: strips.Span) -> Row:
    entrant = standing.entrant
    unit = next(unit for unit in evidence.ranking.units if entrant.index in unit.members)
    estimate, held = evidence.scores[entrant.index], evidence.nulls.held[entrant.index]
    folds = entrant.champion.fold_sharpes if entrant.champion else race.seed_folds
    drawing = strips.score_strip(
        domain,
        score=entrant.score,
        interval=estimate.interval,
        band=_band(held),
        folds=folds,
        index=entrant.index,
        words=_words(entrant, estimate.interval, _band(held), folds),
    )
    first = unit.members[0] == entrant.index
    return Row(standing, estimate, held, drawing, unit if unit.replicated and first else None, unit.replicated)


def _band(held: Held) -> strips.Span | None:
    if held.table is None:
        return None
    low, _, high = held.table.strictest.champion_band
    return low, high


def _domain(race: Race, evidence: Evidence) -> strips.Span:
    """One domain for every strip of the board."""
    values = [*race.seed_folds]
    for entrant in race.entrants:
        held = (entrant.score, *(entrant.champion.fold_sharpes if entrant.champion else ()))
        values += [value for value in (*held, *(evidence.scores[entrant.index].interval or ())) if value is not None]
        values += _band(evidence.nulls.held[entrant.index]) or ()
    return strips.domain_of(values)


def _words(entrant: Entrant, interval: strips.Span | None, band: strips.Span | None, folds: Sequence[float]) -> str:
    parts = [f"score {fixed(entrant.score)}" if entrant.score is not None else "no score"]
    if interval is not None:
        parts.append(f"95 % {fixed(interval[0], 2)} to {fixed(interval[1], 2)}")
    if band is not None:
        parts.append(f"blind searchers {fixed(band[0], 2)} to {fixed(band[1], 2)}")
    if folds:
        parts.append(f"folds {_folds(folds)}")
    return ", ".join(parts)


def _folds(folds: Sequence[float]) -> str:
    return " ".join(fixed(value, 2, sign=True) for value in folds)
