"""When the keeps came: a row per competitor, by attempt and by date."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from markupsafe import Markup

from autoquant.report import figures as fig
from autoquant.report.axes import last_attempt
from autoquant.report.discovery import Discoveries, Keep
from autoquant.report.figures import Scale, tag
from autoquant.report.frames import fit, is_narrow, stamp
from autoquant.report.instants import day, seconds, time_ticks
from autoquant.report.model import Attempt
from autoquant.report.text import clean, count, fixed, shorten

ROOMY = 24
"""Up to so many competitors each row has room for gains below its line."""
_GAIN = 44.0
"""Room that a gain takes."""


@dataclass(frozen=True)
class _Lane:
    """One of the two time scales: where it lies, and how an attempt is placed on it."""

    title: str
    x: Scale
    top: float
    place: Callable[[Attempt | Keep], float]
    ticks: tuple[tuple[float, str], ...]
    gains: bool


def timeline_chart(rows: Sequence[Discoveries], stamped: str, width: float) -> Markup:
    """Keeps as marks with number and gain, search steps as faint strokes; all competitors on the same two scales."""
    narrow = is_narrow(width)
    row = (60.0 if narrow else 42.0) if len(rows) <= ROOMY else (48.0 if narrow else 22.0)
    block = len(rows) * row + 54.0
    lanes = _lanes(rows, width, block)
    parts = [layer for lane in lanes for layer in _lane(rows, lane, row, narrow)]
    if not narrow:
        parts += [_name(one, _level(place, row, lanes[0].top, narrow)) for place, one in enumerate(rows)]
    height = block * (2 if narrow else 1)
    label = f"When the keeps of {count(len(rows), 'competitor')} came; numbers in the tables below"
    return fig.canvas(width, height, label, *parts, stamp(stamped, lanes[0].x), class_=fit(width))


def fitting(places: Sequence[float], widths: Sequence[float], order: Iterable[int]) -> tuple[int, ...]:
    """Which of the labels centred at `places` can be set without touching, chosen in `order`.

    >>> fitting([10.0, 20.0, 60.0], [30.0, 30.0, 30.0], [2, 0, 1])
    (0, 2)
    """
    chosen: list[int] = []
    for index in order:
        if all(abs(places[index] - places[other]) >= (widths[index] + widths[other]) / 2 for other in chosen):
            chosen.append(index)
    return tuple(sorted(chosen))


def label_room(number: int) -> float:
    """Room that an attempt's number takes, with air."""
    return 1.25 * fig.width_of(f"#{number}") + 5.0


def _lanes(rows: Sequence[Discoveries], width: float, block: float) -> tuple[_Lane, _Lane]:
    narrow = is_narrow(width)
    last = last_attempt([one.entrant for one in rows])
    times = [utc for one in rows for a in one.entrant.attempts for utc in (a.opened_utc, a.utc)]
    low, high = (seconds(min(times)), seconds(max(times))) if times else (0.0, 1.0)
    end = width - label_room(int(last)) / 2  # a label at the last attempt stays inside
    x = Scale(0.0, last, 20.0, end) if narrow else Scale(0.0, last, 190.0, 676.0)
    t = Scale(low, high, 20.0, end) if narrow else Scale(low, high, 728.0, end)
    whole = [(v, f"{v:g}") for v in fig.ticks(0.0, last, 4 if narrow else 8) if v == int(v)]
    dates = time_ticks(low, high, 5 if narrow else 6) if times else ()
    since = f"by date, UTC, from {day(low)}" if times else "by date"
    return (
        _Lane("by attempt", x, 0.0, lambda a: x(a.number), tuple((x(v), words) for v, words in whole), True),
        _Lane(since, t, block if narrow else 0.0, lambda a: t(seconds(a.utc)),
              tuple((t(v), words) for v, words in dates), False),
    )  # fmt: skip


def _level(place: int, row: float, top: float, narrow: bool) -> float:
    return top + 20.0 + place * row + (38.0 if narrow else row / 2)


def _lane(rows: Sequence[Discoveries], lane: _Lane, row: float, narrow: bool) -> list[Markup]:
    bottom = lane.top + 20.0 + len(rows) * row
    parts = [fig.text(6.0 if narrow else lane.x.start, lane.top + 10.0, lane.title, "label strong")]
    span = f"{fig.coordinate(lane.top + 20)}V{fig.coordinate(bottom)}"
    grid = "".join(f"M{fig.coordinate(x)} {span}" for x, _ in lane.ticks)
    parts.append(tag("path", d=grid or "M0 0", class_="hair"))
    parts += [fig.text(x, bottom + 16.0, words, "axis", "middle") for x, words in lane.ticks]
    for place, one in enumerate(rows):
        level = _level(place, row, lane.top, narrow)
        children = [_name(one, level - 26.0)] if narrow else []
        parts.append(tag("g", *children, *_row(one, lane, level, len(rows) <= ROOMY), class_=f"a{one.entrant.index}"))
    return parts


def _row(one: Discoveries, lane: _Lane, level: float, roomy: bool) -> list[Markup]:
    closed = [attempt for attempt in one.entrant.attempts if attempt.status is not None]
    if not closed:
        return [_rule(lane.x.start, lane.x.end, level, "hair")]
    start = lane.x.start if lane.gains else lane.place(closed[0])
    places = [lane.place(keep) for keep in one.keeps]
    gains = lane.gains and roomy
    widths = [max(label_room(keep.number), _GAIN if gains else 0.0) for keep in one.keeps]
    shown = fitting(places, widths, _by_weight(one.keeps))
    return [
        _rule(lane.x.start, lane.x.end, level, "hair"),
        _rule(start, lane.place(closed[-1]), level, "line thin"),
        _strokes([lane.place(attempt) for attempt in one.searches], level),
        *(fig.marker(one.entrant.index, x, level, "mark") for x in places),
        *(label for index in shown for label in _labels(one.keeps[index], places[index], level, gains, roomy)),
    ]


def _by_weight(keeps: Sequence[Keep]) -> list[int]:
    """The last keep is the champion and comes first, then the first one, then by gain."""
    rest = sorted(range(1, len(keeps) - 1), key=lambda index: -(keeps[index].gain or 0.0))
    return [len(keeps) - 1, *([0] if len(keeps) > 1 else []), *rest] if keeps else []


def _labels(keep: Keep, x: float, level: float, gains: bool, roomy: bool) -> list[Markup]:
    labels = [fig.text(x, level - 7.0, f"#{keep.number}", "label strong" if roomy else "axis", "middle")]
    if gains and keep.gain is not None:
        labels.append(fig.text(x, level + 16.0, fixed(keep.gain, 2, sign=True), "axis", "middle"))
    return labels


def _name(one: Discoveries, level: float) -> Markup:
    index = one.entrant.index
    words = fig.text(16.0, level + 4.0, shorten(clean(one.entrant.name), 24), "label strong")
    return tag("g", fig.marker(index, 6.0, level, "mark"), words, class_=f"a{index}")


def _rule(start: float, end: float, level: float, class_: str) -> Markup:
    return tag("path", d=f"M{fig.coordinate(start)} {fig.coordinate(level)}H{fig.coordinate(end)}", class_=class_)


def _strokes(places: Sequence[float], level: float) -> Markup:
    """Short strokes across the line, at whole pixels, each once, in relative steps: a few bytes each."""
    columns = sorted({round(place) for place in places})
    if not columns:
        return Markup("")
    steps = "".join(f"m{after - before}-6v6" for before, after in pairwise(columns))
    return tag("path", d=f"M{columns[0]} {fig.coordinate(level - 3)}v6{steps}", class_="stroke try")
