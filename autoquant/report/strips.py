"""Small drawings on one shared scale, one per table row: scores among blind searchers, differences, shares."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from markupsafe import Markup

from autoquant.report import figures as fig
from autoquant.report.figures import Scale, tag
from autoquant.report.text import fixed, plain

WIDTH = 248.0
EDGE = 7.0

Span = tuple[float, float]


def scale_of(domain: Span, width: float = WIDTH) -> Scale:
    """The scale all strips of a table share."""
    return Scale(*domain, EDGE, width - EDGE)


def domain_of(values: Iterable[float]) -> Span:
    """A domain that holds the values and zero."""
    known = [0.0, *values]
    return fig.padded(min(known), max(known), 0.02, 1.0)


def axis_strip(domain: Span, wanted: int = 6, *, what: str = "scale", width: float = WIDTH) -> Markup:
    """Round numbers of the scale, for the table's head."""
    x = scale_of(domain, width)
    marks = [fig.text(x(value), 11.0, plain(value), "axis", "middle") for value in fig.ticks(*domain, wanted)]
    return strip(14.0, *marks, label=f"{what} from {fixed(domain[0], 1)} to {fixed(domain[1], 1)}", width=width)


def score_strip(
    domain: Span,
    *,
    score: float | None,
    interval: Span | None,
    band: Span | None,
    folds: Sequence[float],
    index: int | None,
    words: str,
) -> Markup:
    """A score with its interval above its folds, what blind search reaches behind it, zero marked.

    Parameters
    ----------
    domain : of the shared scale.
    interval : 95 %, None where there is none.
    band : 5 to 95 % of blind searchers' champions.
    index : the competitor's place, for its mark; None for the seed.
    words : the same for those who do not see it.
    """
    x = scale_of(domain)
    parts = [
        tag("title", words),
        _band(x, band, 32.0),
        tag("path", d=f"M{fig.coordinate(x.start)} 25.5H{fig.coordinate(x.end)}", class_="hair"),
        tag("path", d=f"M{fig.coordinate(x(0.0))} 2V31", class_="zero"),
        fig.rules([(x(value), 30.0) for value in folds], 9.0, "stroke fold"),
    ]
    if interval is not None:
        parts.append(whisker(x, interval, 11.0))
    if score is not None:
        mark = tag("circle", cx=x(score), cy=11.0, r=4.0, class_="mark hollow")
        parts.append(mark if index is None else fig.marker(index, x(score), 11.0, "mark"))
    return strip(33.0, *parts, label=words, index=index)


def difference_strip(domain: Span, difference: float, interval: Span, separated: bool, words: str) -> Markup:
    """A difference with its interval; whole where it separates, hollow where it does not."""
    x = scale_of(domain, 200.0)
    return strip(
        18.0,
        tag("title", words),
        tag("path", d=f"M{fig.coordinate(x(0.0))} 1V17", class_="zero"),
        whisker(x, interval, 9.0),
        tag("circle", cx=x(difference), cy=9.0, r=3.6, class_="mark" if separated else "mark hollow paper-filled"),
        label=words,
        width=200.0,
    )


def share_strip(share: float, band: Span, index: int, words: str) -> Markup:
    """A share between 0 and 1 against the band that noise gives; one half is marked."""
    x = scale_of((0.0, 1.0), 200.0)
    return strip(
        18.0,
        tag("title", words),
        _band(x, band, 18.0),
        tag("path", d=f"M{fig.coordinate(x.start)} 9H{fig.coordinate(x.end)}", class_="hair"),
        tag("path", d=f"M{fig.coordinate(x(0.5))} 1V17", class_="zero"),
        fig.marker(index, x(share), 9.0, "mark"),
        label=words,
        width=200.0,
        index=index,
    )


def _band(x: Scale, band: Span | None, height: float) -> Markup:
    if band is None:
        return Markup("")
    low, high = x(band[0]), x(band[1])
    return tag("rect", x=low, y=0.0, width=max(1.0, high - low), height=height, class_="band")


def whisker(x: Scale, interval: Span, level: float) -> Markup:
    """An interval as a line at a height."""
    low, high = (fig.coordinate(x(bound)) for bound in interval)
    return tag("path", d=f"M{low} {fig.coordinate(level)}H{high}", class_="interval")


def strip(
    height: float, *parts: Markup, label: str, width: float = WIDTH, index: int | None = None, otherwise: str = ""
) -> Markup:
    """The drawing in a cell, in the colour of a competitor or in that of the class `otherwise`.

    Parameters
    ----------
    label : the same for those who do not see it.
    index : the competitor's place; None for others.
    """
    colour = otherwise if index is None else f"a{index}"
    return tag(
        "svg",
        *parts,
        viewBox=f"0 0 {width:g} {height:g}",
        width=width,
        height=height,
        class_=f"strip-plot {colour}".rstrip(),
        role="img",
        aria_label=label,
    )
