"""What VALID promised and what the sealed year gave, on one line of a table."""

from __future__ import annotations

from markupsafe import Markup

from autoquant.report import figures as fig
from autoquant.report.figures import tag
from autoquant.report.strips import Span, axis_strip, scale_of, strip, whisker

WIDTH, HEIGHT, MIDDLE = 200.0, 24.0, 13.0


def sealed_axis(domain: Span) -> Markup:
    """Round numbers of the scale, for the table's head."""
    return axis_strip(domain, 5, what="Sharpe ratio", width=WIDTH)


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
    x = scale_of(domain, WIDTH)
    parts = [
        tag("title", words),
        tag("path", d=f"M{fig.coordinate(x.start)} {MIDDLE:g}H{fig.coordinate(x.end)}", class_="hair"),
        tag("path", d=f"M{fig.coordinate(x(0.0))} 3V21", class_="zero"),
    ]
    if promised is not None and came is not None:
        ends = (fig.coordinate(x(promised)), fig.coordinate(x(came)))
        parts.append(tag("path", d=f"M{ends[0]} {MIDDLE:g}H{ends[1]}", class_="drop-line"))
    if interval is not None:
        parts.append(whisker(x, interval, MIDDLE))
    if promised is not None:
        parts.append(tag("circle", cx=x(promised), cy=MIDDLE, r=4.2, class_="promised"))
    if came is not None:
        mark = tag("circle", cx=x(came), cy=MIDDLE, r=3.6, class_="mark")
        parts.append(mark if index is None else fig.marker(index, x(came), MIDDLE, "mark"))
    return strip(HEIGHT, *parts, label=words, width=WIDTH, index=index, otherwise="reference")
