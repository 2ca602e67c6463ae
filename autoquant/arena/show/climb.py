"""How each competitor climbed, from the record: recursion_metrics.json and the lockbox's summary."""

from __future__ import annotations

from autoquant.ledger.views import CompetitorView, RaceView
from autoquant.stats.recursion import RecursionMetrics, Step, recursion_metrics


def climb_of(view: RaceView, racer: CompetitorView) -> RecursionMetrics | None:
    """One competitor's metrics; None before the seed is scored."""
    if view.seed is None:
        return None
    steps = [Step(a.attempt, str(a.status), a.score) for a in racer.closed]
    return recursion_metrics(view.seed.score, steps)


def climbs(view: RaceView) -> dict[str, RecursionMetrics]:
    """Everybody's metrics, by name."""
    found = {name: climb_of(view, racer) for name, racer in view.competitors.items()}
    return {name: climb for name, climb in found.items() if climb is not None}
