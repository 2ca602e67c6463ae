"""Where the graded track stands, as plain text."""

from __future__ import annotations

from autoquant.ledger.graded import TaskTable


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
    return "\n".join([*lines, f"isolation: {table.isolation}"] if table.isolation else lines)
