"""What an agent may see of the shown bars during an episode: a summary, rows, days. As text, small."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from autoquant.market.indices import DAY_MS, NAMES, PRICES, Bars, wall_clock

View = Literal["summary", "rows", "days"]
WHAT: tuple[str, ...] = get_args(View)
MAXIMUM_ROWS = 200


def explore(bars: Bars, what: str, first: int = 0, count: int = 20) -> str:
    """A table as text.

    Parameters
    ----------
    bars : the shown ones.
    what : `summary`; `rows` from `first` on; `days`, one line a session, from session `first` on.
    count : lines, at most 200.

    Raises
    ------
    ValueError : none of `WHAT`.
    """
    count = min(max(count, 0), MAXIMUM_ROWS)
    match what:
        case "summary":
            return _summary(bars)
        case "rows":
            return _rows(bars, first, count)
        case "days":
            return _days(bars, first, count)
    raise ValueError(f"there is no {what!r} of the bars")


def _summary(bars: Bars) -> str:
    moves = [np.diff(np.log(bars.close(name))) for name in NAMES]
    starts = _session_starts(bars)
    lines = [
        f"{len(bars):,} bars in {len(starts):,} sessions, "
        f"{wall_clock(bars.times[0])} to {wall_clock(bars.times[-1])} IST",
        "index        first close   last close          low         high   move of a bar (std, bp)",
    ]
    for name, move in zip(NAMES, moves, strict=True):
        close = bars.close(name)
        lines.append(
            f"{name:<12}{close[0]:>12,.2f}{close[-1]:>13,.2f}{close.min():>13,.2f}{close.max():>13,.2f}"
            f"{1e4 * move.std():>18.3f}"
        )
    lines.append(f"correlation of the bars' moves {np.corrcoef(moves[0], moves[1])[0, 1]:.3f}")
    return "\n".join(lines)


def _rows(bars: Bars, first: int, count: int) -> str:
    start = min(max(first, 0), len(bars))
    heads = [f"{price}_{name}" for name in NAMES for price in PRICES]
    lines = ["bar,time," + ",".join(heads)]
    for bar in range(start, min(start + count, len(bars))):
        lines.append(f"{bar},{wall_clock(bars.times[bar])}," + ",".join(f"{x:.2f}" for x in bars.prices[:, bar]))
    return "\n".join(lines)


def _days(bars: Bars, first: int, count: int) -> str:
    starts = _session_starts(bars)
    ends = np.append(starts[1:], len(bars))
    lines = ["day,first_bar,bars,close_nifty,close_banknifty"]
    for place in range(max(first, 0), min(max(first, 0) + count, len(starts))):
        last = int(ends[place]) - 1
        closes = ",".join(f"{bars.close(name)[last]:.2f}" for name in NAMES)
        day = wall_clock(bars.times[starts[place]])[:10]
        lines.append(f"{day},{starts[place]},{ends[place] - starts[place]},{closes}")
    return "\n".join(lines)


def _session_starts(bars: Bars) -> np.ndarray:
    """(S,) first bar of each session."""
    days = bars.times // DAY_MS
    return np.asarray(np.flatnonzero(np.diff(days, prepend=days[0] - 1)))
