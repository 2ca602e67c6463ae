"""What the oracle hides, and how a look ahead is caught."""

from __future__ import annotations

import datetime as dt

from markupsafe import Markup

from autoquant.report import figures as fig
from autoquant.report.explain import pen
from autoquant.report.explain.calendar import blocks
from autoquant.report.figures import Point, tag
from autoquant.report.frames import fit, is_narrow

REAL = ("BTC", "ETH", "DOGE", "LUNA")
SHOWN = (2, 0, 3, 1)
"""Which real coin stands in each row of the masked picture."""
NAMES = ("A04", "A09", "A13", "A17")
WEEKS_MOVED = -83


def mask_drawing(width: float) -> Markup:
    """Four price lines under their own names, and the same lines as a strategy is shown them."""
    narrow = is_narrow(width)
    span, inner, top = (96.0, 42.0, 52.0) if narrow else (330.0, 64.0, 84.0)
    left, right = (inner, inner + span), (width - inner - span, width - inner)
    rows = [top + 56.0 * k for k in range(len(REAL))]
    parts = [
        fig.text(2.0, 14.0, "recorded" if narrow else "what the exchange recorded", "label strong"),
        fig.text(width - 2, 14.0, "shown" if narrow else "what the strategy is shown", "label strong", "end"),
        *(_masked(number, rows[number], rows[SHOWN.index(number)], left, right) for number in range(len(REAL))),
        *(fig.text(2.0, y + 4, name, "label strong") for y, name in zip(rows, REAL, strict=True)),
        *(fig.text(width - 2, y + 4, name, "label strong", "end") for y, name in zip(rows, NAMES, strict=True)),
        _dates(left, rows[-1] + 30, dt.timedelta(0), narrow),
        _dates(right, rows[-1] + 30, dt.timedelta(weeks=WEEKS_MOVED), narrow),
    ]
    if not narrow:
        said = ("another name, another order,", f"{abs(WEEKS_MOVED)} weeks earlier,", "prices × a power of two")
        parts.append(pen.words(width / 2, 14.0, said, "axis", "middle"))
    label = "Four price lines under names and dates, and the same under other names, in another order, on other dates"
    return fig.canvas(width, rows[-1] + 54, label, *parts, class_=fit(width))


def _masked(number: int, own: float, seen: float, left: tuple[float, float], right: tuple[float, float]) -> Markup:
    """One coin's line in both tables, and the thread between them."""
    path = pen.walk(30 + number, 40, 0.1 if number < 3 else -0.5)
    thread = [(left[1] + 8, own), (left[1] + 22, own), (right[0] - 22, seen), (right[0] - 8, seen)]
    curves = (
        pen.line(pen.spread(path, *left, own + 21, own - 21), "line sealed"),
        pen.line(pen.spread(path, *right, seen + 21, seen - 21), "line sealed"),
        pen.line(thread, "leader"),
    )
    return tag("g", *curves, class_=f"a{number}")


def _dates(span: tuple[float, float], y: float, shift: dt.timedelta, narrow: bool) -> Markup:
    """First and last day of a fold below its lines; the weekday is what stays."""
    fold = blocks()[1][1]
    first, last = fold.start + shift, fold.end + shift
    parts = [pen.line([(span[0], y), (span[1], y)], "hair")]
    if narrow:
        parts.append(fig.text((span[0] + span[1]) / 2, y + 16, f"from {first:%Y-%m}", "axis", "middle"))
    else:
        parts.append(fig.text(span[0], y + 16, f"{first:%a} {first}", "axis"))
        parts.append(fig.text(span[1], y + 16, f"{last:%a} {last}", "axis", "end"))
    return Markup("").join(parts)


def peek_drawing(width: float) -> Markup:
    """One past, three futures: an honest decision is the same in all of them."""
    narrow = is_narrow(width)
    cut, right = (84.0, 150.0) if narrow else (360.0, 560.0)
    columns = (right + 114, width - 2.0) if narrow else (right + 370, right + 480)
    past = pen.spread(pen.walk(21, 36, 0.1), 2.0, cut, 128.0, 72.0)
    parts = [tag("g", pen.line(past, "line official"), class_="a0")]
    for row, (end, peeked) in enumerate(((46.0, "+0.25"), (92.0, "−0.10"), (138.0, "+0.31"))):
        name = (
            ("real" if narrow else "what really came")
            if row == 0
            else ("made up" if narrow else "made of shuffled bars")
        )
        parts.append(_future(row, past[-1], (right, end)))
        parts.append(fig.text(right + 10, end + 4, name, "label"))
        parts.append(_pair(columns, end + 4, ("+0.25", peeked), "label"))
    parts += [
        pen.line([(cut, 22.0), (cut, 182.0)], "cut"),
        fig.text(cut - 8, 14.0, "cut here" if narrow else "history is cut here", "label", "end"),
        _pair(columns, 14.0, ("causal", "peeking"), "label strong"),
        _pair(columns, 172.0, ("passes", "fails"), "label strong"),
    ]
    if not narrow:
        parts.append(fig.text(right + 10, 14.0, "weight decided at the cut, if this follows:", "axis"))
    label = "A decision at the cut must be the same whatever comes after it; one that differs has used the future"
    return fig.canvas(width, 188.0, label, *parts, class_=fit(width))


def _future(row: int, start: Point, end: Point) -> Markup:
    """A made-up way from the cut to an end; the first is drawn whole, the others broken."""
    bend = pen.walk(60 + row, 22)
    points = []
    for k, value in enumerate(bend):
        share = k / (len(bend) - 1)
        drift = value - bend[0] - (bend[-1] - bend[0]) * share
        points.append((start[0] + (end[0] - start[0]) * share, start[1] + (end[1] - start[1]) * share - 22.0 * drift))
    dash = "none" if row == 0 else "4 3"
    return tag("g", fig.path(points, "line working", stroke_dasharray=dash), class_="a0")


def _pair(columns: tuple[float, float], y: float, words: tuple[str, str], class_: str) -> Markup:
    return Markup("").join(fig.text(x, y, word, class_, "end") for x, word in zip(columns, words, strict=True))
