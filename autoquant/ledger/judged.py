"""Who is judged on the sealed period: a function of the record, so that anybody can say what the set had to be."""

from __future__ import annotations

from autoquant.ledger import records as r
from autoquant.ledger.views import RaceView

SEED = "seed"
"""Name of the seed among the entries, and of its folder among the evaluations."""


def sealed_set(view: RaceView) -> tuple[r.LockboxEntry, ...]:
    """Who is judged: the seed, every champion that is not the seed, and every control with what it has retained."""
    entries = [r.LockboxEntry(SEED, None, 0, view.created.seed_strategy)]
    for name, racer in view.competitors.items():
        champion = racer.find(racer.champion)
        if champion is not None:
            entries.append(r.LockboxEntry(name, name, champion.attempt, champion.strategy))
        elif racer.joined.harness == "control":
            entries.append(r.LockboxEntry(name, name, 0, view.created.seed_strategy))
    return tuple(entries)
