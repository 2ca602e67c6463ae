"""What VALID promised and what the sealed year gave, on one line of a table."""

from __future__ import annotations

from collections.abc import Iterable

from markupsafe import Markup

from autoquant.report import figures as fig
from autoquant.report.figures import Scale, tag
from autoquant.report.text import fixed

WIDTH, HEIGHT, MIDDLE, EDGE = 200.0, 24.0, 13.0, 7.0
Span = tuple[float, float]


def domain_of(values: Iterable[float]) -> Span:
    """A domain that holds the values and zero."""
    known = [0.0, *values]
    return fig.padded(min(known), max(known), 0.02, 1.0)


def _scale(domain: Span) -> Scale:
    return Scale(*domain, EDGE, WIDTH - EDGE)


def sealed_axis(domain: Span) -> Markup:
    """Round numbers of the scale, for the table's head."""
    x = _scale(domain)
    marks = [
        fig.text(x(value), 11.0, f"{value:g}".replace("-", "−"), "axis", "middle") for value in fig.ticks(*domain, 5)
    ]
    words = f"Sharpe ratio from {fixed(domain[0], 1)} to {fixed(domain[1], 1)}"
    return _svg(14.0, *marks, words=words, class_="strip-plot")


def sealed_strip(
    domain: Span, *, promised: float | None, came: float | None, interval: Span | None, index: int | None, words: str
) -> Markup:
    """An open ring where VALID stood, the competitor's mark with its 95 % interval where the sealed year ended.

    Parameters
    ----------
    domain : of the scale that all strips of the table share.
    promised : mean Sharpe ratio over the folds of VALID; None where there is none.
    came : Sharpe ratio of the sealed year.
    index : the competitor's place, for its mark; None for others.
    words : the same for those who do not see it.
    """
    x = _scale(domain)
    parts = [
        tag("title", words),
        tag("path", d=f"M{fig.coordinate(x.start)} {MIDDLE:g}H{fig.coordinate(x.end)}", class_="hair"),
        tag("path", d=f"M{fig.coordinate(x(0.0))} 3V21", class_="zero"),
    ]
    if promised is not None and came is not None:
        ends = (fig.coordinate(x(promised)), fig.coordinate(x(came)))
        parts.append(tag("path", d=f"M{ends[0]} {MIDDLE:g}H{ends[1]}", class_="drop-line"))
    if interval is not None:
        low, high = (fig.coordinate(x(bound)) for bound in interval)
        parts.append(tag("path", d=f"M{low} {MIDDLE:g}H{high}", class_="interval"))
    if promised is not None:
        parts.append(tag("circle", cx=x(promised), cy=MIDDLE, r=4.2, class_="promised"))
    if came is not None:
        mark = tag("circle", cx=x(came), cy=MIDDLE, r=3.6, class_="mark")
        parts.append(mark if index is None else fig.marker(index, x(came), MIDDLE, "mark"))
    class_ = "strip-plot " + ("reference" if index is None else f"a{index}")
    return _svg(HEIGHT, *parts, words=words, class_=class_)


def _svg(height: float, *parts: Markup, words: str, class_: str) -> Markup:
    box = f"0 0 {WIDTH:g} {height:g}"
    return tag("svg", *parts, viewBox=box, width=WIDTH, height=height, class_=class_, role="img", aria_label=words)
