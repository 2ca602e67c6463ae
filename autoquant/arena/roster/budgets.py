"""Experiments per competitor: the race's number, a competitor's own, and what to say when they differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from autoquant.errors import UserError
from autoquant.ledger.views import RaceView
from autoquant.protocol import PROTOCOL

if TYPE_CHECKING:  # the table of a race comes by here, and needs no harness
    from autoquant.harness import Competitor

NAMED = 3
"""So many competitors of one budget are named, further ones counted."""


def with_budget(competitors: Sequence[Competitor], experiments: int | None) -> tuple[Competitor, ...]:
    """The same competitors, each with `experiments` of its own: what --max-experiments says goes before the roster."""
    if experiments is None:
        return tuple(competitors)
    return tuple(replace(competitor, budget=experiments) for competitor in competitors)


def race_budget(starters: Sequence[Competitor]) -> int:
    """What a new race grants: the starters' own budget where all have the same one, else the protocol's."""
    own = {competitor.budget for competitor in starters}
    return (own.pop() if len(own) == 1 else None) or PROTOCOL.budget


def require_budgets(view: RaceView, running: Sequence[Competitor], asked: int | None, *, extending: bool) -> None:
    """Nobody's budget changes after joining, and --max-experiments gives nobody else's race another number.

    Parameters
    ----------
    running : with the budgets that roster or command line want now.
    asked : --max-experiments, if given.
    extending : newcomers join after the lockbox, with a budget of their own choice.

    Raises
    ------
    UserError : names the competitor, what it has and what it was to get.
    """
    race, granted = view.created.race, view.created.budget
    for competitor in running:
        racer = view.competitors.get(competitor.name)
        if racer is not None and competitor.budget not in (None, racer.joined.budget):
            has = racer.joined.budget
            hint = (
                f"--max-experiments {has}, or another race: --race NAME"
                if asked is not None
                else f"put budget back in the roster, or repeat --max-experiments {has} if that granted them"
            )
            raise UserError(
                f"{competitor.name} joined race {race} with {has} experiments, not {competitor.budget}", hint
            )
    joins = any(competitor.name not in view.competitors for competitor in running)
    if asked not in (None, granted) and joins and not extending:
        raise UserError(
            f"race {race} grants {granted} experiments, not {asked}",
            f"--max-experiments {granted}, or another race: --race NAME",
        )


def unequal_budgets(budgets: Mapping[str, int]) -> str:
    """What has to be said when competitors have different budgets; empty when they do not.

    >>> unequal_budgets({"a": 50, "b": 20, "c": 50})
    'budgets differ (20: b; 50: a, c): only equal budgets compare'
    """
    holders: dict[int, list[str]] = {}
    for name, budget in budgets.items():
        holders.setdefault(budget, []).append(name)
    if len(holders) < 2:
        return ""
    parts = [f"{budget}: {_some(names)}" for budget, names in sorted(holders.items())]
    return f"budgets differ ({'; '.join(parts)}): only equal budgets compare"


def _some(names: list[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more
