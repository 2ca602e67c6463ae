"""Small plots of shares with their intervals, for the cells of a table."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from markupsafe import Markup

from autoquant.report import figures as fig
from autoquant.report.discovery import Share
from autoquant.report.figures import Scale, tag
from autoquant.report.text import percent


def ceiling(shares: Iterable[Share]) -> float:
    """The end of an axis that holds all the intervals: a multiple of a tenth.

    >>> ceiling([Share(3, 10), Share(0, 0)])
    0.7
    """
    ends = [share.interval[1] for share in shares if share.interval is not None]
    return min(1.0, math.ceil(10.0 * max(ends, default=0.1)) / 10.0)


def share_plot(share: Share, index: int, top: float) -> Markup:
    """One share as the competitor's mark on its interval, from 0 to `top`."""
    width, height, middle = 130.0, 16.0, 8.0
    x = Scale(0.0, top, 5.0, width - 5.0)
    ends = tag("path", d=f"M{fig.coordinate(x.start)} 3v10M{fig.coordinate(x.end)} 3v10", class_="hair")
    parts = [ends, tag("path", d=f"M{fig.coordinate(x.start)} 8H{fig.coordinate(x.end)}", class_="hair")]
    if share.interval is not None and share.value is not None:
        low, high = share.interval
        parts.append(tag("path", d=f"M{fig.coordinate(x(low))} 8H{fig.coordinate(x(high))}", class_="whisker"))
        parts.append(fig.marker(index, x(share.value), middle, "mark", 4.0))
    return _small(width, height, index, *parts)


def quarters_plot(quarters: Sequence[Share], index: int, top: float) -> Markup:
    """The share in each quarter as a dot on its upright interval, from 0 to `top`."""
    width, height = 104.0, 34.0
    y = Scale(0.0, top, height - 3.0, 3.0)
    parts = [tag("path", d=f"M2 {fig.coordinate(y.start)}H{fig.coordinate(width - 2)}", class_="zero")]
    places = [14.0 + 25.0 * place for place in range(len(quarters))]
    known = [(x, y(s.value), s.interval) for x, s in zip(places, quarters, strict=True) if s.value is not None]
    spans = [(fig.coordinate(x), *map(fig.coordinate, map(y, ends))) for x, _, ends in known if ends is not None]
    if spans:
        parts.append(tag("path", d="".join(f"M{x} {low}V{high}" for x, low, high in spans), class_="whisker"))
    parts.append(fig.dots([(x, value) for x, value, _ in known], "points"))
    words = ", ".join("n/a" if share.value is None else percent(share.value, 0) for share in quarters)
    return _small(width, height, index, *parts, label=f"quarters {words}")


def _small(width: float, height: float, index: int, *parts: str, label: str | None = None) -> Markup:
    named = {"role": "img", "aria_label": label} if label else {"aria_hidden": "true"}
    box = f"0 0 {width:g} {height:g}"
    return tag("svg", *parts, viewBox=box, width=width, height=height, class_=f"rate a{index}", **named)
