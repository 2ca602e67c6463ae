"""Scores over attempts, time, tokens or cost: the race, and one competitor's own ladder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from markupsafe import Markup

from autoquant.ledger.records import ACCEPTED
from autoquant.report import axes, layers
from autoquant.report import figures as fig
from autoquant.report.axes import Axis
from autoquant.report.figures import Scale, tag
from autoquant.report.frames import LABEL_GAP, fit, is_narrow, lead, stamp
from autoquant.report.layers import Frame, Runner
from autoquant.report.model import Attempt, Course, Entrant
from autoquant.report.text import clean, count, fixed, shorten

LADDER = 328.0
DOTS = 4000
"""Attempts drawn as dots in one chart; of more, a part."""
_TOP = 24.0
_BOTTOM = 54.0


@dataclass(frozen=True)
class Thinning:
    """Which attempts a chart draws as dots: those accepted, and every `stride`-th of the others."""

    stride: int
    drawn: int
    of: int

    @classmethod
    def to(cls, entrants: Sequence[Entrant], limit: int = DOTS) -> Thinning:
        """Every attempt up to `limit` of them in all, else the smallest stride that keeps to about that."""
        closed = [a for entrant in entrants for a in entrant.attempts if a.status is not None]
        accepted = sum(a.status in ACCEPTED for a in closed)
        room = max(1, limit - accepted)
        stride = 1 if len(closed) <= limit else ceil((len(closed) - accepted) / room)
        drawn = sum(a.status in ACCEPTED or a.number % stride == 0 for a in closed)
        return cls(stride, drawn, len(closed))

    def keeps(self, attempts: Sequence[Attempt]) -> frozenset[int]:
        """Numbers of the attempts that are drawn."""
        return frozenset(a.number for a in attempts if a.status in ACCEPTED or a.number % self.stride == 0)


def race_chart(course: Course, width: float, along: Axis = Axis.ATTEMPT) -> Markup:
    """Scores along an axis: official solid, working dashed, every attempt a faint dot, the noise floor a band.

    Who has no place on the axis is not drawn; see `axes.present`. What moves in a replay stands in the inner `film`,
    whose width the page's script sets; `data-` attributes carry the scales that the script needs.
    """
    thinning = Thinning.to(course.entrants)
    runners = [
        Runner.of(entrant, along, thinning.keeps(entrant.attempts)) for entrant in axes.present(course.entrants, along)
    ]
    frame = _frame(course, width, along, runners)
    under = sum(layers.below(runner, frame.y) for runner in runners)
    moving = (
        layers.band(runners, course.noise_floor, frame),
        *(layers.cloud(runner, frame) for runner in runners),
        *(layers.lines(runner, frame) for runner in runners),
    )
    drawn = (
        _axes(frame, under),
        layers.seed_line(course.seed_score, frame),
        tag("svg", *moving, class_="film", width=frame.width, height=frame.height),
        _words(course, runners, frame),
        _end_labels(runners, frame),
        stamp(course.stamp, frame.x),
    )
    label = f"Score over {_NAMES[along]} of {count(len(runners), 'competitor')}; numbers in the table below"
    return fig.canvas(width, frame.height, label, *drawn, class_=fit(width), **scales(frame))


def ladder_chart(entrant: Entrant, course: Course) -> Markup:
    """One competitor alone, all on one scale: its attempts, its two lines, and the noise floor above its champion."""
    height = 172.0
    frame = Frame(
        LADDER,
        height,
        Scale(0, last_attempt(course.entrants), 36.0, LADDER - 12.0),
        Scale(*layers.score_domain(course), height - 24.0, 20.0),
        Axis.ATTEMPT,
    )
    runner = Runner.of(entrant, Axis.ATTEMPT, Thinning.to(course.entrants).keeps(entrant.attempts))
    labels = [
        fig.text(frame.x(step.attempt), max(12.0, frame.y(step.score) - 8), f"#{step.attempt}", "label", "middle")
        for step in entrant.official
        if step.attempt > 0
    ]
    drawn = (
        layers.band([runner], course.noise_floor, frame),
        layers.grid(frame, 3, 4),
        layers.seed_line(course.seed_score, frame),
        layers.cloud(runner, frame),
        layers.lines(runner, frame),
        *labels,
        stamp(course.stamp, frame.x),
    )
    more = {**scales(frame), "data_of": str(entrant.index)}
    return fig.canvas(LADDER, height, f"Score over attempts of {clean(entrant.name)}", *drawn, class_="ladder", **more)


def last_attempt(entrants: Sequence[Entrant]) -> float:
    """Where the axis of attempts ends: at the largest budget."""
    return float(max((max(entrant.budget, len(entrant.attempts)) for entrant in entrants), default=1) or 1)


def scales(frame: Frame) -> dict[str, str]:
    """What the page's script needs to find attempts in a chart: the axis, and both scales as low, high, start, end."""

    def words(scale: Scale) -> str:
        return f"{scale.low:.6g} {scale.high:.6g} {fig.coordinate(scale.start)} {fig.coordinate(scale.end)}"

    return {"data_axis": frame.along.value, "data_x": words(frame.x), "data_y": words(frame.y)}


def labelled(entrants: Sequence[Entrant], narrow: bool) -> int:
    """How many competitors a chart has room to name at the ends of their lines."""
    most = 22 if narrow else 32
    return min(most, len(entrants))


_NAMES = {Axis.ATTEMPT: "attempts", Axis.TIME: "agent time", Axis.TOKENS: "tokens", Axis.COST: "cost"}


def _frame(course: Course, width: float, along: Axis, runners: Sequence[Runner]) -> Frame:
    """The plot grows where names would not fit beside it."""
    narrow = is_narrow(width)
    names = labelled([runner.entrant for runner in runners], narrow)
    height = max(300.0 if narrow else 430.0, _TOP + _BOTTOM + LABEL_GAP * names)
    ends = [runner.placing.end for runner in runners]
    last = last_attempt(course.entrants) if along is Axis.ATTEMPT else max(ends, default=1.0)
    return Frame(
        width,
        height,
        Scale(0, last, 40.0 if narrow else 46.0, width - (118.0 if narrow else 236.0)),
        Scale(*layers.score_domain(course), height - _BOTTOM, _TOP),
        along,
    )


def _axes(frame: Frame, under: int) -> Markup:
    bottom = frame.y.start
    parts = [
        layers.grid(frame, 4 if frame.narrow else 6, 4 if frame.narrow else 10),
        fig.text(frame.x.end, bottom + 40, axes.unit(frame.along, frame.x.high).words, "axis", "end"),
        fig.text(2.0, 10.0, "score", "axis"),
    ]
    if under:
        words = f"↓ {under:,} below" if frame.narrow else f"↓ {count(under, 'attempt')} below"
        parts.append(fig.text(frame.x.start, bottom + 40, words, "axis"))
    return Markup("").join(parts)


def _words(course: Course, runners: Sequence[Runner], frame: Frame) -> Markup:
    """The seed by name where all begin, the noise floor in the longest stretch of its band."""
    if course.seed_score is None:
        return Markup("")
    seed = frame.y(course.seed_score) + 15
    parts = [fig.text(frame.x.start + 6, seed, f"seed {fixed(course.seed_score)}", "axis")]
    stretches = layers.leading(runners, frame.x.high)
    if course.noise_floor is not None and stretches:
        start, _, _, score = max(stretches, key=lambda stretch: stretch[1] - stretch[0])
        base, top = frame.y(score), frame.y(score + course.noise_floor)
        level = base - 5 if base - top > 18 else top - 5
        parts.append(fig.text(frame.x(start) + 9, level, f"noise floor {fixed(course.noise_floor)}", "axis"))
    return Markup("").join(parts)


def _end_labels(runners: Sequence[Runner], frame: Frame) -> Markup:
    """Names and scores at the ends of the lines, best first where not all have room."""
    held = [(runner, runner.entrant.score) for runner in runners if runner.entrant.score is not None]
    room = labelled([runner.entrant for runner in runners], frame.narrow)
    chosen = sorted(held, key=lambda pair: -(pair[1] or 0.0))[:room]
    wanted = [frame.y(score or 0.0) for _, score in chosen]
    places = fig.spread(wanted, LABEL_GAP, _TOP - 4, frame.y.start)
    return Markup("").join(
        _end_label(runner, score or 0.0, level, place, frame)
        for (runner, score), level, place in zip(chosen, wanted, places, strict=True)
    )


def _end_label(runner: Runner, score: float, level: float, place: float, frame: Frame) -> Markup:
    entrant, end = runner.entrant, frame.x.end
    name = shorten(clean(entrant.name), 8 if frame.narrow else 24)
    words = tag(
        "text",
        tag("title", clean(entrant.name)),
        name,
        tag("tspan", fixed(score, 2 if frame.narrow else 3), dx=5.0),
        x=end + 24,
        y=place + 4,
        class_="end",
    )
    return tag(
        "g",
        lead(frame.x(runner.placing.end), level, end, place),
        tag("g", fig.marker(entrant.index, end + 15, place, "mark"), words, class_="tag"),
        class_=f"flag a{entrant.index}",
        data_c=str(entrant.index),
    )
