"""What a fill is: later than its decision, and not free."""

from __future__ import annotations

import itertools
import math

from markupsafe import Markup

from autoquant.protocol import PROTOCOL
from autoquant.report import figures as fig
from autoquant.report.explain import pen
from autoquant.report.figures import Scale, tag
from autoquant.report.frames import axis, fit, is_narrow
from autoquant.report.text import fixed

EXAMPLE_VOLATILITY = 0.04
"""Daily, of the example contract."""
EXAMPLE_VOLUME = 50_000_000.0
"""Median daily volume of the example contract, USDT."""
EXAMPLE_ORDER = 100_000.0
MOST = PROTOCOL.costs.participation_cap or 0.05
"""Largest order, as a share of a day's volume."""
_BARS = ((150.0, 96.0, 84.0, 160.0), (104.0, 76.0, 64.0, 116.0), (70.0, 112.0, 58.0, 122.0))
"""Heights of open, close, high and low of three made-up bars; the third is not known yet."""


def impact_bp(share: float) -> float:
    """Impact of an order that is `share` of a day's volume, in basis points, at the example's volatility."""
    costs = PROTOCOL.costs
    return 1e4 * costs.impact_prefactor * costs.impact_y * EXAMPLE_VOLATILITY * math.sqrt(share)


def cost_bp(share: float, tier: int) -> float:
    """All a fill costs, in basis points of its size: fee, half-spread, impact."""
    costs = PROTOCOL.costs
    half_spread = costs.half_spread_tier1_bp if tier == 1 else costs.half_spread_tier2_bp
    return costs.taker_bp + half_spread + impact_bp(share)


def cost_rows() -> tuple[tuple[float, float, float, float], ...]:
    """(share of a day's volume, impact, all in tier 1, all in tier 2), for the table behind the chart."""
    shares = (0.0005, 0.002, 0.005, 0.01, 0.02, MOST)
    return tuple((share, impact_bp(share), cost_bp(share, 1), cost_bp(share, 2)) for share in shares)


def fill_drawing(width: float) -> Markup:
    """Three bars: the decision at one close, the fill at the next open."""
    narrow = is_narrow(width)
    left, gap = (40.0, 84.0) if narrow else (240.0, 190.0)
    at = (left, left + gap, left + 2 * gap + 10)
    cut = left + 1.5 * gap + 2
    parts = [
        pen.line([(2.0, 204.0), (width - 2, 204.0)], "hair"),
        *(_bar(place, x) for place, x in enumerate(at)),
        *(fig.text(x, 222.0, name, "axis", "middle") for x, name in zip(at, ("t − 1", "t", "t + 1"), strict=True)),
        pen.line([(cut, 26.0), (cut, 212.0)], "cut"),
        pen.arrow([(at[1] + 16, _BARS[1][1] - 4), (at[2] - 16, _BARS[2][0] - 2)]),
        fig.text(cut - 8, 20.0, "known when deciding" if narrow else "all that a decision may use", "label", "end"),
        fig.text(cut + 8, 20.0, "not yet", "label"),
    ]
    if narrow:
        said = ("Decided at the close of t, filled at the open of t + 1:", "no order meets the price it was made from.")
        parts.append(pen.words(2.0, 250.0, said))
    else:
        said = ("at the open of t + 1, whatever it is by then:", "the gap in between is the strategy’s own risk")
        parts.append(pen.titled(at[1] - 24, 44.0, "decided", ("at the close of t",), "end"))
        parts.append(pen.titled(at[2] + 30, 56.0, "filled", said))
        parts.append(fig.text(width - 2, 222.0, f"{PROTOCOL.calendar.bar_hours}-hour bars, UTC", "axis", "end"))
    label = "A decision at the close of bar t is filled at the open of bar t + 1"
    return fig.canvas(width, 276.0 if narrow else 230.0, label, *parts, class_=fit(width))


def _bar(place: int, x: float) -> Markup:
    opened, closed, high, low = _BARS[place]
    strokes = (
        pen.line([(x, high), (x, low)], "line sealed"),
        pen.line([(x - 12, opened), (x, opened)], "line sealed"),
        pen.line([(x, closed), (x + 12, closed)], "line sealed"),
    )
    return tag("g", *strokes, class_="a0" if place < 2 else "reference")


def cost_drawing(width: float) -> Markup:
    """Cost of a fill over its size, stacked: fee, half-spread, impact."""
    narrow = is_narrow(width)
    x = Scale(0.0, MOST, 40.0, width - (96.0 if narrow else 300.0))
    y = Scale(0.0, 10.0 * math.ceil(cost_bp(MOST, 2) / 10.0), 224.0, 24.0)
    ticks = [share for share in fig.ticks(0.0, MOST, 2 if narrow else 5) if share <= MOST]
    parts = [
        _layers(x, y),
        axis(x, y, 4, lambda value: f"{value:g}"),
        fig.text(2.0, 11.0, "basis points of the order", "axis"),
        *(fig.text(x(share), 244.0, f"{100 * share:g} %", "axis", "middle") for share in ticks),
        fig.text(x.start, 264.0, "size of the order, of a day’s volume", "axis"),
        _layer_names(x.end + 10, y, narrow),
    ]
    most = f"{fixed(cost_bp(MOST, 2), 0)} basis points at {100 * MOST:g} % of a day's volume"
    return fig.canvas(width, 270.0, f"Cost of a fill over its size; {most}", *parts, class_=fit(width))


def _layers(x: Scale, y: Scale) -> Markup:
    shares = [MOST * (k / 60) ** 2 for k in range(61)]
    costs = PROTOCOL.costs
    flat = costs.taker_bp + costs.half_spread_tier2_bp
    edges = ([0.0] * 61, [costs.taker_bp] * 61, [flat] * 61, [cost_bp(share, 2) for share in shares])
    lines = [[(x(share), y(value)) for share, value in zip(shares, edge, strict=True)] for edge in edges]
    areas = [
        fig.path([*low, *reversed(high)], f"layer l{shade}")
        for shade, (low, high) in enumerate(itertools.pairwise(lines))
    ]
    return tag("g", *areas, fig.path(lines[-1], "line official"), class_="a0")


def _layer_names(left: float, y: Scale, narrow: bool) -> Markup:
    costs = PROTOCOL.costs
    fee, spread = costs.taker_bp, costs.half_spread_tier2_bp
    said = (
        (fee / 2, "fee", f"taker fee {fee:g} bp"),
        (
            fee + spread / 2,
            "half-spread",
            f"half-spread {spread:g} bp ({costs.half_spread_tier1_bp:g} in the two largest)",
        ),
        ((fee + spread + cost_bp(MOST, 2)) / 2, "impact", "impact: the price moves away, as √size"),
    )
    places = fig.spread([y(value) for value, _, _ in said], pen.LINE, 24.0, 224.0)
    labels = [
        fig.text(left, place + 4, short if narrow else long, "label")
        for place, (_, short, long) in zip(places, said, strict=True)
    ]
    return Markup("").join(labels)
