"""How sure: the two honest tests first, then pairs, deflation, overfitting and the climb, each with its caveat."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from autoquant.protocol import PROTOCOL
from autoquant.report import forest, strips
from autoquant.report.evidence import NOT_LOOKED_INTO, Evidence
from autoquant.report.evidence_pairs import Ranking, Versus
from autoquant.report.evidence_scores import ScoreEstimate
from autoquant.report.evidence_search import Search
from autoquant.report.findings import separation_words
from autoquant.report.frames import Drawing
from autoquant.report.model import Entrant, Race, Standing
from autoquant.report.nulls import WORDS, Held, NullTable
from autoquant.report.text import fixed
from autoquant.stats.conventions import CONVENTIONS

FOREST_MOST = 16
"""Competitors in one forest; the table has all."""
TABLES_MOST = 3
MATRIX_LEAST, MATRIX_MOST = 4, 10
PAIRS_OPEN = 15
"""Up to so many pairs are listed at once; of more, the first's, neighbours and what separates, the rest on demand."""
FIRST_AGAINST, NEIGHBOURS = 12, 24
PAIRS_MOST = 120
"""On the page; `--json` has all."""


@dataclass(frozen=True)
class PairRow:
    """A pair for reading."""

    pair: Versus
    first: str
    second: str
    strip: Markup | None
    words: str
    """`separates`, or what it would take."""


@dataclass(frozen=True)
class SearchRow:
    """A competitor's search for reading."""

    entrant: Entrant
    estimate: ScoreEstimate
    held: Held
    search: Search | None
    overfit: Markup | None


def context(race: Race, table: Sequence[Standing], evidence: Evidence) -> dict[str, Any]:
    """Names for `panels/sure.html.j2`."""
    entrants = [standing.entrant for standing in table]
    pairs = evidence.ranking.pairs
    few = len(pairs) <= PAIRS_OPEN
    near = [pair for pair in pairs if few or _matters(pair)]
    far = [] if few else [pair for pair in pairs if not _matters(pair)]
    return {
        "conventions": CONVENTIONS,
        "not_looked_into": NOT_LOOKED_INTO,
        "evidence": evidence,
        "forests": [_forest(race, entrants, evidence, one) for one in evidence.nulls.tables[:TABLES_MOST]],
        "null_words": WORDS,
        "searches": [_search_row(entrant, evidence) for entrant in entrants],
        "pairs_near": pair_rows(evidence.ranking, near[:PAIRS_MOST]),
        "pairs_far": pair_rows(evidence.ranking, far[: max(0, PAIRS_MOST - len(near))]),
        "pairs_all": len(pairs),
        "matrix": _matrix(evidence.ranking),
        "shift_days": PROTOCOL.shift_days,
    }


def _forest(race: Race, entrants: Sequence[Entrant], evidence: Evidence, table: NullTable) -> Drawing:
    lines = [
        forest.Line(
            entrant.name,
            entrant.index,
            entrant.score,
            evidence.scores[entrant.index].interval,
            evidence.nulls.held[entrant.index].p_value,
        )
        for entrant in entrants
        if entrant.score is not None and evidence.nulls.held[entrant.index].table is table
    ][:FOREST_MOST]
    return Drawing.of(lambda width: forest.forest_chart(lines, table, race.source.stamp, width))


def _search_row(entrant: Entrant, evidence: Evidence) -> SearchRow:
    search = evidence.searches[entrant.index]
    drawing = None
    if search is not None and search.overfit is not None:
        found = search.overfit
        words = f"PBO {fixed(found.probability, 2)}, noise gives {fixed(found.low, 2)} to {fixed(found.high, 2)}"
        drawing = strips.share_strip(found.probability, (found.low, found.high), entrant.index, words)
    return SearchRow(
        entrant, evidence.scores[entrant.index], evidence.nulls.held[entrant.index], search, drawing
    )  # fmt: skip


def pair_rows(ranking: Ranking, pairs: Sequence[Versus]) -> list[PairRow]:
    """Some pairs of a ranking, all on one scale."""
    bounds = [bound for pair in ranking.pairs for bound in (pair.low, pair.high) if bound is not None]
    domain = strips.domain_of(bounds)
    rows = []
    for pair in pairs:
        words = separation_words(pair)
        drawing = None
        if pair.difference is not None and pair.low is not None and pair.high is not None:
            label = f"difference {fixed(pair.difference, 2, sign=True)}, {words}"
            drawing = strips.difference_strip(domain, pair.difference, (pair.low, pair.high), pair.separated, label)
        rows.append(
            PairRow(pair, ranking.units[pair.first].name, ranking.units[pair.second].name, drawing, words)
        )  # fmt: skip
    return rows


def _matters(pair: Versus) -> bool:
    against_first = pair.first == 0 and pair.second <= FIRST_AGAINST
    return pair.separated or against_first or (pair.second == pair.first + 1 and pair.first < NEIGHBOURS)


def _matrix(ranking: Ranking) -> list[list[Versus | None]] | None:
    """Rows and columns of units; None on and below the diagonal. No matrix for a few pairs, or too many."""
    count = len(ranking.units)
    if not ranking.pairs or not MATRIX_LEAST <= count <= MATRIX_MOST:
        return None
    found = {(pair.first, pair.second): pair for pair in ranking.pairs}
    return [[found.get((row, column)) for column in range(count)] for row in range(count)]
