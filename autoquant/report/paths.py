"""Path data in as few bytes as it needs: one decimal, relative moves, no spaces that a parser can do without. Pure.

Moves are differences of rounded places, so that rounding never adds up along a path.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise

from markupsafe import Markup

from autoquant.report.figures import MARKERS, Point, tag

_SHAPES = {
    "circle": "m-4.3 0a4.3 4.3 0 1 0 8.6 0 4.3 4.3 0 1 0-8.6 0",
    "ring": "m-3.8 0a3.8 3.8 0 1 0 7.6 0 3.8 3.8 0 1 0-7.6 0",
    "square": "m-3.8-3.8h7.6v7.6h-7.6z",
    "triangle": "m0-5.2 5 9h-10z",
    "down": "m0 5.2 5-9h-10z",
    "diamond": "m0-5.6 5 5.6-5 5.6-5-5.6z",
    "plus": "m-4.5 0h9m-4.5-4.5v9",
    "cross": "m-3.6-3.6 7.2 7.2m-7.2 0 7.2-7.2",
}
"""The marks of `figures.marker` around a point, as moves from it."""
_HOLLOW = frozenset({"ring", "plus", "cross"})


def dots(points: Iterable[Point]) -> str:
    """Zero-length strokes, which round caps make dots.

    >>> dots([(1.0, 2.0), (1.5, 1.0)])
    'M1 2h0m.5-1h0'
    """
    return _moves(points, "h0", (0, 0))


def strokes(points: Iterable[Point], height: float) -> str:
    """Upright strokes standing on the points.

    >>> strokes([(1.0, 9.0), (3.0, 9.0)], 4.0)
    'M1 9v-4m2 4v-4'
    """
    rise = _tenths(height)
    return _moves(points, "v" + _short(-rise), (0, -rise))


def stairs(points: Sequence[Point], until: float) -> str:
    """A line that holds each level until the next point, the last one until x = `until`; nothing of no points.

    x never falls. Of several steps at one place only the last is drawn: a climb hides those before it.

    >>> stairs([(0.0, 9.0), (4.0, 5.5)], 10.0)
    'M0 9h4v-3.5h6'
    """
    if not points:
        return ""
    x, y = map(_tenths, points[0])
    parts = [f"M{_pair(x, y)}"]
    levels = {_tenths(to_x): _tenths(to_y) for to_x, to_y in (*points[1:], (until, points[-1][1]))}
    for to_x, to_y in levels.items():
        parts += [f"h{_short(to_x - x)}"] if to_x != x else []
        parts += [f"v{_short(to_y - y)}"] if to_y != y else []
        x, y = to_x, to_y
    return "".join(parts)


def outline(points: Sequence[Point]) -> str:
    """Straight segments through the points.

    >>> outline([(0.0, 0.0), (2.0, -1.0), (4.0, -1.0)])
    'M0 0l2-1 2 0'
    """
    if not points:
        return ""
    places = [(_tenths(x), _tenths(y)) for x, y in points]
    steps = [_pair(b[0] - a[0], b[1] - a[1]) for a, b in pairwise(places) if a != b]
    return f"M{_pair(*places[0])}" + (f"l{_joined(steps)}" if steps else "")


def marks(position: int, points: Iterable[Point]) -> Markup:
    """A competitor's own mark at each of many points, in one path."""
    shape = MARKERS[position % len(MARKERS)]
    data = "".join(f"M{_pair(_tenths(x), _tenths(y))}{_SHAPES[shape]}" for x, y in points)
    return tag("path", d=data, class_="mark hollow" if shape in _HOLLOW else "mark") if data else Markup("")


def _moves(points: Iterable[Point], mark: str, ends: tuple[int, int]) -> str:
    parts: list[str] = []
    pen: tuple[int, int] | None = None
    for place in points:
        x, y = _tenths(place[0]), _tenths(place[1])
        parts.append((f"M{_pair(x, y)}" if pen is None else f"m{_pair(x - pen[0], y - pen[1])}") + mark)
        pen = (x + ends[0], y + ends[1])
    return "".join(parts)


def _joined(pairs: Sequence[str]) -> str:
    return "".join(pair if pair.startswith("-") or not place else f" {pair}" for place, pair in enumerate(pairs))


def _pair(x: int, y: int) -> str:
    return _short(x) + _short(y) if y < 0 else f"{_short(x)} {_short(y)}"


def _tenths(value: float) -> int:
    return math.floor(value * 10 + 0.5)


def _short(tenths: int) -> str:
    """Tenths as a number: `-.5`, `3`, `12.4`."""
    whole, rest = divmod(abs(tenths), 10)
    body = (str(whole) if whole or not rest else "") + (f".{rest}" if rest else "")
    return f"-{body}" if tenths < 0 else body
