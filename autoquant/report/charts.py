"""Scores over attempts, time, tokens or cost: the race, and one competitor's own ladder."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from autoquant.report import axes, layers
from autoquant.report import figures as fig
from autoquant.report.axes import Axis
from autoquant.report.figures import Scale, tag
from autoquant.report.frames import LABEL_GAP, fit, is_narrow, lead, stamp
from autoquant.report.layers import Frame
from autoquant.report.scene import Runner, Scene
from autoquant.report.text import clean, count, fixed, shorten

LADDER = 328.0
_TOP = 24.0
_BOTTOM = 54.0


def race_chart(scene: Scene, width: float, along: Axis = Axis.ATTEMPT) -> Markup:
    """Scores along an axis: official solid, working dashed, every attempt a faint dot, the noise floor a band.

    Who has no place on the axis is not drawn; see `axes.present`. What moves in a replay stands in the inner `film`,
    whose width the page's script sets; `data-` attributes carry the scales that the script needs.
    """
    course, runners = scene.course, scene.runners[along]
    frame = _frame(scene, width, along)
    moving = (
        layers.band(runners, course.noise_floor, frame),
        *(layers.cloud(runner, frame) for runner in runners),
        *(layers.lines(runner, frame) for runner in runners),
        _floor_words(course.noise_floor, runners, frame),
    )
    drawn = (
        _axes(frame, sum(scene.under[runner.entrant.index] for runner in runners)),
        layers.seed_line(course.seed_score, frame),
        tag("svg", *moving, class_="film", width=frame.width, height=frame.height),
        _seed_words(course.seed_score, frame),
        _end_labels(runners, frame),
        stamp(course.stamp, frame.x),
    )
    label = f"Score over {_NAMES[along]} of {count(len(runners), 'competitor')}; numbers in the table below"
    return fig.canvas(width, frame.height, label, *drawn, class_=fit(width), **scales(frame))


def ladder_chart(runner: Runner, scene: Scene) -> Markup:
    """One competitor alone, all on one scale: its attempts, its two lines, and the noise floor above its champion."""
    course, entrant = scene.course, runner.entrant
    height = 172.0
    frame = Frame(
        LADDER,
        height,
        Scale(0, scene.last_attempt, 36.0, LADDER - 12.0),
        Scale(*scene.domain, height - 24.0, 20.0),
        Axis.ATTEMPT,
    )
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


def scales(frame: Frame) -> dict[str, str]:
    """What the page's script needs to find attempts in a chart: the axis, and both scales as low, high, start, end."""

    def words(scale: Scale) -> str:
        return f"{scale.low:.6g} {scale.high:.6g} {fig.coordinate(scale.start)} {fig.coordinate(scale.end)}"

    return {"data_axis": frame.along.value, "data_x": words(frame.x), "data_y": words(frame.y)}


def labelled(competitors: int, *, narrow: bool) -> int:
    """How many competitors a chart has room to name at the ends of their lines."""
    return min(22 if narrow else 32, competitors)


_NAMES = {Axis.ATTEMPT: "attempts", Axis.TIME: "agent time", Axis.TOKENS: "tokens", Axis.COST: "cost"}


def _frame(scene: Scene, width: float, along: Axis) -> Frame:
    """The plot grows where names would not fit beside it."""
    narrow, runners = is_narrow(width), scene.runners[along]
    height = max(300.0 if narrow else 430.0, _TOP + _BOTTOM + LABEL_GAP * labelled(len(runners), narrow=narrow))
    last = scene.last_attempt if along is Axis.ATTEMPT else max(runner.placing.end for runner in runners)
    return Frame(
        width,
        height,
        Scale(0, last, 40.0 if narrow else 46.0, width - (118.0 if narrow else 236.0)),
        Scale(*scene.domain, height - _BOTTOM, _TOP),
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


def _seed_words(seed: float | None, frame: Frame) -> Markup:
    if seed is None:
        return Markup("")
    return fig.text(frame.x.start + 6, frame.y(seed) + 15, f"seed {fixed(seed)}", "axis")


def _floor_words(floor: float | None, runners: Sequence[Runner], frame: Frame) -> Markup:
    """The noise floor by name, in the longest stretch of its band."""
    stretches = layers.leading(runners, frame.x.high)
    if floor is None or not stretches:
        return Markup("")
    start, _, _, score = max(stretches, key=lambda stretch: stretch[1] - stretch[0])
    base, top = frame.y(score), frame.y(score + floor)
    level = base - 5 if base - top > 18 else top - 5
    words = "noise floor" if frame.narrow else f"noise floor {fixed(floor)}"
    return fig.text(frame.x(start) + 9, level, words, "axis")


def _end_labels(runners: Sequence[Runner], frame: Frame) -> Markup:
    """Names and scores at the ends of the lines, best first where not all have room."""
    held = [(runner, runner.entrant.score) for runner in runners if runner.entrant.score is not None]
    room = labelled(len(runners), narrow=frame.narrow)
    chosen = sorted(held, key=lambda pair: -(pair[1] or 0.0))[:room]
    wanted = [frame.y(score or 0.0) for _, score in chosen]
    places = fig.spread(wanted, LABEL_GAP, _TOP - 4, frame.y.start)
    return Markup("").join(
        _end_label(runner, score or 0.0, level, place, frame)
        for (runner, score), level, place in zip(chosen, wanted, places, strict=True)
    )


def _end_label(runner: Runner, score: float, level: float, place: float, frame: Frame) -> Markup:
    entrant, end = runner.entrant, frame.x.end
    gap = 9.0 if frame.narrow else 15.0
    name = shorten(clean(entrant.name), 7 if frame.narrow else 24)
    words = tag(
        "text",
        tag("title", clean(entrant.name)),
        name,
        tag("tspan", fixed(score, 2 if frame.narrow else 3), dx=5.0),
        x=end + gap + 9,
        y=place + 4,
        class_="end",
    )
    return tag(
        "g",
        lead(frame.x(runner.placing.end), level, end + gap - 15, place),
        tag("g", fig.marker(entrant.index, end + gap, place, "mark"), words, class_="tag"),
        class_=f"flag a{entrant.index}",
        data_c=str(entrant.index),
    )
