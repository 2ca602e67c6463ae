"""What the charts share: sizes, horizontal axes, the source's stamp, label leaders."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from markupsafe import Markup

from autoquant.report import figures as fig
from autoquant.report.figures import Scale, tag

WIDE = 1060.0
NARROW = 328.0
LABEL_GAP = 17.0
"""Smallest distance of two labels at line ends."""


@dataclass(frozen=True)
class Drawing:
    """A chart at two widths; the style sheet shows the one that fits."""

    wide: Markup
    narrow: Markup

    @classmethod
    def of(cls, draw: Callable[[float], Markup]) -> Drawing:
        """Draw at both widths."""
        return cls(draw(WIDE), draw(NARROW))


def is_narrow(width: float) -> bool:
    """Whether a chart is drawn for a phone."""
    return width < 600


def fit(width: float) -> str:
    """Class of a chart of that width."""
    return "chart narrow" if is_narrow(width) else "chart wide"


def axis(x: Scale, y: Scale, wanted: int, words: Callable[[float], str]) -> Markup:
    """Hairlines across the plot at round values, labelled at the left; zero is drawn stronger."""
    parts: list[Markup] = []
    for value in fig.ticks(y.low, y.high, wanted):
        level = fig.coordinate(y(value))
        class_ = "zero" if value == 0 else "hair"
        parts.append(tag("path", d=f"M{fig.coordinate(x.start)} {level}H{fig.coordinate(x.end)}", class_=class_))
        parts.append(fig.text(x.start - 8, y(value) + 4, words(value), "axis", "end"))
    return Markup("").join(parts)


def stamp(words: str, x: Scale) -> Markup:
    """The source's warning inside the drawing, so that a cut-out keeps it."""
    return fig.text(x.end, 10.0, words, "stamp", "end") if words else Markup("")


def lead(x: float, level: float, edge: float, place: float) -> Markup:
    """The thin line from a curve's end to its label."""
    return fig.path([(x + 3, level), (edge + 10, place)], "leader")
