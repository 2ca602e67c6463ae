"""Luck: the noise floor, the best of many tries, the bar that rises with them, blind searchers, and one sealed year."""

from __future__ import annotations

import math

import numpy as np
from markupsafe import Markup
from scipy.special import ndtri

from autoquant.protocol import PROTOCOL
from autoquant.report import figures as fig
from autoquant.report.explain import pen
from autoquant.report.figures import Scale, tag
from autoquant.report.frames import axis, fit, is_narrow
from autoquant.report.layers import correction
from autoquant.report.text import fixed
from autoquant.stats.maximum import expected_maximum
from autoquant.stats.placebo import placebo_test
from autoquant.stats.sharpe import probabilistic_sharpe, sharpe_variance

BLIND_SEED = 142
AGENTS = (1.5, 0.98)
"""Champion scores of the two made-up agents beside the blind searchers."""
SEALED = (2.3, 0.9, -0.6)
"""Sharpe ratios of the sealed year in the example."""
_SHOWN_AT = (1, 2, 5, 10, 20, 50, 100)


def bar(attempts: int) -> float:
    """How many standard errors the n-th attempt has to clear: Φ⁻¹(1 − α/n), Bonferroni's one-sided bar."""
    return float(-ndtri(PROTOCOL.ratchet.alpha / attempts))


def luck_rows() -> tuple[tuple[int, float, float, float], ...]:
    """(n, expected best of n without skill, the bar, z(n)) for the table behind the chart."""
    return tuple((n, expected_maximum(n), bar(n), correction(n)) for n in _SHOWN_AT if n <= PROTOCOL.budget)


def luck_drawing(width: float) -> Markup:
    """The best of n tries without skill, and the bar, over n."""
    narrow, last = is_narrow(width), PROTOCOL.budget
    x = Scale(1.0, last, 34.0, width - (110.0 if narrow else 300.0))
    y = Scale(0.0, 3.5, 224.0, 24.0)
    best = [(x(n), y(expected_maximum(n))) for n in range(1, last + 1)]
    asked = [(x(n), y(bar(n))) for n in range(1, last + 1)]
    luckiest = fixed(expected_maximum(last), 2)
    parts = [
        axis(x, y, 4, lambda value: f"{value:g}"),
        fig.text(2.0, 11.0, "standard errors above zero", "axis"),
        tag("g", fig.path(best, "line working", stroke_dasharray="5 3"), class_="a1"),
        tag("g", fig.path(asked, "line official"), class_="a0"),
        *(fig.text(x(n), 244.0, f"{n}", "axis", "middle") for n in (1, 10, 20, 30, 40, 50) if n <= last),
        fig.text(x.end, 264.0, "attempt", "axis", "end"),
    ]
    at_bar, at_best = asked[-1][1] + 4, best[-1][1] + 4
    if narrow:
        parts.append(fig.text(x.end + 12, at_bar, f"bar {fixed(bar(last), 2)}", "label strong"))
        parts.append(fig.text(x.end + 12, at_best, f"luck {luckiest}", "label strong"))
    else:
        more = (f"at attempt {last}, {fixed(correction(last), 2)} times the first",)
        parts.append(pen.titled(x.end + 12, at_bar, f"the bar: {fixed(bar(last), 2)}", more))
        parts.append(
            pen.titled(x.end + 12, at_best, f"the luckiest of {last}: {luckiest}", ("expected, without skill",))
        )
    label = f"The luckiest of n tries rises with n, to {luckiest} standard errors at {last}; the bar stands above it"
    return fig.canvas(width, 270.0, label, *parts, class_=fit(width))


def floor_drawing(width: float) -> Markup:
    """Differences between copies that do not differ, with the part that is called noise."""
    narrow = is_narrow(width)
    x = Scale(-3.4, 3.4, 2.0, width - 2.0)
    y = Scale(0.0, 0.45, 150.0, 26.0)
    edge = float(ndtri(0.5 + PROTOCOL.calibration.quantile / 2))
    grid = np.linspace(-3.4, 3.4, 137)
    density = np.exp(-0.5 * grid**2) / math.sqrt(2 * math.pi)
    curve = [(x(float(a)), y(float(b))) for a, b in zip(grid, density, strict=True)]
    inside = [(x(float(a)), y(float(b))) for a, b in zip(grid, density, strict=True) if abs(a) <= edge]
    shade = [(x(-edge), y.start), *inside, (x(edge), y.start)]
    share = f"{100 * PROTOCOL.calibration.quantile:g} of 100"
    middle = (share,) if narrow else (f"{share} differences", "between copies that do not differ")
    parts = [
        fig.path(shade, "band"),
        tag("g", fig.path(curve, "line sealed"), class_="reference"),
        pen.line([(2.0, 150.0), (width - 2, 150.0)], "zero"),
        pen.line([(x(0.0), 144.0), (x(0.0), 156.0)], "zero"),
        fig.text(x(0.0), 172.0, "no change" if narrow else "Δscore 0", "axis", "middle"),
        pen.words(x(0.0), 108.0, middle, "label strong", "middle"),
    ]
    for sign, said in ((-1, "− floor"), (1, "+ floor")):
        parts.append(pen.line([(x(sign * edge), 96.0), (x(sign * edge), 156.0)], "cut"))
        parts.append(
            fig.text(x(sign * edge), 172.0, said if narrow else said.replace("floor", "noise floor"), "axis", "middle")
        )
    if not narrow:
        parts.append(fig.text(width - 2, 120.0, "only a gain out here counts", "label", "end"))
    label = "A bell of score differences between jittered copies; the noise floor encloses nineteen of twenty"
    return fig.canvas(width, 178.0, label, *parts, class_=fit(width))


def blind_scores() -> tuple[float, ...]:
    """Champion scores of made-up searchers without skill, as many as a placebo batch has runs."""
    draw = np.random.Generator(np.random.PCG64(BLIND_SEED)).normal(0.9, 0.3, PROTOCOL.placebo_runs)
    return tuple(sorted(float(value) for value in draw))


def placebo_rows() -> tuple[tuple[str, float, int, float], ...]:
    """(agent, champion score, searchers at or above it, p) of the example."""
    blind = blind_scores()
    tests = [placebo_test(score, blind) for score in AGENTS]
    return tuple(
        (name, score, test.at_least, test.p_value)
        for name, score, test in zip(("first agent", "second agent"), AGENTS, tests, strict=True)
    )


def placebo_drawing(width: float) -> Markup:
    """Searchers without skill as dots, two agents beside them, each with its p."""
    narrow, level = is_narrow(width), 138.0
    x = Scale(0.0, 1.9, 8.0, width - 8.0)
    parts = [pen.line([(2.0, level), (width - 2, level)], "zero"), *_blind_dots(x, level, 5.0 if narrow else 9.0)]
    for index, (name, score, above, p) in enumerate(placebo_rows()):
        chance = f"p = {fixed(p, 3)}"
        said = chance if narrow else f"{above} of {PROTOCOL.placebo_runs} reach it: {chance}"
        height = 18.0 if index else 60.0
        left = bool(index) or narrow  # where there is room for the words
        stem = pen.line([(x(score), height - 10), (x(score), level)], "line thin")
        parts.append(tag("g", stem, fig.marker(index, x(score), level, "mark"), class_=f"a{index}"))
        parts.append(pen.titled(x(score) + (-8 if left else 8), height, name, (said,), "end" if left else "start"))
    parts += [fig.text(x(value), level + 20, f"{value:g}", "axis", "middle") for value in (0.0, 0.5, 1.0, 1.5)]
    parts.append(fig.text(width - 2, level + 38, "champion score", "axis", "end"))
    label = f"Champion scores of {PROTOCOL.placebo_runs} searchers without skill and of two agents"
    return fig.canvas(width, level + 44, label, *parts, class_=fit(width))


def _blind_dots(x: Scale, level: float, size: float) -> list[Markup]:
    """One dot per searcher; those that would cover each other stand on top of each other."""
    heights: dict[int, int] = {}
    dots = []
    for value in blind_scores():
        place = round(x(value) / (size + 1))
        heights[place] = heights.get(place, 0) + 1
        y = level - (size + 1) * (heights[place] - 0.4)
        dots.append(tag("circle", cx=place * (size + 1), cy=y, r=size / 2, class_="blind"))
    return dots


def sealed_rows() -> tuple[tuple[float, float, float, float, str], ...]:
    """(Sharpe, low, high, P(Sharpe > 0), verdict) of the example years; normal daily returns."""
    days = PROTOCOL.calendar.year_days
    rows = []
    for sharpe in SEALED:
        daily = sharpe / math.sqrt(days)
        half = float(ndtri(0.975)) * math.sqrt(sharpe_variance(daily) / (days - 1)) * math.sqrt(days)
        chance = probabilistic_sharpe(daily, days)
        confirmed = "confirmed" if chance > PROTOCOL.confirmed_probability else "insufficient evidence"
        rows.append((sharpe, sharpe - half, sharpe + half, chance, confirmed if sharpe > 0 else "rejected"))
    return tuple(rows)


def sealed_drawing(width: float) -> Markup:
    """Three sealed years with what a year can say about them."""
    narrow = is_narrow(width)
    left, right = (8.0, width - 8.0) if narrow else (170.0, width - 300.0)
    x = Scale(-3.0, 5.0, left, right)
    rows = sealed_rows()
    step = 58.0 if narrow else 40.0
    foot = 30.0 + step * len(rows)
    parts = [pen.line([(x(0.0), 10.0), (x(0.0), foot - 10)], "zero")]
    for index, (sharpe, low, high, chance, verdict) in enumerate(rows):
        y = 34.0 + step * index
        bars = [pen.line([(x(low), y), (x(high), y)], "line thin"), fig.marker(index, x(sharpe), y, "mark")]
        parts.append(tag("g", *bars, class_=f"a{index}"))
        said = f"{verdict}: P(Sharpe > 0) = {fixed(chance, 2)}"
        if narrow:
            parts.append(fig.text(2.0, y - 14, f"Sharpe {fixed(sharpe, 1)}, {verdict}", "label strong"))
        else:
            parts.append(fig.text(2.0, y + 4, f"Sharpe {fixed(sharpe, 1)}", "label strong"))
            parts.append(fig.text(x.end + 20, y + 4, said, "label"))
    parts += [fig.text(x(value), foot + 4, fixed(value, 0), "axis", "middle") for value in (-2, 0, 2, 4)]
    parts.append(fig.text(x.end, foot + 22, "Sharpe ratio of one year, with its 95 % interval", "axis", "end"))
    label = "Three sealed years with their 95 % intervals: each interval is nearly four Sharpe points wide"
    return fig.canvas(width, foot + 28, label, *parts, class_=fit(width))
