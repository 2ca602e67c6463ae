"""Time: the three splits with six folds behind their embargoes, and how folds become a score."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from autoquant.protocol import PROTOCOL
from autoquant.report import figures as fig
from autoquant.report.explain import pen
from autoquant.report.figures import Scale, tag
from autoquant.report.frames import fit, is_narrow
from autoquant.report.text import count, fixed

STEADY = (0.75, 0.5, 0.7, 0.55, 0.6, 0.5)
ERRATIC = (2.3, -0.9, 1.6, -0.7, 1.9, -0.6)
"""Two made-up strategies with one mean."""


@dataclass(frozen=True)
class Span:
    """Half-open days [start, end)."""

    start: dt.date
    end: dt.date


def blocks() -> tuple[tuple[Span, Span], ...]:
    """(embargo, fold) of each block of VALID, in order."""
    calendar = PROTOCOL.calendar
    day = dt.timedelta(days=1)
    found = []
    for number in range(calendar.folds):
        start = dt.date.fromisoformat(calendar.valid_start) + number * calendar.block_days * day
        middle = start + calendar.embargo_days * day
        found.append((Span(start, middle), Span(middle, start + calendar.block_days * day)))
    return tuple(found)


def unscored_days() -> int:
    """Days of VALID behind the last fold."""
    return (dt.date.fromisoformat(PROTOCOL.calendar.lockbox_start) - blocks()[-1][1].end).days


def score(folds: tuple[float, ...]) -> float:
    """Mean minus half the population standard deviation of the folds' Sharpe ratios, as the protocol has it."""
    return float(np.mean(folds) - PROTOCOL.score_std_weight * np.std(folds))


def calendar_drawing(width: float) -> Markup:
    """TRAIN, VALID with its folds, LOCKBOX on one axis; below it one block, enlarged."""
    narrow = is_narrow(width)
    calendar = PROTOCOL.calendar
    first, last = dt.date.fromisoformat(calendar.train_start), dt.date.fromisoformat(calendar.lockbox_end)
    x = Scale(first.toordinal(), last.toordinal(), 2.0, width - 2.0)
    top = 64.0
    parts = [_splits(x, top, narrow), _years(x, top + 34, first.year + 1, last.year), _folds(x, top)]
    below = top + 92
    parts.append(_enlarged(width, x, top, below))
    label = f"Splits on a time axis: TRAIN, then VALID with {calendar.folds} folds, then the sealed year"
    return fig.canvas(width, below + (96 if narrow else 78), label, *parts, class_=fit(width))


def _splits(x: Scale, top: float, narrow: bool) -> Markup:
    """Names of the splits; TRAIN as a pale bar, the sealed year as an empty one."""
    calendar = PROTOCOL.calendar
    starts = [dt.date.fromisoformat(d) for d in (calendar.train_start, calendar.valid_start, calendar.lockbox_start)]
    said = (
        ("TRAIN", "real names, free to explore"),
        ("VALID", "masked, scored, never shown"),
        ("SEALED" if narrow else "LOCKBOX", "not even here yet"),
    )
    parts = []
    for place, (start, (name, meaning)) in enumerate(zip(starts, said, strict=True)):
        left = x(start.toordinal())
        lines = [name] if narrow else [name, meaning]
        parts.append(pen.line([(left, top - 44), (left, top + 26)], "hair"))
        at = (x.end, "end") if narrow and place == 2 else (left + 6, "start")
        parts.append(fig.text(at[0], top - 34, lines[0], "label strong", at[1]))
        if not narrow:
            parts.append(fig.text(left + 6, top - 17, lines[1], "label"))
        elif place == 0:
            parts.append(fig.text(left + 6, top - 17, "real names, free", "label"))
    box = x(starts[2].toordinal())
    parts.append(tag("rect", x=box, y=top - 8, width=x.end - box, height=16.0, class_="sealed-span"))
    parts.append(pen.line([(x(starts[0].toordinal()), top), (x(starts[1].toordinal()), top)], "span train"))
    return Markup("").join(parts)


def _folds(x: Scale, top: float) -> Markup:
    parts = []
    for embargo, fold in blocks():
        a, b, c = (x(day.toordinal()) for day in (embargo.start, fold.start, fold.end))
        parts.append(pen.line([(a, top), (b, top)], "span gap"))
        parts.append(pen.line([(b + 0.5, top), (c - 0.5, top)], "span fold"))
    end = x(blocks()[-1][1].end.toordinal())
    parts.append(
        pen.line([(end, top), (x(dt.date.fromisoformat(PROTOCOL.calendar.lockbox_start).toordinal()), top)], "span gap")
    )
    return tag("g", *parts, class_="a0")


def _years(x: Scale, y: float, first: int, last: int) -> Markup:
    parts = []
    for year in range(first, last + 1):
        place = x(dt.date(year, 1, 1).toordinal())
        parts.append(pen.line([(place, y - 20), (place, y - 14)], "zero"))
        parts.append(fig.text(place, y, str(year), "axis", "middle"))
    return Markup("").join(parts)


def _enlarged(width: float, x: Scale, top: float, below: float) -> Markup:
    """One block under the glass: history, embargo, fold; widths are not to scale."""
    narrow = is_narrow(width)
    calendar = PROTOCOL.calendar
    embargo, fold = blocks()[2]
    left, right = 2.0, width - 2.0
    shares = (0.42, 0.66) if narrow else (0.5, 0.7)
    cuts = (left, *(left + (right - left) * share for share in shares), right)
    rays = [
        pen.line([(x(embargo.start.toordinal()), top + 8), (cuts[1], below - 6)], "leader"),
        pen.line([(x(fold.end.toordinal()), top + 8), (cuts[3], below - 6)], "leader"),
    ]
    bars = [
        pen.line([(cuts[0], below), (cuts[1], below)], "span train"),
        pen.line([(cuts[1], below), (cuts[2], below)], "span gap"),
        tag("g", pen.line([(cuts[2], below), (cuts[3], below)], "span fold"), class_="a0"),
    ]
    said = (
        (
            f"{calendar.history_days:,} days",
            "of history" if narrow else "of history come with it",
            "to fit on" if narrow else "",
        ),
        (f"{calendar.embargo_days} days", "embargo" if narrow else "embargo: no fit, no score", ""),
        (
            f"{calendar.fold_days} days",
            "traded and" if narrow else "traded from flat, and scored",
            "scored" if narrow else "",
        ),
    )
    labels = [
        pen.titled(cut, below + 26, title, [line for line in lines if line])
        for cut, (title, *lines) in zip(cuts[:3], said, strict=True)
    ]
    note = fig.text(cuts[0], below + (84 if narrow else 66), "one fold, enlarged; lengths not to scale", "axis")
    return Markup("").join([*rays, *bars, *labels, note])


def score_drawing(width: float) -> Markup:
    """Two strategies with one mean: the steadier one scores more."""
    narrow = is_narrow(width)
    left = 8.0 if narrow else 150.0
    x = Scale(-1.25, 2.75, left, width - (8.0 if narrow else 250.0))
    parts = [pen.line([(x(0.0), 8.0), (x(0.0), 148.0)], "zero")]
    for place, (name, folds) in enumerate((("steady", STEADY), ("erratic", ERRATIC))):
        y = 40.0 + 70.0 * place
        mean, own = float(np.mean(folds)), score(folds)
        marks = [
            pen.line([(x.start, y), (x.end, y)], "hair"),
            fig.rules([(x(value), y + 8) for value in folds], 16.0, "stroke fold"),
            pen.line([(x(mean), y - 14), (x(mean), y + 14)], "zero"),
            fig.marker(place, x(own), y, "mark"),
        ]
        said = f"mean {fixed(mean, 2)}, score {fixed(own, 2)}"
        name_at = (x.start, y - 18) if narrow else (2.0, y + 4)
        said_at = (x.end, y - 18, "end") if narrow else (x.end + 20, y + 4, "start")
        labels = [fig.text(*name_at, name, "label strong"), fig.text(said_at[0], said_at[1], said, "end", said_at[2])]
        parts.append(tag("g", *marks, *labels, class_=f"a{place}"))
    parts += [fig.text(x(value), 166.0, fixed(value, 0), "axis", "middle") for value in (-1, 0, 1, 2)]
    parts.append(fig.text(x.end, 186.0, "Sharpe ratio of a fold", "axis", "end"))
    label = f"Sharpe ratios of {count(PROTOCOL.calendar.folds, 'fold')} of a steady and an erratic strategy"
    return fig.canvas(width, 192.0, label, *parts, class_=fit(width))
