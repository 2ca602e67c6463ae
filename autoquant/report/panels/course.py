"""How they got there: the race as step lines over attempts, time, tokens or cost, and each competitor alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from autoquant.report import axes, charts
from autoquant.report.axes import Axis, Placing
from autoquant.report.frames import Drawing
from autoquant.report.model import Entrant, Race, Standing
from autoquant.report.scene import Scene
from autoquant.report.text import count, listing

LADDERS = 24
"""Competitors drawn alone."""
STEPS = 1000
"""Rows of the table behind the chart; of more, official steps go first."""
_NAMED = 12
"""So many names are listed of those who are not on an axis."""
_LOST = "lost"
"""Ending of a session whose end nobody saw."""


@dataclass(frozen=True)
class Plot:
    """The race over one axis, and what has to be said under it."""

    axis: Axis
    drawing: Drawing
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Row:
    """A step of a line, for the table: where it stands on each axis, None where that is not known."""

    entrant: Entrant
    line: str
    attempt: int
    score: float
    seconds: float | None
    tokens: int | None
    cost: float | None


def context(race: Race, table: Sequence[Standing]) -> dict[str, Any]:
    """Names for `panels/course.html.j2`."""
    drawable = race.seed_score is not None and bool(table)
    alone = table[:LADDERS] if drawable and len(table) > 1 else ()
    scene = Scene.of(race.course)
    runners = {runner.entrant.index: runner for runner in scene.runners[Axis.ATTEMPT]}
    rows = _rows([standing.entrant for standing in table]) if drawable else []
    official = [row for row in rows if row.line == "official"]
    shown = rows if len(rows) <= STEPS else official[:STEPS]
    return {
        "plots": plots(scene) if drawable else (),
        "race_notes": _notes(scene),
        "race_steps": shown,
        "race_steps_left_out": len(rows) - len(shown),
        "ladders": [(s.entrant, charts.ladder_chart(runners[s.entrant.index], scene)) for s in alone],
    }


def plots(scene: Scene) -> tuple[Plot, ...]:
    """The race over each axis that somebody has a place on."""

    def drawn(axis: Axis) -> Drawing:
        return Drawing.of(lambda width: charts.race_chart(scene, width, axis))

    return tuple(Plot(axis, drawn(axis), _about(scene, axis)) for axis in scene.runners)


def _about(scene: Scene, axis: Axis) -> tuple[str, ...]:
    """What the axis measures, what it leaves out, and who is not on it."""
    runners = scene.runners[axis]
    here = {runner.entrant.index for runner in runners}
    absent = [entrant for entrant in scene.course.entrants if entrant.index not in here]
    notes = list(_MEASURES[axis])
    if axis is Axis.TIME and (lost := sum(_lost(runner.entrant) for runner in runners)):
        notes.append(f"Nobody saw the end of {count(lost, 'session')}: there the time up to the last attempt counts.")
    if axis is Axis.TIME and axes.unit(axis, max(runner.placing.end for runner in runners)).size < 60.0:
        notes.append("The record’s clock counts whole seconds.")
    if early := sum(list(runner.placing.places.values()).count(None) for runner in runners):
        verb = "is" if early == 1 else "are"
        notes.append(f"{count(early, 'attempt')} before a competitor’s first figure {verb} not drawn.")
    if absent:
        notes.append(f"Not on this axis: {_absent(absent, axis)}.")
    return tuple(notes)


_MEASURES: dict[Axis, tuple[str, ...]] = {
    Axis.ATTEMPT: (),
    Axis.TIME: (
        "Time in a competitor’s own sessions until it handed an attempt in. Judging, waiting and what infrastructure "
        "took are left out. A line ends with all the time its competitor had.",
    ),
    Axis.TOKENS: (
        "Tokens read and written until an attempt, cached ones included, as far as the programs had told by then. "
        "A line ends with all that was told.",
    ),
    Axis.COST: (
        "US dollars spent until an attempt, by the program’s own figure or the table of list prices. "
        "A line ends with all that was spent.",
    ),
}


def _absent(entrants: Sequence[Entrant], axis: Axis) -> str:
    named = [f"{entrant.name} ({_why(entrant, axis)})" for entrant in entrants[:_NAMED]]
    more = len(entrants) - len(named)
    return listing([*named, f"{more:,} more"] if more else named)


def _why(entrant: Entrant, axis: Axis) -> str:
    if not entrant.attempts:
        return "no attempt yet"
    if axis is Axis.TIME:
        return "no session on record"
    if entrant.control:
        return "a control uses no model"
    if all(attempt.tokens is None for attempt in entrant.attempts):
        return "its program told of no tokens before an attempt"
    if axis is Axis.COST and any(a.tokens is not None and a.cost is None for a in entrant.attempts):
        return "no price is known for all its tokens"
    return "nothing, as it was told"


def _lost(entrant: Entrant) -> int:
    return sum(number for words, number in entrant.work.endings if words == _LOST) if entrant.work else 0


def _notes(scene: Scene) -> tuple[str, ...]:
    thinning, competitors = scene.thinning, len(scene.course.entrants)
    notes = []
    if thinning.stride > 1:
        notes.append(
            f"{thinning.drawn:,} of {count(thinning.of, 'attempt')} are drawn as dots, one in {thinning.stride:,}. "
            "The lines hold every step."
        )
    wide, narrow = (charts.labelled(competitors, narrow=narrow) for narrow in (False, True))
    if narrow < competitors:
        notes.append(f"Names stand beside the best {wide} lines, on a narrow screen beside {narrow}.")
    return tuple(notes)


def _rows(entrants: Sequence[Entrant]) -> list[Row]:
    rows: list[Row] = []
    for entrant in entrants:
        on = {axis: bool(axes.present([entrant], axis)) for axis in (Axis.TIME, Axis.TOKENS, Axis.COST)}
        placed = [Placing.of(entrant, axis).places if here else {} for axis, here in on.items()]
        for line, steps in (("official", entrant.official), ("working", entrant.working)):
            for step in steps:
                seconds, tokens, cost = (places.get(step.attempt) for places in placed)
                whole = None if tokens is None else int(tokens)
                rows.append(Row(entrant, line, step.attempt, step.score, seconds, whole, cost))
    return rows
