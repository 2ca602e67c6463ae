"""What the drawings of one race share, worked out once: who stands where on which axis, which attempts get a dot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil

from autoquant.report import axes, figures
from autoquant.report.axes import Axis, Placing
from autoquant.report.model import Course, Entrant

DOTS = 2000
"""Attempts drawn as dots in one chart; of more, a part."""
FENCE = 1.5
"""Attempts further below the seed than this many score points stand on the lower edge and are counted there."""


@dataclass(frozen=True)
class Thinning:
    """Which attempts a chart draws as dots: every `stride`-th. The lines hold every step all the same."""

    stride: int
    drawn: int
    of: int

    @classmethod
    def to(cls, entrants: Sequence[Entrant]) -> Thinning:
        """The smallest stride that keeps to about `DOTS` in all."""
        total = sum(entrant.closed for entrant in entrants)
        stride = max(1, ceil(total / DOTS))
        drawn = total if stride == 1 else sum(entrant.closed // stride for entrant in entrants)
        return cls(stride, drawn, total)


@dataclass(frozen=True)
class Runner:
    """A competitor on one axis."""

    entrant: Entrant
    placing: Placing
    scored: tuple[tuple[float, float], ...]
    """Place and score of the attempts that get a dot."""
    unscored: tuple[float, ...]
    """Places of the attempts with a verdict but no score that get a stroke."""

    @classmethod
    def of(cls, entrant: Entrant, along: Axis, stride: int = 1) -> Runner:
        """Place a competitor."""
        placing = Placing.of(entrant, along)
        shown = [(placing.places[a.number], a) for a in entrant.attempts if a.status and a.number % stride == 0]
        return cls(
            entrant,
            placing,
            tuple((place, a.score) for place, a in shown if place is not None and a.score is not None),
            tuple(place for place, a in shown if place is not None and a.score is None),
        )


@dataclass(frozen=True)
class Scene:
    """A race to be drawn: everybody's place on each axis that is offered, and one scale of scores."""

    course: Course
    thinning: Thinning
    domain: tuple[float, float]
    """Lowest and highest score on the scale."""
    under: Mapping[int, int]
    """Attempts below the scale by the competitor's index."""
    runners: Mapping[Axis, tuple[Runner, ...]]

    @classmethod
    def of(cls, course: Course) -> Scene:
        """Work a race out."""
        entrants = course.entrants
        thinning = Thinning.to(entrants)
        domain = score_domain(course)
        return cls(
            course,
            thinning,
            domain,
            {e.index: sum(a.score is not None and a.score < domain[0] for a in e.attempts) for e in entrants},
            {
                axis: tuple(Runner.of(entrant, axis, thinning.stride) for entrant in axes.present(entrants, axis))
                for axis in axes.offered(entrants)
            },
        )

    @property
    def last_attempt(self) -> float:
        """Where the axis of attempts ends."""
        return axes.last_attempt(self.course.entrants)


def score_domain(course: Course) -> tuple[float, float]:
    """Scores that a chart shows: every line, the noise floor above the seed, zero, attempts down to the fence."""
    entrants, seed, floor = course.entrants, course.seed_score, course.noise_floor or 0.0
    held = [step.score for entrant in entrants for step in (*entrant.official, *entrant.working)]
    scores = [a.score for entrant in entrants for a in entrant.attempts if a.score is not None]
    anchor = seed if seed is not None else (min(held) if held else 0.0)
    low = max(anchor - FENCE, min([anchor, *held, *scores]))
    high = max([anchor + floor, 0.0, *held, *scores])
    return figures.padded(min(low, *held, anchor, 0.0), high, 0.04, 0.8)
