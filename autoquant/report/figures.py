"""SVG helpers: escaped elements, scales, round ticks, step lines, markers, labels that do not collide.

Everything is drawn in CSS pixels at a given width; a chart is drawn once wide and once narrow and the style sheet shows
the one that fits, so that type keeps its size on a phone. Colours come from classes (`a0`, `a1`, … per competitor), so
that both themes and print share one drawing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

DASHES = ("none", "7 3", "2 3", "9 3 2 3", "12 4", "4 2 1 2 1 2", "5 5", "1 4")
MARKERS = ("circle", "square", "triangle", "diamond", "down", "plus", "cross", "ring")
_CHARACTER_WIDTH = 6.7
"""Average advance of a 12 px sans face, generous."""

Point = tuple[float, float]


def tag(name: str, *children: str, **attributes: object) -> Markup:
    """One SVG element. Text children and attribute values are escaped; `class_` is `class`, `_` inside names is `-`.

    >>> tag("text", "<b>", x=1.25, class_="axis")
    Markup('<text x="1.3" class="axis">&lt;b&gt;</text>')
    """
    pairs = "".join(
        f' {key.rstrip("_").replace("_", "-") if key not in _CAMEL else key}="{_value(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    inside = Markup("").join(escape(child) for child in children)
    return Markup(f"<{name}{pairs}>{inside}</{name}>") if inside else Markup(f"<{name}{pairs}/>")


_CAMEL = frozenset({"viewBox", "preserveAspectRatio", "patternUnits"})


def _value(value: object) -> Markup:
    return escape(coordinate(value) if isinstance(value, float) else str(value))


def coordinate(value: float) -> str:
    """A length with at most one decimal.

    >>> coordinate(3.04), coordinate(-0.04), coordinate(2.25)
    ('3', '0', '2.3')
    """
    text = f"{math.floor(value * 10 + 0.5) / 10:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


@dataclass(frozen=True)
class Scale:
    """A straight map from data `low … high` to pixels `start … end`."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """Pixel of a value; values outside are held at the edge."""
        span = self.high - self.low
        share = 0.5 if span == 0 else (value - self.low) / span
        return self.start + min(1.0, max(0.0, share)) * (self.end - self.start)

    def holds(self, value: float) -> bool:
        """Whether the value lies on the scale."""
        return self.low <= value <= self.high


def ticks(low: float, high: float, wanted: int) -> tuple[float, ...]:
    """Round numbers inside `low … high`, about `wanted` of them, in steps of 1, 2 or 5 times a power of ten.

    >>> ticks(-0.13, 0.92, 5)
    (0.0, 0.2, 0.4, 0.6, 0.8)
    """
    if not high > low:
        return (low,)
    rough = (high - low) / max(1, wanted)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= 0.7 * rough)
    digits = max(0, -math.floor(math.log10(step)))
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return tuple(round(index * step, digits) + 0.0 for index in range(first, last + 1))


def padded(low: float, high: float, share: float = 0.06, least: float = 0.1) -> tuple[float, float]:
    """A domain with some air, never narrower than `least`."""
    span = max(high - low, least)
    middle = (low + high) / 2
    half = span / 2 + share * span
    return middle - half, middle + half


def path(points: Iterable[Point], class_: str, **attributes: object) -> Markup:
    """A straight-segment line through the points."""
    data = "L".join(f"{coordinate(x)} {coordinate(y)}" for x, y in points)
    return tag("path", d="M" + data, class_=class_, **attributes) if data else Markup("")


def steps(points: Sequence[Point], until: float, class_: str, **attributes: object) -> Markup:
    """A step line: each value holds until the next point, the last one until x = `until`."""
    if not points:
        return Markup("")
    x, y = points[0]
    parts = [f"M{coordinate(x)} {coordinate(y)}"]
    for x, y in points[1:]:
        parts.append(f"H{coordinate(x)}V{coordinate(y)}")
    parts.append(f"H{coordinate(until)}")
    return tag("path", d="".join(parts), class_=class_, **attributes)


def dots(points: Iterable[Point], class_: str) -> Markup:
    """Many round marks in one path of zero-length strokes: a few bytes each."""
    data = "".join(f"M{coordinate(x)} {coordinate(y)}h0" for x, y in points)
    return tag("path", d=data, class_=class_) if data else Markup("")


def rules(points: Iterable[Point], height: float, class_: str) -> Markup:
    """Many short upright strokes standing on the given points, in one path."""
    data = "".join(f"M{coordinate(x)} {coordinate(y)}v{coordinate(-height)}" for x, y in points)
    return tag("path", d=data, class_=class_) if data else Markup("")


def marker(position: int, x: float, y: float, class_: str, size: float = 4.5) -> Markup:
    """The competitor's own mark."""
    s = size
    shapes = {
        "circle": lambda: tag("circle", cx=x, cy=y, r=s * 0.95, class_=class_),
        "ring": lambda: tag("circle", cx=x, cy=y, r=s * 0.85, class_=class_ + " hollow"),
        "square": lambda: tag("rect", x=x - s * 0.85, y=y - s * 0.85, width=s * 1.7, height=s * 1.7, class_=class_),
        "triangle": lambda: _polygon(
            [(x, y - s * 1.15), (x + s * 1.1, y + s * 0.85), (x - s * 1.1, y + s * 0.85)], class_
        ),
        "down": lambda: _polygon([(x, y + s * 1.15), (x + s * 1.1, y - s * 0.85), (x - s * 1.1, y - s * 0.85)], class_),
        "diamond": lambda: _polygon([(x, y - s * 1.25), (x + s * 1.1, y), (x, y + s * 1.25), (x - s * 1.1, y)], class_),
        "plus": lambda: _strokes([(x - s, y, x + s, y), (x, y - s, x, y + s)], class_),
        "cross": lambda: _strokes(
            [
                (x - s * 0.8, y - s * 0.8, x + s * 0.8, y + s * 0.8),
                (x - s * 0.8, y + s * 0.8, x + s * 0.8, y - s * 0.8),
            ],
            class_,
        ),
    }
    return shapes[MARKERS[position % len(MARKERS)]]()


def _polygon(points: Sequence[Point], class_: str) -> Markup:
    return tag("polygon", points=" ".join(f"{coordinate(x)},{coordinate(y)}" for x, y in points), class_=class_)


def _strokes(lines: Sequence[tuple[float, float, float, float]], class_: str) -> Markup:
    data = "".join(f"M{coordinate(a)} {coordinate(b)}L{coordinate(c)} {coordinate(d)}" for a, b, c, d in lines)
    return tag("path", d=data, class_=class_ + " hollow")


def text(x: float, y: float, words: str, class_: str, anchor: str = "start", title: str | None = None) -> Markup:
    """A label; `anchor` is start, middle or end."""
    children: list[str] = [words] if title is None else [tag("title", title), words]
    return tag("text", *children, x=x, y=y, class_=class_, text_anchor=None if anchor == "start" else anchor)


def spread(wanted: Sequence[float], gap: float, low: float, high: float) -> tuple[float, ...]:
    """Positions close to the wanted ones, in the same order, at least `gap` apart and inside `low … high`.

    Pools neighbours that collide and centres each pool on the mean of its wishes. Where not all fit, the gap shrinks.

    >>> spread([10.0, 11.0, 40.0], 10.0, 0.0, 100.0)
    (5.5, 15.5, 40.0)
    """
    if not wanted:
        return ()
    gap = min(gap, (high - low) / max(1, len(wanted) - 1)) if len(wanted) > 1 else gap
    order = sorted(range(len(wanted)), key=lambda i: (wanted[i], i))
    pools: list[tuple[float, int]] = []
    for index in order:
        pools.append((wanted[index], 1))
        while True:
            centre, size = pools[-1]
            centre = min(max(centre, low + gap * (size - 1) / 2), high - gap * (size - 1) / 2)
            pools[-1] = (centre, size)
            if len(pools) < 2:
                break
            before, members = pools[-2]
            if centre - before >= gap * (size + members) / 2 - 1e-9:
                break
            pools[-2:] = [((before * members + centre * size) / (members + size), members + size)]
    places = [centre + gap * (i - (size - 1) / 2) for centre, size in pools for i in range(size)]
    result = [0.0] * len(wanted)
    for place, index in zip(places, order, strict=True):
        result[index] = place
    return tuple(result)


def width_of(words: str) -> float:
    """About how wide a 12 px label is."""
    return _CHARACTER_WIDTH * len(words)


def canvas(width: float, height: float, label: str, *children: str, class_: str, **more: object) -> Markup:
    """The `<svg>` of a chart, with its name for those who do not see it; `more` are attributes as in `tag`."""
    return tag(
        "svg",
        *children,
        viewBox=f"0 0 {coordinate(width)} {coordinate(height)}",
        width=coordinate(width),
        height=coordinate(height),
        class_=class_,
        role="img",
        aria_label=label,
        **more,
    )
