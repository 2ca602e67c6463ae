"""Where the graded track stands: every agent on every task, the rung it has reached, and why it stopped there."""

from __future__ import annotations

from dataclasses import dataclass

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
    schema_version: int = SCHEMA_VERSION


def table_of(view: RaceView) -> TaskTable:
    """The record as a table."""
    created = view.created
    return TaskTable(created.race, created.data.source, tuple(_row(racer) for racer in view.competitors.values()))


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


def plain_table(table: TaskTable) -> str:
    """As plain text."""
    rows = [("graded track " + table.race, "task", "score", "steps", "state", "stopped because")]
    for row in table.rows:
        score = "–" if row.score is None else f"{row.score:.2f}" + ("" if row.final else " (backtest)")
        rows.append((row.competitor, row.task, score, f"{row.steps}/{row.budget}", row.state, row.why[:100] or "–"))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    if table.source == "synthetic":
        lines.append("synthetic data: not a market result")
    return "\n".join(lines)
