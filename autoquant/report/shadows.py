"""Each champion's score and its shadows on one axis."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from autoquant.report import figures as fig
from autoquant.report.figures import Scale, tag
from autoquant.report.frames import fit, is_narrow, stamp
from autoquant.report.resemblance import Shadow, Shadows
from autoquant.report.text import clean, count, fixed, shorten

_STRETCH = 2.0
"""How much longer the axis may get to hold the seed."""


def shadow_chart(
    rows: Sequence[Shadows], seed: float | None, floor: float | None, stamped: str, width: float
) -> Markup:
    """A row per champion: official score and harder accounting above the line, scores with moved folds below it.

    Parameters
    ----------
    rows : champions to show, at least one.
    seed : the seed's score, an upright line.
    floor : noise floor, drawn as a length for comparison.
    stamped : the source's warning.
    width : of the drawing.
    """
    narrow = is_narrow(width)
    row = 84.0 if narrow else 58.0
    low, high = _domain([value for one in rows for value in one.scores], seed)
    x = Scale(low, high, 14.0 if narrow else 190.0, width - 16.0)
    bottom = 36.0 + len(rows) * row
    parts = [
        *_axis(x, bottom, 4 if narrow else 9),
        *_seed(seed, x, bottom),
        *_floor(floor, x, bottom),
        *(_row(one, x, 36.0 + (place + (0.62 if narrow else 0.5)) * row, narrow) for place, one in enumerate(rows)),
        stamp(stamped, x),
    ]
    label = f"Scores of {count(len(rows), 'champion')} under harder accounting; numbers in the table below"
    return fig.canvas(width, bottom + 44.0, label, *parts, class_=fit(width))


def _axis(x: Scale, bottom: float, wanted: int) -> list[Markup]:
    parts: list[Markup] = []
    for value in fig.ticks(x.low, x.high, wanted):
        place = fig.coordinate(x(value))
        class_ = "zero" if value == 0 else "hair"
        parts.append(tag("path", d=f"M{place} 28V{fig.coordinate(bottom)}", class_=class_))
        parts.append(fig.text(x(value), bottom + 16.0, fixed(value, 1), "axis", "middle"))
    return parts


def _domain(values: Sequence[float], seed: float | None) -> tuple[float, float]:
    """All scores with some air, and the seed's where that does not crowd them."""
    low, high = fig.padded(min(values), max(values), 0.06, 0.8)
    if seed is None or seed > high or high - seed > _STRETCH * (high - low):
        return low, high
    return fig.padded(min(seed, *values), max(values), 0.06, 0.8)


def _seed(seed: float | None, x: Scale, bottom: float) -> list[Markup]:
    if seed is None:
        return []
    if not x.holds(seed):
        return [fig.text(x.start, 22.0, f"← seed {fixed(seed, 2)}", "axis")]
    words = f"seed {fixed(seed, 2)}"
    place = max(x(seed), fig.width_of(words) / 2)
    return [
        tag("path", d=f"M{fig.coordinate(x(seed))} 28V{fig.coordinate(bottom)}", class_="seed-line"),
        fig.text(place, 22.0, words, "axis", "middle"),
    ]


def _floor(floor: float | None, x: Scale, bottom: float) -> list[Markup]:
    """The noise floor as a length under the axis: what luck alone moves."""
    if not floor:
        return []
    length = floor / (x.high - x.low) * (x.end - x.start)
    level = bottom + 34.0
    bar = f"M{fig.coordinate(x.start)} {fig.coordinate(level - 3)}v6m0-3h{fig.coordinate(length)}m0-3v6"
    words = fig.text(x.start + length + 8.0, level + 4.0, f"noise floor {fixed(floor, 2)}", "axis")
    return [tag("path", d=bar, class_="zero"), words]


def _row(one: Shadows, x: Scale, level: float, narrow: bool) -> Markup:
    index = one.entrant.index
    name = shorten(clean(one.entrant.name), 22)
    height = level - 36.0 if narrow else level
    left = x.start - 8.0 if narrow else 6.0
    parts = [
        fig.marker(index, left, height, "mark"),
        fig.text(left + 10.0, height + 4.0, name, "label strong"),
        tag("path", d=f"M{fig.coordinate(x.start)} {fig.coordinate(level)}H{fig.coordinate(x.end)}", class_="hair"),
        *_span(one, x, level),
        *_above(one, x, level),
        *_below(one, x, level),
    ]
    return tag("g", *parts, class_=f"a{index}")


def _span(one: Shadows, x: Scale, level: float) -> list[Markup]:
    """From the lowest to the highest of all."""
    ends = fig.coordinate(x(min(one.scores))), fig.coordinate(x(max(one.scores)))
    return [tag("path", d=f"M{ends[0]} {fig.coordinate(level)}H{ends[1]}", class_="line thin")]


def _above(one: Shadows, x: Scale, level: float) -> list[Markup]:
    """The official score, and scores at harder costs, named above the line."""
    official = one.scores[:1]
    harder = _known((one.double_cost, one.delayed))
    named = [*((fixed(score, 2), score) for score in official), *harder]
    parts: list[Markup] = []
    for rank, ((words, score), place) in enumerate(zip(named, _spread(named, x), strict=True)):
        parts.append(fig.path([(x(score), level - 3.0), (place, level - 9.0)], "leader"))
        parts.append(fig.text(place, level - 12.0, words, "axis" if rank else "label strong", "middle"))
    parts.append(fig.dots([(x(score), level) for _, score in harder], "points"))
    return [*parts, *(fig.marker(one.entrant.index, x(score), level, "mark") for score in official)]


def _below(one: Shadows, x: Scale, level: float) -> list[Markup]:
    """Scores with moved folds, as strokes named below the line."""
    moved = _known(one.shifted)
    parts = [fig.rules([(x(score), level + 5.0) for _, score in moved], 5.0, "stroke fold")]
    for (words, score), place in zip(moved, _spread(moved, x), strict=True):
        parts.append(fig.path([(x(score), level + 5.0), (place, level + 10.0)], "leader"))
        parts.append(fig.text(place, level + 20.0, words, "axis", "middle"))
    return parts


def _known(shadows: Sequence[Shadow]) -> list[tuple[str, float]]:
    return [(shadow.name, shadow.score) for shadow in shadows if shadow.score is not None]


def _spread(named: Sequence[tuple[str, float]], x: Scale) -> tuple[float, ...]:
    """Places of the labels of one line, all as far apart as the widest one needs."""
    room = max((fig.width_of(words) for words, _ in named), default=0.0) + 4.0
    return fig.spread([x(score) for _, score in named], room, x.start + room / 2, x.end - room / 2)
