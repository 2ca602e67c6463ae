"""A made-up climb under both ratchets, decided by the protocol's own rules, and the archive it leaves behind."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from autoquant.protocol import PROTOCOL
from autoquant.report import figures as fig
from autoquant.report.explain import pen
from autoquant.report.figures import Point, Scale, tag
from autoquant.report.frames import axis, fit, is_narrow
from autoquant.report.layers import correction
from autoquant.report.text import fixed

FLOOR = 0.31
"""Noise floor of the picture; a race measures its own, and on real prices it comes out near this."""
SEED_SCORE = 0.3
_LUCK = 238
_BROWSE, _SPREAD = -0.28, 0.26
"""What an edit does to the score before luck, and luck's share: made up."""


_TREE = {
    "seed": (0.0, 1), "#3": (0.24, 1), "#8": (0.4, 0), "#19": (0.6, 0), "#31": (1.0, 0), "#11": (0.48, 1),
    "#24": (1.0, 1), "#22": (0.72, 2), "#27": (1.0, 2), "#6": (0.32, 3), "#40": (1.0, 3),
}  # fmt: skip
"""Place (share of the width, row) of each attempt of the made-up family; the tips stand at the right."""
_TWIGS = (
    ("seed", "#3"), ("#3", "#8"), ("#8", "#19"), ("#19", "#31"), ("#3", "#11"), ("#11", "#24"), ("#11", "#22"),
    ("#22", "#27"), ("seed", "#6"), ("#6", "#40"),
)  # fmt: skip


@dataclass(frozen=True)
class Try:
    """One attempt of the picture: its score and what became of it."""

    number: int
    score: float
    status: str


@dataclass(frozen=True)
class Climb:
    """All attempts, and the two lines as (attempt, score) from each step on."""

    tries: tuple[Try, ...]
    champion: tuple[tuple[int, float], ...]
    working: tuple[tuple[int, float], ...]

    def numbers(self, status: str) -> tuple[int, ...]:
        """Attempts of one status."""
        return tuple(one.number for one in self.tries if one.status == status)


def climb() -> Climb:
    """Scores drawn around the working parent; the score conditions of both ratchets decide (the folds are left out)."""
    draw = np.random.Generator(np.random.PCG64(_LUCK))
    tries: list[Try] = []
    champion, working = [(0, SEED_SCORE)], [(0, SEED_SCORE)]
    for number in range(1, PROTOCOL.budget + 1):
        score = working[-1][1] + float(draw.normal(_BROWSE, _SPREAD))
        status = "discard"
        if score - champion[-1][1] > FLOOR * correction(number):
            status = "keep"
            champion.append((number, score))
            working.append((number, score))
        elif score - working[-1][1] > PROTOCOL.ratchet.search_delta:
            status = "search"
            working.append((number, score))
        tries.append(Try(number, score, status))
    return Climb(tuple(tries), tuple(champion), tuple(working))


def climb_drawing(width: float) -> Markup:
    """The climb: attempts as dots, both lines as steps, the noise band above the champion."""
    narrow = is_narrow(width)
    made = climb()
    last = PROTOCOL.budget
    top = max(one.score for one in made.tries)
    x = Scale(0.0, last, 40.0, width - (84.0 if narrow else 300.0))
    y = Scale(-0.5, max(top, made.champion[-1][1] + FLOOR * correction(last)) + 0.08, 284.0, 24.0)
    inside = [(x(one.number), y(one.score)) for one in made.tries if one.score >= y.low]
    below = [(x(one.number), y.start) for one in made.tries if one.score < y.low]
    steps = [
        fig.dots(inside, "dots"),
        fig.rules(below, 6.0, "stroke faint"),
        fig.steps([(x(n), y(s)) for n, s in made.working], x.end, "line working", stroke_dasharray="4 3"),
        fig.steps([(x(n), y(s)) for n, s in made.champion], x.end, "line official"),
        *(fig.marker(0, x(n), y(s), "mark") for n, s in made.champion[1:]),
    ]
    parts = [
        fig.path(_band(made, x, y), "band"),
        axis(x, y, 5, lambda value: fixed(value, 1)),
        fig.text(2.0, 11.0, "score", "axis"),
        tag("g", *steps, class_="a0"),
        *(
            fig.text(x(n) + 9, y(s) + 16, f"#{n}" if narrow else f"keep #{n}", "label strong")
            for n, s in made.champion[1:]
        ),
        *(fig.text(x(n), 304.0, f"{n}", "axis", "middle") for n in range(0, last + 1, 10)),
        fig.text(x.end, 324.0, "attempt", "axis", "end"),
        fig.text(x(0) + 4, y(SEED_SCORE) + 16, "seed", "axis"),
    ]
    champion, working = made.champion[-1][1], made.working[-1][1]
    said = (
        (champion + FLOOR * correction(last), "next keep", "what the next keep has to reach"),
        (working, "working", "working parent: the next edit starts here"),
        (champion, "champion", "champion"),
    )
    places = fig.spread([y(value) for value, _, _ in said], 17.0, 24.0, 284.0)
    for at, (_, short, long) in zip(places, said, strict=True):
        class_ = "label strong" if short == "champion" else "label"
        parts.append(fig.text(x.end + 10, at + 4, short if narrow else long, class_))
    label = f"A made-up climb of {last} attempts: champion, working parent, and the noise band above the champion"
    return fig.canvas(width, 330.0, label, *parts, class_=fit(width))


def _band(made: Climb, x: Scale, y: Scale) -> list[Point]:
    """From the champion up to what a keep takes; it widens with every attempt, and starts anew on each champion."""
    ends = [*(n for n, _ in made.champion[1:]), PROTOCOL.budget]
    upper: list[Point] = []
    lower: list[Point] = []
    for (start, score), end in zip(made.champion, ends, strict=True):
        for number in range(max(1, start), end + 1):
            upper.append((x(number), y(score + FLOOR * correction(number))))
            lower.append((x(number), y(score)))
    return [*lower, *reversed(upper)]


def archive_drawing(width: float) -> Markup:
    """A small family tree: the seed, what descended from it, and the four tips that are kept."""
    narrow = is_narrow(width)
    right = width - (134.0 if narrow else 500.0)
    places = {name: (8.0 + share * (right - 8.0), 26.0 + 44.0 * row) for name, (share, row) in _TREE.items()}
    parts: list[Markup] = []
    for parent, child in _TWIGS:
        (ax, ay), (bx, by) = places[parent], places[child]
        parts.append(pen.line([(ax, ay), (ax + min(18.0, (bx - ax) / 2), by), (bx, by)], "hairline"))
    for name, (x, y) in places.items():
        held = _TREE[name][0] == 1.0
        parts.append(fig.marker(0, x, y, "mark") if held else tag("circle", cx=x, cy=y, r=3.0, class_="knot"))
        if not (held and narrow):
            parts.append(fig.text(x, y - 9, name, "axis", "start" if name == "seed" else "middle"))
    for tip, slot, meaning in _slots():
        x, y = places[tip]
        parts.append(fig.text(x + 16, y + 4, slot, "label strong"))
        if not narrow:
            parts.append(fig.text(x + 108, y + 4, meaning, "label"))
    label = "A family tree of strategies with four tips: best, stable, cost_robust and distinct"
    return fig.canvas(width, 178.0, label, tag("g", *parts, class_="a0"), class_=fit(width))


def _slots() -> tuple[tuple[str, str, str], ...]:
    """(attempt of the picture, slot, what it keeps)."""
    correlation = PROTOCOL.ratchet.distinct_correlation
    return (
        ("#31", "best", "highest score"),
        ("#24", "stable", "folds least apart, no worse than the seed"),
        ("#27", "cost_robust", f"highest score at {PROTOCOL.stress_cost_multiplier:g} × costs"),
        ("#40", "distinct", f"least like best (correlation ≤ {correlation:g}), no worse than the seed"),
    )
