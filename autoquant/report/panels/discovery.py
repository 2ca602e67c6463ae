"""How they got there: when each keep came, how often attempts were accepted, and what descends from what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from autoquant.ledger.records import ACCEPTED
from autoquant.report import rates, timeline, trees
from autoquant.report.axes import last_attempt
from autoquant.report.discovery import Discoveries, discoveries
from autoquant.report.frames import Drawing
from autoquant.report.lineage import twigs
from autoquant.report.model import Attempt, Race, Standing

TIMELINES = 50
"""Competitors in the timeline."""
TREES = 12
"""Competitors whose tree is drawn."""


@dataclass(frozen=True)
class Rate:
    """A competitor's row of the table, with its two small plots."""

    found: Discoveries
    share: Markup
    quarters: Markup


@dataclass(frozen=True)
class Tree:
    """A competitor's lineage: the drawing, and a row for each attempt in it."""

    found: Discoveries
    chart: Drawing
    rows: tuple[tuple[Attempt, int], ...]
    """Attempt and whose text it started from."""
    accepted: int
    """Of all; the drawing may hold fewer."""

    @property
    def left_out(self) -> bool:
        """Whether the drawing holds fewer."""
        return sum(attempt.status in ACCEPTED for attempt, _ in self.rows) < self.accepted


def context(race: Race, table: Sequence[Standing]) -> dict[str, Any]:
    """Names for `panels/discovery.html.j2`."""
    found = [discoveries(standing.entrant) for standing in table]
    tried = any(one.hits.accepted.trials for one in found)
    shown = found[:TIMELINES] if tried else []
    share_top = rates.ceiling(one.hits.accepted for one in found)
    quarter_top = rates.ceiling(share for one in found for share in one.hits.quarters)
    return {
        "timeline": Drawing.of(lambda width: timeline.timeline_chart(shown, race.source.stamp, width))
        if shown
        else None,
        "timeline_left_out": len(found) - len(shown),
        "rates": [
            Rate(
                one,
                rates.share_plot(one.hits.accepted, one.entrant.index, share_top),
                rates.quarters_plot(one.hits.quarters, one.entrant.index, quarter_top),
            )
            for one in found
        ],
        "share_top": share_top,
        "quarter_top": quarter_top,
        **_lineages(race, found),
    }


def _lineages(race: Race, found: Sequence[Discoveries]) -> dict[str, Any]:
    """Trees of the first competitors that have something to draw, and what is not drawn."""
    last = last_attempt(race.entrants)
    sizes = [len(twigs(one.entrant.attempts)) for one in found]
    grown = [one for one, size in zip(found, sizes, strict=True) if size]
    return {
        "lineages": [_tree(one, last, race.source.stamp) for one in grown[:TREES]],
        "lineages_grown": len(grown),
        "lineages_bare": [one.entrant.name for one, size in zip(found, sizes, strict=True) if not size],
        "tree_limits": (trees.NODES, trees.NODES_NARROW) if max(sizes, default=0) > trees.NODES_NARROW else None,
    }


def _tree(found: Discoveries, last: float, stamped: str) -> Tree:
    entrant = found.entrant
    chosen = {twig.number: twig.origin for twig in trees.drawn(entrant, trees.NODES)}
    return Tree(
        found=found,
        chart=Drawing.of(lambda width: trees.tree_chart(entrant, last, stamped, width)),
        rows=tuple((a, chosen[a.number]) for a in entrant.attempts if a.number in chosen),
        accepted=found.hits.accepted.hits,
    )
