"""The graded track beside a race: what the race's own agents reached on the three tasks. Reads; never writes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from autoquant.errors import AutoQuantError
from autoquant.ledger.graded import TaskRow, graded_state, table_of
from autoquant.ledger.layout import RaceLayout
from autoquant.ledger.ledger import read_records
from autoquant.ledger.races import race_names
from autoquant.ledger.replay import replay
from autoquant.report.model import Race
from autoquant.report.text import clean

TASKS = ("easy", "medium", "hard")


@dataclass(frozen=True)
class GradedAgent:
    """One agent's ladder; tasks by name."""

    name: str
    index: int | None
    """In the race; None for an agent that is not in it."""
    tasks: dict[str, TaskRow]


@dataclass(frozen=True)
class Graded:
    """The newest record of the graded track with an agent of the race in it."""

    record: str
    source: str
    """`files` or `synthetic`."""
    head: str
    agents: tuple[GradedAgent, ...]


def graded_of(state_dir: Path, race: Race) -> Graded | None:
    """The record for a race's page; None when no agent of the race took part in any."""
    root = graded_state(state_dir)
    indices = {entrant.name: entrant.index for entrant in race.entrants}
    for name in reversed(race_names(root)):
        layout = RaceLayout(root, name)
        try:
            view = replay(read_records(layout.ledger), layout.ledger.name)
        except AutoQuantError:
            continue
        table = table_of(view)
        if not any(row.competitor in indices for row in table.rows):
            continue
        names = dict.fromkeys(row.competitor for row in table.rows)
        agents = (GradedAgent(clean(name, 80), indices.get(name), _by_task(table.rows, name)) for name in names)
        ordered = sorted(agents, key=lambda agent: (agent.index is None, agent.index or 0, agent.name))
        return Graded(clean(table.race, 80), table.source, view.head, tuple(ordered))
    return None


def _by_task(rows: tuple[TaskRow, ...], agent: str) -> dict[str, TaskRow]:
    return {row.task: row for row in rows if row.competitor == agent}
