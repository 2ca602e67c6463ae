"""The sealed year: equity and drawdown of every entry with its verdict, or the empty year before it opens."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from autoquant.protocol import PROTOCOL
from autoquant.report import figures as fig
from autoquant.report.figures import Scale, tag
from autoquant.report.frames import LABEL_GAP, axis, fit, is_narrow, lead, stamp
from autoquant.report.model import Lockbox, Race
from autoquant.report.text import clean, fixed, percent, shorten

LABELS = 16
"""Competitors' lines with a name at their end; the others are drawn, and named in the table."""
CROWD = 10
"""With more lines all are drawn thin."""


@dataclass(frozen=True, eq=False)
class Line:
    """One path over the sealed year."""

    name: str
    words: str
    """At the line's end, behind the name: the verdict, or that there is none."""
    index: int | None
    """The competitor's place: colour, mark. None for the seed and for what is drawn beside the entries."""
    class_: str
    """`champion`, `control`, `seed` or `beside`."""
    equity: NDArray[np.float64]
    """(days + 1,), from 1; daily closes."""

    @property
    def fall(self) -> NDArray[np.float64]:
        """(days + 1,) fall from the running peak, 0 or below."""
        return self.equity / np.maximum.accumulate(self.equity) - 1.0


def equity_of(daily_returns: Sequence[float]) -> NDArray[np.float64]:
    """Equity from 1, one value more than there are days."""
    return np.concatenate([[1.0], np.cumprod(1.0 + np.asarray(daily_returns, dtype=np.float64))])


def sealed_chart(race: Race, lines: Sequence[Line], width: float) -> Markup:
    """Equity of each line over the sealed year with its verdict at the end, drawdown below.

    `lines` come in the order of their importance: the first ones are drawn on top, and named.
    """
    narrow = is_narrow(width)
    named = named_lines(lines)
    top = max(230.0 if narrow else 340.0, 40.0 + (31.0 if narrow else LABEL_GAP) * (len(named) + 1))
    gap, strip = (30.0, 78.0) if narrow else (34.0, 104.0)
    height = top + gap + strip + 34.0
    values = np.concatenate([line.equity for line in lines])
    days = max(len(line.equity) for line in lines) - 1
    x = Scale(0, days, 46.0, width - (118.0 if narrow else 290.0))
    y = Scale(*fig.padded(float(values.min()), float(values.max()), 0.05, 0.1), top, 22.0)
    deepest = min(-0.05, *(float(line.fall.min()) for line in lines))
    d = Scale(deepest * 1.06, 0.0, top + gap + strip, top + gap)
    back = [*reversed(lines)]
    rows = 4 if narrow else 6
    digits = 1 if all(abs(10 * value - round(10 * value)) < 1e-9 for value in fig.ticks(y.low, y.high, rows)) else 2
    layers = [
        axis(x, y, rows, lambda value: fixed(value, digits)),
        fig.text(2.0, 10.0, "equity", "axis"),
        tag("path", d=f"M{fig.coordinate(x.start)} {fig.coordinate(y(1.0))}H{fig.coordinate(x.end)}", class_="cash"),
        axis(x, d, 2 if narrow else 3, lambda value: percent(value, 0)),
        fig.text(2.0, top + gap - 8, "fall from the peak", "axis"),
        _limit(x, d),
        *_months(race.lockbox, x, height - 12, narrow),
        *(_path(line, line.equity, x, y, marked=True) for line in back),
        *(_path(line, line.fall, x, d, marked=False) for line in back),
        *_labels(named, x, y, narrow),
        stamp(race.source.stamp, x),
    ]
    words = ", ".join(_ending(line) for line in named)
    class_ = fit(width) + (" crowd" if len(lines) > CROWD else "")
    return fig.canvas(width, height, f"Equity over the sealed year: {words}", *layers, class_=class_)


def named_lines(lines: Sequence[Line]) -> list[Line]:
    """Those with a name at the end: the first competitors, the seed, and all that is drawn beside them."""
    racers = [line for line in lines if line.index is not None][:LABELS]
    return [line for line in lines if line.index is None or line in racers]


def _ending(line: Line) -> str:
    at = f"{clean(line.name)} ends at {fixed(float(line.equity[-1]), 2)}"
    return f"{at}, {line.words}" if line.words else at


def sealed_empty(race: Race, width: float, words: str) -> Markup:
    """The sealed year before it opens: its months, and nothing in them."""
    narrow = is_narrow(width)
    height = 190.0
    x = Scale(0, days_of(race.lockbox), 2.0, width - 2.0)
    name = f"hatch{int(width)}"
    stripe = tag("path", d="M0 8L8 0", class_="hair")
    hatch = tag("pattern", stripe, id=name, width="8", height="8", patternUnits="userSpaceOnUse")
    half = fig.width_of(words) / 2 + 14
    return fig.canvas(
        width,
        height,
        words,
        tag("defs", hatch),
        tag(
            "rect",
            x=2.0,
            y=8.0,
            width=width - 4,
            height=height - 44,
            fill=f"url(#{name})",
            class_="sealed-box",
        ),
        tag(
            "rect",
            x=width / 2 - half,
            y=60.0,
            width=2 * half,
            height=38.0,
            class_="paper",
        ),
        fig.text(width / 2, 84.0, words, "label strong", "middle"),
        *_months(race.lockbox, x, height - 12, narrow),
        stamp(race.source.stamp, x),
        class_=fit(width),
    )


def _path(line: Line, values: NDArray[np.float64], x: Scale, y: Scale, *, marked: bool) -> Markup:
    """Daily curves are too rough for dashes: the competitor's mark along the line tells it apart without colour."""
    stride = max(1, round(len(values) / max(1.0, x.end - x.start)))
    keep = sorted({*range(0, len(values), stride), len(values) - 1})
    parts = [fig.path([(x(day), y(float(values[day]))) for day in keep], f"line {'year' if marked else 'fall'}")]
    if line.index is not None and marked:
        days = range(30 + 12 * line.index % 60, len(values) - 20, 90)
        parts += [fig.marker(line.index, x(day), y(float(values[day])), "mark", 4.0) for day in days]
    return tag("g", *parts, class_=_class(line))


def _class(line: Line) -> str:
    return f"{line.class_} " + ("reference" if line.index is None else f"a{line.index}")


def _limit(x: Scale, d: Scale) -> Markup:
    """The drawdown gate's limit, where it lies on the scale."""
    limit = -PROTOCOL.gates.drawdown_maximum
    if not d.holds(limit):
        return Markup("")
    level = d(limit)
    return tag(
        "g",
        tag("path", d=f"M{fig.coordinate(x.start)} {fig.coordinate(level)}H{fig.coordinate(x.end)}", class_="limit"),
        fig.text(x.end + 6, level + 4, f"gate {percent(limit, 0)}", "axis"),
    )


def _labels(named: Sequence[Line], x: Scale, y: Scale, narrow: bool) -> list[Markup]:
    """Name and verdict at each line's end, and cash at 1."""
    wanted = [*(y(float(line.equity[-1])) for line in named), y(1.0)]
    places = fig.spread(wanted, 31.0 if narrow else LABEL_GAP, 12.0, y.start)
    labels = [
        tag(
            "g",
            fig.text(x.end + 24, places[-1] + 4, "cash", "axis"),
            lead(x.end, wanted[-1], x.end, places[-1]),
            class_="beside reference",
        )
    ]
    for line, level, place in zip(named, wanted, places, strict=False):
        labels.append(_label(line, level, place, x, narrow))
    return labels


def _label(line: Line, level: float, place: float, x: Scale, narrow: bool) -> Markup:
    name = shorten(clean(line.name), 12 if narrow else 24)
    parts = [lead(x(len(line.equity) - 1), level, x.end, place)]
    if line.index is not None:
        parts.append(fig.marker(line.index, x.end + 15, place, "mark"))
    elif line.class_ == "seed":
        parts.append(tag("circle", cx=x.end + 15, cy=place, r=3.0, class_="mark hollow"))
    words = f"{name}  {line.words}" if line.words and not narrow else name
    class_ = "axis" if line.class_ == "beside" else "end"
    parts.append(fig.text(x.end + 24, place + 4, words, class_, title=clean(line.name)))
    if narrow and line.words:
        short = "insufficient" if line.words == "insufficient evidence" else shorten(line.words, 13)
        parts.append(fig.text(x.end + 24, place + 18, short, "axis"))
    return tag("g", *parts, class_=_class(line))


def days_of(lockbox: Lockbox) -> int:
    """Days of the sealed year."""
    return (dt.date.fromisoformat(lockbox.end) - dt.date.fromisoformat(lockbox.start)).days


def month_starts(lockbox: Lockbox) -> tuple[tuple[int, dt.date], ...]:
    """The first of each month of the sealed year, and how many days after its start it lies."""
    start, end = dt.date.fromisoformat(lockbox.start), dt.date.fromisoformat(lockbox.end)
    months = [(start.year + (start.month - 1 + n) // 12, (start.month - 1 + n) % 12 + 1) for n in range(120)]
    firsts = [dt.date(year, month, 1) for year, month in months]
    return tuple(((first - start).days, first) for first in firsts if start <= first < end)


def _months(lockbox: Lockbox, x: Scale, level: float, narrow: bool) -> list[Markup]:
    return [
        fig.text(x(days), level, month.strftime("%b" if narrow else "%b %Y"), "axis")
        for number, (days, month) in enumerate(month_starts(lockbox))
        if number % 3 == 0
    ]
