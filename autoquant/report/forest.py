"""Every competitor's score with its interval above what blind searchers reached, run by run, on one scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from autoquant.report import figures as fig
from autoquant.report.figures import Scale, tag
from autoquant.report.frames import fit, is_narrow, stamp
from autoquant.report.nulls import WORDS, NullTable
from autoquant.report.text import clean, fixed, plain, shorten
from autoquant.stats.placebo import Null

ROW, NARROW_ROW = 26.0, 42.0
TOP, BOTTOM = 26.0, 34.0


@dataclass(frozen=True)
class Line:
    """A competitor's line."""

    name: str
    index: int
    score: float
    interval: tuple[float, float] | None
    p_value: float | None


def forest_chart(lines: Sequence[Line], table: NullTable, source: str, width: float) -> Markup:
    """Competitors by standing above the nulls of one plan; the strictest null's band runs through all of them.

    Parameters
    ----------
    source : the word that every chart carries.
    """
    narrow = is_narrow(width)
    row = NARROW_ROW if narrow else ROW
    count = len(lines) + len(table.nulls)
    height = TOP + row * count + 12.0 + BOTTOM
    x = Scale(*_domain(lines, table), 8.0 if narrow else 232.0, width - (10.0 if narrow else 90.0))
    strictest = table.strictest
    bottom = height - BOTTOM
    low, high = x(strictest.champion_band[0]), x(strictest.champion_band[2])
    parts = [
        tag("rect", x=low, y=TOP - 6.0, width=max(1.0, high - low), height=bottom - TOP + 6.0, class_="band"),
        *_axis(x, TOP - 6.0, bottom),
        fig.text(x.end, height - 2.0, "score", "axis", "end"),
    ]
    for place, line in enumerate(lines):
        parts.append(_competitor(line, x, TOP + row * place + (26.0 if narrow else 10.0), narrow, width))
    start = TOP + row * len(lines) + 12.0
    for place, null in enumerate(table.nulls):
        parts.append(_null(null, x, start + row * place + (26.0 if narrow else 10.0), narrow, null is strictest, width))
    parts.append(stamp(source, x))
    label = "Scores with 95 % intervals beside what searchers without skill reached; numbers in the tables below"
    return fig.canvas(width, height, label, *parts, class_=fit(width))


def _domain(lines: Sequence[Line], table: NullTable) -> tuple[float, float]:
    values = [bound for line in lines for bound in (line.interval or (line.score, line.score))]
    values += [value for null in table.nulls for value in null.champion]
    return fig.padded(min(values), max(values), 0.03, 0.5)


def _axis(x: Scale, top: float, bottom: float) -> list[Markup]:
    parts: list[Markup] = []
    for value in fig.ticks(x.low, x.high, 4 if x.end - x.start < 400 else 8):
        place = fig.coordinate(x(value))
        class_ = "zero" if value == 0 else "hair"
        parts.append(tag("path", d=f"M{place} {fig.coordinate(top)}V{fig.coordinate(bottom)}", class_=class_))
        parts.append(fig.text(x(value), bottom + 14.0, plain(value), "axis", "middle"))
    return parts


def _label(words: str, x: Scale, level: float, narrow: bool, class_: str, title: str) -> Markup:
    if narrow:
        return fig.text(x.start, level - 11.0, shorten(words, 40), class_, title=title)
    return fig.text(x.start - 14.0, level + 4.0, shorten(words, 30), class_, "end", title=title)


def _right(words: str, x: Scale, level: float, narrow: bool, width: float, class_: str) -> Markup:
    if narrow:
        return fig.text(width - 4.0, level - 11.0, words, class_, "end")
    return fig.text(x.end + 14.0, level + 4.0, words, class_)


def _competitor(line: Line, x: Scale, level: float, narrow: bool, width: float) -> Markup:
    parts = [_label(clean(line.name), x, level, narrow, "end", clean(line.name))]
    if line.interval is not None:
        low, high = (fig.coordinate(x(bound)) for bound in line.interval)
        parts.append(tag("path", d=f"M{low} {fig.coordinate(level)}H{high}", class_="interval"))
    parts.append(fig.marker(line.index, x(line.score), level, "mark", 5.0))
    if line.p_value is not None:
        parts.append(_right(f"p {fixed(line.p_value, 3)}", x, level, narrow, width, "label strong"))
    return tag("g", *parts, class_=f"a{line.index}")


def _null(null: Null, x: Scale, level: float, narrow: bool, strictest: bool, width: float) -> Markup:
    words = f"{null.searcher}, {WORDS[null.reference]}"
    low, middle, high = (x(value) for value in null.champion_band)
    parts = [
        _label(words, x, level, narrow, "label strong" if strictest else "label", words),
        fig.rules([(x(value), level + 5.0) for value in null.champion], 10.0, "stroke run"),
        tag("path", d=f"M{fig.coordinate(low)} {fig.coordinate(level)}H{fig.coordinate(high)}", class_="interval"),
        fig.rules([(middle, level + 7.0)], 14.0, "stroke median"),
        _right(f"{null.runs} runs", x, level, narrow, width, "label"),
    ]
    return tag("g", *parts, class_="reference")
