"""Layers of a chart of scores: noise floor, grid, seed, attempts as dots, champions and working parents as lines."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup
from scipy.special import ndtri

from autoquant.protocol import PROTOCOL
from autoquant.report import axes, paths
from autoquant.report import figures as fig
from autoquant.report.axes import Axis
from autoquant.report.figures import Point, Scale, tag
from autoquant.report.frames import axis as levels
from autoquant.report.frames import is_narrow
from autoquant.report.model import Step
from autoquant.report.scene import Runner
from autoquant.report.text import fixed

_RIM = 40
"""Points of the band's rim between two steps of the champion: a smooth curve, so more would show nothing."""


@dataclass(frozen=True)
class Frame:
    """A plotting area: the two scales and the size around them."""

    width: float
    height: float
    x: Scale
    y: Scale
    along: Axis

    @property
    def narrow(self) -> bool:
        """Whether it is drawn for a phone."""
        return is_narrow(self.width)


def correction(attempts: int) -> float:
    """How much the bar for a keep rises with the number of attempts: z(n) = Φ⁻¹(1 − α/n) / Φ⁻¹(1 − α).

    As in `ratchet.decide.correction`, behind whose door the report does not go; a test holds them equal.

    >>> [round(correction(n), 4) for n in (1, 2, 50)]
    [1.0, 1.1916, 1.8787]
    """
    alpha = PROTOCOL.ratchet.alpha
    return float(ndtri(alpha / attempts) / ndtri(alpha))


def grid(frame: Frame, rows: int, columns: int) -> Markup:
    """Hairlines at round scores, zero stronger, and the ticks along the bottom."""
    ticks = axes.marks(frame.along, frame.x.high, columns)
    marks = [fig.text(frame.x(value), frame.y.start + 18, words, "axis", "middle") for value, words in ticks]
    return levels(frame.x, frame.y, rows, lambda value: fixed(value, 1)) + Markup("").join(marks)


def seed_line(seed: float | None, frame: Frame) -> Markup:
    """Where everybody began."""
    if seed is None:
        return Markup("")
    data = f"M{fig.coordinate(frame.x.start)} {fig.coordinate(frame.y(seed))}H{fig.coordinate(frame.x.end)}"
    return tag("path", d=data, class_="seed-line")


def cloud(runner: Runner, frame: Frame) -> Markup:
    """Attempts as faint dots; a stroke on the lower edge is one far below, a stroke under it one without a score."""
    x, y, low = frame.x, frame.y, frame.y.low
    marks = (
        (paths.dots((x(place), y(score)) for place, score in runner.scored if score >= low), "dots"),
        (paths.strokes([(x(place), y.start) for place, score in runner.scored if score < low], 6.0), "stroke faint"),
        (paths.strokes([(x(place), y.start + 5) for place in runner.unscored], 4.0), "stroke faint"),
    )
    children = [tag("path", d=data, class_=class_) for data, class_ in marks if data]
    return tag("g", *children, class_=f"a{runner.entrant.index}")


def lines(runner: Runner, frame: Frame) -> Markup:
    """Official solid, working dashed, a mark at each keep."""
    entrant = runner.entrant
    until = frame.x(runner.placing.end)
    official, working = _climb(entrant.official, runner, frame), _climb(entrant.working, runner, frame)
    dash = fig.DASHES[1 + entrant.index % (len(fig.DASHES) - 1)]
    parts = [
        tag("path", d=paths.stairs(working, until), class_="line working", stroke_dasharray=dash) if working else "",
        tag("path", d=paths.stairs(official, until), class_="line official") if official else "",
        paths.marks(entrant.index, official[1:]),
    ]
    return tag("g", *(part for part in parts if part), class_=f"a{entrant.index}")


def band(runners: Sequence[Runner], floor: float | None, frame: Frame) -> Markup:
    """What a gain must clear, above the best champion so far: the noise floor, and around it, lighter, the rim that the
    number of that champion's competitor's attempts adds.
    """
    if floor is None:
        return Markup("")
    lower: list[Point] = []
    near: list[Point] = []
    far: list[Point] = []
    for start, stop, runner, score in leading(runners, frame.x.high):
        base, top = frame.y(score), frame.y(score + floor)
        lower += [(frame.x(start), base), (frame.x(stop), base)]
        near += [(frame.x(start), top), (frame.x(stop), top)]
        for place, used in _uses(runner, start, stop):
            far.append((frame.x(place), frame.y(score + floor * correction(used))))
    if not lower:
        return Markup("")
    shapes = (([*lower, *reversed(near)], "band"), ([*near, *reversed(far)], "band rim"))
    return Markup("").join(tag("path", d=paths.outline(points), class_=class_) for points, class_ in shapes)


def leading(runners: Sequence[Runner], until: float) -> list[tuple[float, float, Runner, float]]:
    """Stretches of the axis with the best champion of each: from, to, whose, its score. A tie changes nothing."""
    steps = sorted(
        (runner.placing.step(step.attempt), step.score, place)
        for place, runner in enumerate(runners)
        for step in runner.entrant.official
    )
    best: list[tuple[float, Runner, float]] = []
    for at, score, place in steps:
        if best and score <= best[-1][2]:
            continue
        if best and best[-1][0] == at:
            best.pop()
        best.append((at, runners[place], score))
    ends = [*(at for at, _, _ in best[1:]), until]
    return [(at, max(at, end), runner, score) for (at, runner, score), end in zip(best, ends, strict=True)]


def _uses(runner: Runner, start: float, stop: float) -> list[tuple[float, int]]:
    """Places between two steps, and how many attempts the competitor had handed in by each; one at least."""
    inside = [place for place in runner.placing.handed_in if start < place < stop]
    every = max(1, math.ceil(len(inside) / _RIM))
    places = [start, *inside[::every], stop]
    return [(place, max(1, runner.placing.used_by(place))) for place in places]


def _climb(steps: Sequence[Step], runner: Runner, frame: Frame) -> list[Point]:
    return [(frame.x(runner.placing.step(step.attempt)), frame.y(step.score)) for step in steps]
