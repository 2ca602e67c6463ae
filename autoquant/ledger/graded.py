"""Where the graded track stands, from its record: every agent on every task, its score, and why it stopped there."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from autoquant.ledger.views import CompetitorView, RaceView
from autoquant.protocol import SCHEMA_VERSION


@dataclass(frozen=True)
class TaskRow:
    """One agent on one task."""

    competitor: str
    task: str
    score: float | None
    """Of the final submission, without one of the best backtest."""
    final: bool
    steps: int
    budget: int
    state: str
    """`racing`, or why it ended."""
    why: str
    """What the step that counts would have to mend first."""
    faults: int
    violations: int


@dataclass(frozen=True)
class TaskTable:
    """The whole record."""

    race: str
    source: str
    rows: tuple[TaskRow, ...]
    isolation: str = ""
    """`sealed`, or `tamper-evident` as soon as one start was."""
    unsealed: tuple[str, ...] = ()
    """Why it is not sealed."""
    schema_version: int = SCHEMA_VERSION


def graded_state(state: Path) -> Path:
    """Where the records of the graded track stand: apart from the races, in the state folder of those."""
    return state / "tasks"


def table_of(view: RaceView) -> TaskTable:
    """The record as a table."""
    created = view.created
    rows = tuple(_row(racer) for racer in view.competitors.values())
    return TaskTable(created.race, created.data.source, rows, view.isolation, view.unsealed)


def _row(racer: CompetitorView) -> TaskRow:
    closed = [attempt for attempt in racer.closed if attempt.score is not None]
    final = next((attempt for attempt in closed if attempt.final), None)
    counts = final or max(closed, key=lambda attempt: attempt.score or 0.0, default=None)
    decision = counts.decision if counts else None
    return TaskRow(
        competitor=racer.joined.group,
        task=racer.joined.task,
        score=counts.score if counts else None,
        final=final is not None,
        steps=len(racer.attempts),
        budget=racer.joined.budget,
        state=racer.ended or "racing",
        why=decision.reason if decision else "",
        faults=len(racer.faults),
        violations=len(racer.violations),
    )
