"""Scores over attempts: the race, and one competitor's own ladder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from autoquant.report import figures as fig
from autoquant.report.figures import Point, Scale, tag
from autoquant.report.frames import LABEL_GAP, axis, fit, is_narrow, lead, stamp
from autoquant.report.model import Attempt, Course, Entrant, Step
from autoquant.report.text import clean, count, fixed, shorten

LADDER = 328.0
_FENCE = 1.5
"""Attempts further below the seed than this many score points stand on the lower edge and are counted there."""


@dataclass(frozen=True)
class _Frame:
    """A plotting area: the two scales and the size around them."""

    width: float
    height: float
    x: Scale
    y: Scale

    @property
    def narrow(self) -> bool:
        return is_narrow(self.width)


def race_chart(course: Course, width: float) -> Markup:
    """Scores over attempts: official solid, working dashed, every attempt a faint dot, the noise floor a band."""
    narrow = is_narrow(width)
    height = 300.0 if narrow else 430.0
    frame = _Frame(
        width,
        height,
        Scale(0, _last_attempt(course.entrants), 40.0 if narrow else 46.0, width - (112.0 if narrow else 236.0)),
        Scale(*_score_domain(course), height - 54.0, 24.0),
    )
    below = [_below(entrant.attempts, frame.y) for entrant in course.entrants]
    layers = [
        _noise_band(course, frame),
        _score_axes(frame, sum(below)),
        *(_cloud(entrant, frame) for entrant in course.entrants),
        *(_ladder_lines(entrant, frame) for entrant in course.entrants),
        _seed_label(course.seed_score, frame),
        _end_labels(course.entrants, frame),
        stamp(course.stamp, frame.x),
    ]
    label = f"Score over attempts of {count(len(course.entrants), 'competitor')}; numbers in the table below"
    return fig.canvas(width, height, label, *layers, class_=fit(width))


def ladder_chart(entrant: Entrant, course: Course) -> Markup:
    """One competitor alone, all on one scale: its attempts, its two lines, and the noise floor above its champion."""
    height = 172.0
    frame = _Frame(
        LADDER,
        height,
        Scale(0, _last_attempt(course.entrants), 36.0, LADDER - 12.0),
        Scale(*_score_domain(course), height - 24.0, 20.0),
    )
    keeps = [step for step in entrant.official if step.attempt > 0]
    labels = [
        fig.text(frame.x(step.attempt), max(12.0, frame.y(step.score) - 8), f"#{step.attempt}", "label", "middle")
        for step in keeps
    ]
    layers = [
        _band_above(entrant.official, course.noise_floor or 0.0, frame.x.high, frame),
        _grid(frame, 3, 4),
        _cloud(entrant, frame),
        _ladder_lines(entrant, frame),
        *labels,
        stamp(course.stamp, frame.x),
    ]
    return fig.canvas(LADDER, height, f"Score over attempts of {clean(entrant.name)}", *layers, class_="ladder")


def _last_attempt(entrants: Sequence[Entrant]) -> float:
    return float(max((max(entrant.budget, len(entrant.attempts)) for entrant in entrants), default=1) or 1)


def _until(entrant: Entrant) -> float:
    return float(max((attempt.number for attempt in entrant.attempts if attempt.status is not None), default=0))


def _score_domain(course: Course) -> tuple[float, float]:
    entrants, seed, floor = course.entrants, course.seed_score, course.noise_floor or 0.0
    held = [step.score for entrant in entrants for step in (*entrant.official, *entrant.working)]
    scores = [a.score for entrant in entrants for a in entrant.attempts if a.score is not None]
    anchor = seed if seed is not None else (min(held) if held else 0.0)
    low = max(anchor - _FENCE, min([anchor, *held, *scores]))
    high = max([anchor + floor, *held, *scores])
    return fig.padded(min(low, *held, anchor), high, 0.04, 0.8)


def _below(attempts: Sequence[Attempt], y: Scale) -> int:
    return sum(attempt.score is not None and attempt.score < y.low for attempt in attempts)


def _attempt_ticks(x: Scale, wanted: int) -> tuple[float, ...]:
    return tuple(value for value in fig.ticks(x.low, x.high, wanted) if value == int(value))


def _grid(frame: _Frame, rows: int, columns: int) -> Markup:
    bottom = frame.y.start
    marks = [fig.text(frame.x(v), bottom + 18, f"{v:g}", "axis", "middle") for v in _attempt_ticks(frame.x, columns)]
    return axis(frame.x, frame.y, rows, lambda value: fixed(value, 1)) + Markup("").join(marks)


def _score_axes(frame: _Frame, below: int) -> Markup:
    bottom = frame.y.start
    parts = [
        _grid(frame, 4 if frame.narrow else 6, 4 if frame.narrow else 10),
        fig.text(frame.x.end, bottom + 40, "attempt", "axis", "end"),
        fig.text(2.0, 10.0, "score", "axis"),
    ]
    if below:
        parts.append(fig.text(frame.x.start, bottom + 40, f"↓ {count(below, 'attempt')} below", "axis"))
    return Markup("").join(parts)


def _noise_band(course: Course, frame: _Frame) -> Markup:
    """Above the champion of a lone competitor, else above the seed, where all of them begin."""
    if course.seed_score is None or course.noise_floor is None:
        return Markup("")
    alone = len(course.entrants) == 1
    ladder = course.entrants[0].official if alone else (Step(0, course.seed_score),)
    top = frame.y(course.seed_score + course.noise_floor)
    whose = "champion" if alone else "seed"
    words = "noise floor" if frame.narrow else f"noise floor {fixed(course.noise_floor)} above the {whose}"
    label = (
        fig.text(frame.x.start + 6, top - 6, words, "axis")
        if alone
        else fig.text(frame.x.end - 6, top + 15, words, "axis", "end")
    )
    return _band_above(ladder, course.noise_floor, frame.x.high, frame) + label


def _band_above(ladder: Sequence[Step], floor: float, until: float, frame: _Frame) -> Markup:
    if not ladder:
        return Markup("")
    edges = [*(float(step.attempt) for step in ladder), max(until, float(ladder[-1].attempt))]
    lower: list[Point] = []
    upper: list[Point] = []
    for step, start, stop in zip(ladder, edges[:-1], edges[1:], strict=True):
        for edge in (start, stop):
            lower.append((frame.x(edge), frame.y(step.score)))
            upper.append((frame.x(edge), frame.y(step.score + floor)))
    return fig.path([*lower, *reversed(upper)], "band")


def _cloud(entrant: Entrant, frame: _Frame) -> Markup:
    scored = [(a.number, a.score) for a in entrant.attempts if a.score is not None]
    unscored = [a.number for a in entrant.attempts if a.score is None and a.status is not None]
    inside = [(frame.x(n), frame.y(s)) for n, s in scored if s >= frame.y.low]
    edge = [(frame.x(n), frame.y.start) for n, s in scored if s < frame.y.low]
    missing = [(frame.x(n), frame.y.start + 5) for n in unscored]
    return tag(
        "g",
        fig.dots(inside, "dots"),
        fig.rules(edge, 6.0, "stroke faint"),
        fig.rules(missing, 4.0, "stroke faint"),
        class_=f"a{entrant.index}",
    )


def _ladder_lines(entrant: Entrant, frame: _Frame) -> Markup:
    until = frame.x(_until(entrant))
    official = [(frame.x(step.attempt), frame.y(step.score)) for step in entrant.official]
    working = [(frame.x(step.attempt), frame.y(step.score)) for step in entrant.working]
    dash = fig.DASHES[1 + entrant.index % (len(fig.DASHES) - 1)]
    marks = [fig.marker(entrant.index, x, y, "mark") for x, y in official[1:]]
    return tag(
        "g",
        fig.steps(working, until, "line working", stroke_dasharray=dash),
        fig.steps(official, until, "line official"),
        *marks,
        class_=f"a{entrant.index}",
    )


def _seed_label(seed: float | None, frame: _Frame) -> Markup:
    if seed is None:
        return Markup("")
    return fig.text(frame.x.start + 4, frame.y(seed) + 16, f"seed {fixed(seed)}", "axis")


def _end_labels(entrants: Sequence[Entrant], frame: _Frame) -> Markup:
    held = [(entrant, entrant.score) for entrant in entrants if entrant.score is not None]
    wanted = [frame.y(score) for _, score in held]
    places = fig.spread(wanted, LABEL_GAP, 20.0, frame.y.start)
    limit = 11 if frame.narrow else 24
    parts: list[Markup] = []
    for (entrant, score), level, place in zip(held, wanted, places, strict=True):
        name = shorten(clean(entrant.name), limit)
        words = name if frame.narrow else f"{name}  {fixed(score)}"
        start = frame.x(_until(entrant))
        children = [
            lead(start, level, frame.x.end, place),
            fig.marker(entrant.index, frame.x.end + 15, place, "mark"),
            fig.text(frame.x.end + 24, place + 4, words, "end", title=clean(entrant.name)),
        ]
        parts.append(tag("g", *children, class_=f"a{entrant.index}"))
    return Markup("").join(parts)
