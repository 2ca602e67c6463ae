"""The roll: every attempt of everybody as one stroke, a row per competitor, by what became of it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import pairwise

from markupsafe import Markup

from autoquant.ledger.records import ACCEPTED
from autoquant.report import figures as fig
from autoquant.report.axes import last_attempt
from autoquant.report.figures import Scale, tag
from autoquant.report.frames import fit, is_narrow
from autoquant.report.glyphs import STROKES
from autoquant.report.model import Attempt, Entrant
from autoquant.report.text import clean, shorten

_ROW = 40.0
_ROW_NARROW = 58.0
_DENSE = 1.5
"""Pixels from one attempt to the next below which marks fall on whole pixels."""


def roll_scale(entrants: Sequence[Entrant], width: float) -> Scale:
    """Pixel of an attempt's number, the same for every row: names stand before it and counts behind it."""
    narrow = is_narrow(width)
    return Scale(1, max(2.0, last_attempt(entrants)), 6.0 if narrow else 214.0, width - (8.0 if narrow else 140.0))


def roll_chart(entrants: Sequence[Entrant], width: float) -> Markup:
    """Accepted attempts rise from the line, failed ones hang from it, discards are dots; counts stand at the end."""
    narrow = is_narrow(width)
    row = _ROW_NARROW if narrow else _ROW
    x = roll_scale(entrants, width)
    bottom = max(1, len(entrants)) * row + 20.0
    marks = [
        fig.text(x(value), bottom, f"{value:g}", "axis", "middle")
        for value in fig.ticks(x.low, x.high, 5 if narrow else 10)
        if value == int(value)
    ]
    return fig.canvas(
        width,
        bottom + 14.0,
        "Status of every attempt; the tables below say the same",
        *(_row(entrant, x, place * row, width) for place, entrant in enumerate(entrants)),
        *marks,
        fig.text(width, bottom + (14.0 if narrow else 0.0), "attempt", "axis", "end"),
        class_=fit(width),
    )


def _row(entrant: Entrant, x: Scale, top: float, width: float) -> Markup:
    narrow = is_narrow(width)
    base = top + (40.0 if narrow else 24.0)
    line = top + 20.0 if narrow else base + 4.0
    return tag(
        "g",
        fig.marker(entrant.index, 8.0, line - 4.0, "mark"),
        fig.text(20.0, line, shorten(clean(entrant.name), 26), "label strong"),
        fig.path([(x.start - 4, base), (x.end + 4, base)], "hair"),
        *_strokes(entrant.attempts, x, base),
        fig.text(width, line, tally(entrant), "axis", "end"),
        class_=f"a{entrant.index}",
    )


def tally(entrant: Entrant) -> str:
    """How many attempts were kept, and how many accepted in any way."""
    accepted = sum(attempt.status in ACCEPTED for attempt in entrant.attempts)
    return f"{entrant.keeps} kept, {accepted} accepted"


def _strokes(attempts: Sequence[Attempt], x: Scale, base: float) -> list[Markup]:
    """One path per kind of status, discards first, so that nothing hides beneath them."""
    kinds: dict[tuple[float, str], list[int]] = {}
    step = (x.end - x.start) / (x.high - x.low)
    dense = step < _DENSE
    for attempt in attempts:
        kind = STROKES.get(attempt.status or "", (0.0, "stroke discard"))
        place = x.start + (attempt.number - x.low) * step
        kinds.setdefault(kind, []).append(10 * round(place) if dense else round(10 * place))
    return [
        tag("path", d=_marks(tenths, base, height, dense=dense), class_=class_)
        for (height, class_), tenths in sorted(kinds.items(), key=lambda kind: (kind[0][0] != 0.0, kind[0]))
    ]


def _marks(tenths: Sequence[int], base: float, height: float, *, dense: bool) -> str:
    """Path of upright strokes, or of dots where the height is 0, by steps from one to the next: few bytes each.

    Where attempts are closer than pixels, marks on one pixel are drawn once, and neighbouring dots as a line.

    Parameters
    ----------
    tenths : places in tenths of a pixel.
    """
    places = sorted(set(tenths))
    mark, back = f"v{fig.coordinate(-height)}" if height else "h0", fig.coordinate(height)
    parts = [f"M{_pixels(places[0])} {fig.coordinate(base)}{mark}"]
    for before, place in pairwise(places):
        if dense and height == 0 and place - before <= 10:
            parts.append(f"h{_pixels(place - before)}")
        else:
            parts.append(f"m{_pixels(place - before)} {back}{mark}")
    return "".join(parts)


@cache
def _pixels(tenths: int) -> str:
    return fig.coordinate(tenths / 10)
