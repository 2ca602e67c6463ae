"""What the race's agents reached on the graded tasks, when they took part."""

from __future__ import annotations

from typing import Any

from autoquant.report import figures as fig
from autoquant.report.figures import Scale, tag
from autoquant.report.graded import TASKS, Graded


def context(graded: Graded | None) -> dict[str, Any]:
    """Names for `panels/graded.html.j2`."""
    agents = () if graded is None else graded.agents
    rungs = {(a.name, task): rung_bar(row.score) for a in agents for task, row in a.tasks.items()}
    return {"graded": graded, "graded_tasks": TASKS, "rung_bars": rungs}


def rung_bar(score: float | None) -> str:
    """A score from 0 to 1 as a bar on a line; nothing where there is none."""
    if score is None:
        return ""
    x = Scale(0.0, 1.0, 1.0, 119.0)
    parts = [
        tag("path", d="M1 5H119", class_="hair"),
        tag("path", d=f"M1 5H{fig.coordinate(x(score))}", class_="line official"),
    ]
    return tag("svg", *parts, viewBox="0 0 120 10", width="120", height="10", aria_hidden="true")
