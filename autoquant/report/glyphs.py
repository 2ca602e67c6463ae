"""Small drawings inside text and tables: status keys, fold strips, fold bars."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from autoquant.report import figures as fig
from autoquant.report.figures import Scale, tag
from autoquant.report.model import Race
from autoquant.report.text import fixed

STROKES: dict[str, tuple[float, str]] = {
    "keep": (19.0, "stroke keep"),
    "search": (12.0, "stroke search"),
    "archive": (7.0, "stroke archive"),
    "gate": (-6.0, "stroke gate"),
    "invalid": (-6.0, "stroke invalid"),
    "crash": (-11.0, "stroke fault"),
    "timeout": (-11.0, "stroke fault"),
    "violation": (-15.0, "stroke violation"),
}
"""Height and class of each status in the roll; `discard` is a dot."""


def status_key(status: str) -> Markup:
    """The roll's glyph of one status, for the words beneath it."""
    body = fig.dots([(6.0, 14.0)], "stroke discard")
    if status in STROKES:
        height, class_ = STROKES[status]
        body = fig.rules([(6.0, 20.0 if height > 0 else 4.0)], height, class_)
    return tag("svg", body, viewBox="0 0 12 22", width="12", height="22", class_="key", aria_hidden="true")


def fold_strip(folds: Sequence[float], score: float | None, domain: tuple[float, float], index: int | None) -> Markup:
    """The folds' Sharpe ratios as ticks on a line, zero marked, the score as the competitor's mark."""
    width, height, middle = 176.0, 24.0, 12.0
    x = Scale(*domain, 6.0, width - 6.0)
    zero = x(0.0)
    words = ", ".join(fixed(value, 2, sign=True) for value in folds)
    parts = [
        tag("title", f"Sharpe ratio per fold: {words}"),
        tag("path", d=f"M{fig.coordinate(6.0)} {middle:g}H{fig.coordinate(width - 6)}", class_="hair"),
        tag("path", d=f"M{fig.coordinate(zero)} 3V21", class_="zero"),
        fig.rules([(x(value), middle + 5) for value in folds], 10.0, "stroke fold"),
    ]
    if score is not None:
        mark = tag("circle", cx=x(score), cy=middle, r=4.0, class_="mark hollow")
        parts.append(mark if index is None else fig.marker(index, x(score), middle, "mark"))
    class_ = "strip-plot" + ("" if index is None else f" a{index}")
    return tag(
        "svg",
        *parts,
        viewBox=f"0 0 {width:g} {height:g}",
        width=width,
        height=height,
        class_=class_,
        role="img",
        aria_label=f"folds {words}",
    )


def fold_domain(race: Race) -> tuple[float, float]:
    """One domain for every fold strip of the page."""
    values = [0.0, *race.seed_folds]
    for entrant in race.entrants:
        if entrant.champion is not None:
            values += [*entrant.champion.fold_sharpes, entrant.champion.score or 0.0]
    return fig.padded(min(values), max(values), 0.02, 1.0)


def fold_bars(deltas: Sequence[float]) -> Markup:
    """Change of each fold against the parent as bars; full height, 20 units, is half a Sharpe point or more.

    A unit wide and without a size, so that the style sheet can stretch one drawing to a line of text or to a table;
    few bytes, since a page has thousands. Its numbers stand beside it: it is silent.
    """
    if not deltas:
        return Markup("")
    lengths = [(place, round(20.0 * min(1.0, 2.0 * abs(value)))) for place, value in enumerate(deltas, start=1)]
    rising = [(place, -max(1, length)) for (place, length), value in zip(lengths, deltas, strict=True) if value > 0]
    falling = [(place, max(1, length)) for (place, length), value in zip(lengths, deltas, strict=True) if not value > 0]
    return tag("svg", _bars(rising, None), _bars(falling, "down"), aria_hidden="true")


def time_bar(agent: float, infrastructure: float, longest: float) -> Markup:
    """The agent's time and then the infrastructure's, on one scale for all competitors; `longest` fills the width."""
    width = 110.0
    share = width / longest if longest > 0 else 0.0
    ends = (0.0, agent * share, (agent + infrastructure) * share)
    parts = [
        tag("path", d=f"M{fig.coordinate(start)} 3H{fig.coordinate(end)}", class_=f"time {kind}")
        for kind, start, end in zip(("agent", "other"), ends[:-1], ends[1:], strict=True)
        if end > start
    ]
    return tag("svg", *parts, viewBox=f"0 0 {width:g} 6", width=width, height="6", class_="times", aria_hidden="true")


def _bars(bars: Sequence[tuple[int, int]], class_: str | None) -> Markup:
    data = "".join(f"M{place} 0v{length}" for place, length in bars)
    return tag("path", d=data, class_=class_) if data else Markup("")
