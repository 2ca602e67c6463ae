"""Whether what was decided changes when later bars are taken away or replaced.

Rows before a cut stay as they are. A position at bar b is decided on bar b−1 at the latest, so every position up to the
cut's own bar has to stay too: a solution that trades on the close it decides on shows here.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from autoquant.market.indices import Bars, wall_clock
from autoquant.sandbox import WarmParent
from autoquant.tasks.replay import Trades, path
from autoquant.tasks.solution import Ran, run, told
from autoquant.tasks.spec import TaskSpec

REMOVED = (375, 750, 1500)
"""Bars taken off the end: one, two and four sessions."""
REPLACED_AT = (0.31, 0.62, 0.88, 0.97)
"""Shares of the data behind which the future is another one; each cut is moved to the middle of its session."""
JUMP = 0.03
JUMPS = ((0.25, (1.0, -1.0)), (0.25, (-1.0, 1.0)), (0.75, (1.0, 1.0)), (0.75, (-1.0, -1.0)))
"""Shares of a solution's trades whose own bar is where another future begins, and which way each index jumps there: a
trade that was decided on its bar's close is another one then, however slow its signal."""
_STAY = 750
"""Bars before a cut, at least: two sessions."""
_CALLS = 2
"""At a time: a call may need hundreds of megabytes."""
_ROUNDING = 1e-9
"""Share of a position that may differ: sums are rounded differently over another number of rows."""
_DAY_MS = 86_400_000
_TICKS = 20.0
"""Of one point."""


@dataclass(frozen=True)
class Probe:
    """One changed run."""

    cut: int
    """First bar that is gone, or another."""
    replaced: bool
    jump: tuple[float, float] = (0.0, 0.0)
    """Share by which each index's replaced future starts higher."""

    @property
    def words(self) -> str:
        """What was done to the data."""
        return f"bars from {self.cut:,} on were {'replaced' if self.replaced else 'removed'}"


def probes(bars: Bars, whole: Trades) -> tuple[Probe, ...]:
    """The runs that fit into the data.

    Parameters
    ----------
    whole : a solution's trades on all the bars.
    """
    count = len(bars)
    asked = [Probe(count - gone, replaced=False) for gone in REMOVED]
    asked += [Probe(_middle_of_session(bars.times, int(share * count)), replaced=True) for share in REPLACED_AT]
    traded = whole.bars[whole.bars >= _STAY]
    if len(traded):
        asked += [
            Probe(int(traded[int(share * len(traded))]), replaced=True, jump=(JUMP * first, JUMP * second))
            for share, (first, second) in JUMPS
        ]
    return tuple(probe for probe in asked if _STAY <= probe.cut < count)


def _middle_of_session(times: NDArray[np.int64], bar: int) -> int:
    """Sessions closed or not, a solution that takes a day's last row for known shows there."""
    day = times[bar] // _DAY_MS * _DAY_MS
    first, stop = np.searchsorted(times, [day, day + _DAY_MS])
    return int(first + stop) // 2


def look_ahead(
    parent: WarmParent, source: bytes, spec: TaskSpec, bars: Bars, whole: Trades, *, reveal: bool = True
) -> str:
    """What gives a solution away, in words; empty when nothing does.

    Parameters
    ----------
    whole : its trades on all the bars.

    Raises
    ------
    InfrastructureFault : the machine's doing.
    """
    asked = probes(bars, whole)

    def one(probe: Probe) -> str:
        again = run(parent, source, spec.shown(changed(bars, probe)), spec, reveal=reveal)
        return difference(probe, whole, again, len(bars), bars.times)

    with ThreadPoolExecutor(_CALLS) as threads:
        return next((words for words in threads.map(one, asked) if words), "")


def changed(bars: Bars, probe: Probe) -> Bars:
    """The bars with what lies behind the cut gone, or with its moves turned round."""
    if not probe.replaced:
        return Bars(bars.times[: probe.cut], bars.prices[:, : probe.cut])
    prices = bars.prices.copy()
    for first, jump in zip((0, 4), probe.jump, strict=True):
        anchor = prices[first + 3, probe.cut - 1]
        # Mirrored on the last close that stays, in logarithms: highs become lows and lows highs.
        opened, high, low, close = (1.0 + jump) * anchor**2 / prices[first : first + 4, probe.cut :]
        prices[first : first + 4, probe.cut :] = opened, low, high, close
    if _on_grid(bars.prices[:, : probe.cut]):
        prices[:, probe.cut :] = np.round(prices[:, probe.cut :] * _TICKS) / _TICKS
    return Bars(bars.times, prices)


def _on_grid(prices: NDArray[np.float64]) -> bool:
    """Whether prices lie on the exchange's grid: then a future off it would be known for what it is."""
    ticks = prices[:, -_STAY:] * _TICKS
    return bool(np.abs(ticks - np.round(ticks)).max() < 1e-6)


def difference(probe: Probe, whole: Trades, again: Ran, length: int, times: NDArray[np.int64]) -> str:
    """How a changed run differs in what it may not; empty when it does not."""
    if again.trades is None:
        reason = told(again.fault) if again.fault else again.problem
        return f"when {probe.words} it gave no trades ({reason})"
    last = probe.cut if probe.replaced else probe.cut - 1
    shown = length if probe.replaced else probe.cut
    for leg in range(whole.positions.shape[1]):
        before, after = path(whole, leg, length), path(again.trades, leg, shown)
        before, after = before[: last + 1], after[: last + 1]
        moved = np.flatnonzero(np.abs(after - before) > _ROUNDING * np.maximum(1.0, np.abs(before)))
        # To be flat on the last bar there is, is knowing where the data end and nothing of prices.
        if len(moved) and not (not probe.replaced and moved[0] == last and after[last] == 0.0):
            bar = int(moved[0])
            return (
                f"when {probe.words} the position at bar {bar:,} ({wall_clock(times[bar])}) became "
                f"{after[bar]:g} instead of {before[bar]:g}"
            )
    return ""


def same(first: Trades, second: Trades) -> bool:
    """Whether two runs on the same data came to the same rows."""
    return bool(np.array_equal(first.bars, second.bars) and np.array_equal(first.positions, second.positions))
