"""What the explainer's drawings share: lines of text, arrows, price lines that are nobody's."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from markupsafe import Markup

from autoquant.report import figures as fig
from autoquant.report.figures import Point, tag

LINE = 17.0
"""Distance of two lines of text."""
_HEAD = 6.0


def words(x: float, y: float, lines: Sequence[str], class_: str = "label", anchor: str = "start") -> Markup:
    """Lines of text below each other, the first at y."""
    return Markup("").join(fig.text(x, y + LINE * k, line, class_, anchor) for k, line in enumerate(lines))


def titled(x: float, y: float, title: str, lines: Sequence[str], anchor: str = "start") -> Markup:
    """A strong line and quiet ones below it."""
    return fig.text(x, y, title, "label strong", anchor) + words(x, y + LINE, lines, "label", anchor)


def line(points: Sequence[Point], class_: str = "flow") -> Markup:
    """A line through the points, without a head."""
    return fig.path(points, class_)


def arrow(points: Sequence[Point], class_: str = "flow") -> Markup:
    """A line through the points with a head at the last one."""
    (x, y), (before_x, before_y) = points[-1], points[-2]
    length = float(np.hypot(x - before_x, y - before_y)) or 1.0
    along_x, along_y = (x - before_x) / length, (y - before_y) / length
    back_x, back_y = x - _HEAD * along_x, y - _HEAD * along_y
    side_x, side_y = -along_y * _HEAD * 0.5, along_x * _HEAD * 0.5
    corners = ((x, y), (back_x + side_x, back_y + side_y), (back_x - side_x, back_y - side_y))
    head = " ".join(f"{fig.coordinate(a)},{fig.coordinate(b)}" for a, b in corners)
    return fig.path(points, class_) + tag("polygon", points=head, class_="head")


def walk(seed: int, steps: int, drift: float = 0.0) -> tuple[float, ...]:
    """A made-up price path between 0 and 1, the same for ever: `steps` points of a random walk."""
    moves = np.random.Generator(np.random.PCG64(seed)).normal(drift, 1.0, steps - 1)
    path = np.concatenate([[0.0], np.cumsum(moves)])
    low, high = float(path.min()), float(path.max())
    return tuple(float(value) for value in (path - low) / (high - low))


def spread(values: Sequence[float], left: float, right: float, low: float, high: float) -> list[Point]:
    """Values 0 … 1 as points from left to right, 0 at y = `low` and 1 at y = `high`."""
    width = (right - left) / max(1, len(values) - 1)
    return [(left + k * width, low + value * (high - low)) for k, value in enumerate(values)]
