"""Small drawings inside text and tables: status keys, fold bars, time bars."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from autoquant.report import figures as fig
from autoquant.report.figures import tag

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
