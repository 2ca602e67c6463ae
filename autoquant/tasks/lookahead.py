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
from autoquant.tasks.solution import Ran, run
from autoquant.tasks.spec import TaskSpec

REMOVED = (375, 750, 1500)
"""Bars taken off the end: one, two and four sessions."""
REPLACED_AT = (0.31, 0.62, 0.88, 0.97)
"""Shares of the data behind which the future is another one; each cut is moved to the middle of its session."""
_CALLS = 2
"""At a time: a call may need hundreds of megabytes."""


@dataclass(frozen=True)
class Probe:
    """One changed run."""

    cut: int
    """First bar that is gone, or another."""
    replaced: bool

    @property
    def words(self) -> str:
        """What was done to the data."""
        return f"bars from {self.cut:,} on were {'replaced' if self.replaced else 'removed'}"


def probes(bars: int) -> tuple[Probe, ...]:
    """The runs that fit into the data: at least two sessions stay."""
    removed = [Probe(bars - gone, replaced=False) for gone in REMOVED]
    replaced = [Probe(int(share * bars) // 375 * 375 + 200, replaced=True) for share in REPLACED_AT]
    return tuple(probe for probe in (*removed, *replaced) if 750 <= probe.cut < bars)


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
    asked = probes(len(bars))

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
    for first in range(0, len(prices), 4):
        anchor = prices[first + 3, probe.cut - 1]
        # Mirrored on the last close that stays, in logarithms: highs become lows and lows highs.
        opened, high, low, close = anchor**2 / prices[first : first + 4, probe.cut :]
        prices[first : first + 4, probe.cut :] = opened, low, high, close
    return Bars(bars.times, prices)


def difference(probe: Probe, whole: Trades, again: Ran, length: int, times: NDArray[np.int64]) -> str:
    """How a changed run differs in what it may not; empty when it does not."""
    if again.trades is None:
        reason = again.fault.message if again.fault else again.problem
        return f"when {probe.words} it gave no trades ({reason})"
    last = probe.cut if probe.replaced else probe.cut - 1
    shown = length if probe.replaced else probe.cut
    for leg in range(whole.positions.shape[1]):
        before, after = path(whole, leg, length), path(again.trades, leg, shown)
        moved = np.flatnonzero(before[: last + 1] != after[: last + 1])
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
