"""The sealed year: equity and drawdown of every entry with its verdict, or the empty year before it opens."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

import numpy as np
from markupsafe import Markup

from autoquant.report import figures as fig
from autoquant.report.figures import Scale, tag
from autoquant.report.frames import LABEL_GAP, axis, fit, is_narrow, lead, stamp
from autoquant.report.model import Lockbox, Race, Verdict
from autoquant.report.text import clean, fixed, percent, shorten


def sealed_chart(race: Race, width: float) -> Markup:
    """Equity of each entry over the sealed year with its verdict at the line's end, drawdown below."""
    narrow = is_narrow(width)
    top, gap, strip = (230.0, 26.0, 70.0) if narrow else (330.0, 30.0, 90.0)
    height = top + gap + strip + 34.0
    paths = [(verdict, _equity(verdict)) for verdict in race.lockbox.verdicts if verdict.daily_returns]
    values = np.concatenate([equity for _, equity in paths])
    days = max(len(equity) for _, equity in paths) - 1
    x = Scale(0, days, 46.0, width - (118.0 if narrow else 330.0))
    y = Scale(*fig.padded(float(values.min()), float(values.max()), 0.05, 0.1), top, 22.0)
    falls = [(verdict, equity / np.maximum.accumulate(equity) - 1) for verdict, equity in paths]
    deepest = min(-0.05, min(float(fall.min()) for _, fall in falls))
    d = Scale(deepest * 1.08, 0.0, top + gap + strip, top + gap)
    layers = [
        axis(x, y, 5, lambda value: fixed(value, 2)),
        tag("path", d=f"M{fig.coordinate(x.start)} {fig.coordinate(y(1.0))}H{fig.coordinate(x.end)}", class_="zero"),
        axis(x, d, 2, lambda value: percent(value, 0)),
        fig.text(x.start + 4, top + gap - 6, "drawdown", "axis"),
        *_months(race.lockbox, x, height - 12, narrow),
        *(_equity_line(race, verdict, equity, x, y, "line sealed") for verdict, equity in paths),
        *(_equity_line(race, verdict, fall, x, d, "line thin") for verdict, fall in falls),
        *_verdict_labels(race, paths, x, y, narrow),
        stamp(race.source.stamp, x),
    ]
    return fig.canvas(
        width, height, "Equity over the sealed year; numbers in the table below", *layers, class_=fit(width)
    )


def sealed_empty(race: Race, width: float, words: str) -> Markup:
    """The sealed year before it opens: its months, and nothing in them."""
    narrow = is_narrow(width)
    height = 190.0
    x = Scale(0, 365, 2.0, width - 2.0)
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
        class_=fit(width),
    )


def _equity(verdict: Verdict) -> np.ndarray:
    return np.concatenate([[1.0], np.cumprod(1.0 + np.asarray(verdict.daily_returns))])


def _equity_line(race: Race, verdict: Verdict, values: np.ndarray, x: Scale, y: Scale, class_: str) -> Markup:
    """Daily curves are too rough for dashes: the competitor's mark along the line tells it apart without colour."""
    stride = max(1, round(len(values) / max(1.0, x.end - x.start)))
    keep = sorted({*range(0, len(values), stride), len(values) - 1})
    index = _index(race, verdict)
    parts = [fig.path([(x(day), y(float(values[day]))) for day in keep], class_)]
    if index is not None and "sealed" in class_:
        days = range(30 + 12 * index % 60, len(values) - 20, 90)
        parts += [fig.marker(index, x(day), y(float(values[day])), "mark", 4.0) for day in days]
    return tag("g", *parts, class_="reference" if index is None else f"a{index}")


def _index(race: Race, verdict: Verdict) -> int | None:
    return next((entrant.index for entrant in race.entrants if entrant.name == verdict.competitor), None)


def _verdict_labels(
    race: Race, paths: Sequence[tuple[Verdict, np.ndarray]], x: Scale, y: Scale, narrow: bool
) -> list[Markup]:
    wanted = [*(y(float(equity[-1])) for _, equity in paths), y(1.0)]
    places = fig.spread(wanted, 31.0 if narrow else LABEL_GAP, 12.0, y.start)
    labels = [
        tag(
            "g",
            fig.text(x.end + 24, places[-1] + 4, "cash", "axis"),
            lead(x.end, wanted[-1], x.end, places[-1]),
            class_="reference",
        )
    ]
    for (verdict, equity), level, place in zip(paths, wanted, places, strict=False):
        index = _index(race, verdict)
        name = shorten(clean(verdict.name), 11 if narrow else 24)
        words = verdict.words or "not judged yet"
        circle = tag("circle", cx=x.end + 15, cy=place, r=3.0, class_="mark hollow")
        parts = [
            lead(x(len(equity) - 1), level, x.end, place),
            circle if index is None else fig.marker(index, x.end + 15, place, "mark"),
            fig.text(x.end + 24, place + 4, name if narrow else f"{name}  {words}", "end", title=clean(verdict.name)),
        ]
        if narrow:
            short = "insufficient" if words == "insufficient evidence" else shorten(words, 13)
            parts.append(fig.text(x.end + 24, place + 18, short, "axis"))
        labels.append(tag("g", *parts, class_="reference" if index is None else f"a{index}"))
    return labels


def _months(lockbox: Lockbox, x: Scale, level: float, narrow: bool) -> list[Markup]:
    start = dt.date.fromisoformat(lockbox.start)
    end = dt.date.fromisoformat(lockbox.end)
    parts: list[Markup] = []
    month = start
    while month < end:
        place = x((month - start).days)
        if (month.month - start.month) % 3 == 0:
            parts.append(fig.text(place, level, month.strftime("%b" if narrow else "%b %Y"), "axis"))
        month = (month.replace(day=28) + dt.timedelta(days=4)).replace(day=1)
    return parts
