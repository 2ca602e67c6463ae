"""Whether what was decided changes when later bars are taken away or replaced.

Rows before a cut stay as they are. A position at bar b is decided on bar b−1 at the latest, so every position up to the
cut's own bar has to stay too: a solution that trades on the close it decides on shows here.

Some cuts are known to everybody, and a solution could behave around them. Others are drawn where a look ahead would
have paid, from a key that its author does not have.
"""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from autoquant.market.indices import DAY_MS, NAMES, Bars, wall_clock
from autoquant.sandbox import WarmParent
from autoquant.tasks.replay import Trades, path
from autoquant.tasks.solution import Ran, run, told
from autoquant.tasks.spec import TaskSpec

REMOVED = (375, 750, 1500)
"""Bars taken off the end: one, two and four sessions."""
REPLACED_AT = (0.31, 0.62, 0.88, 0.97)
"""Shares of the data behind which the future is another one; each cut is moved to the middle of its session."""
JUMP = 0.03
JUMPS = (
    (0.1, (1.0, -1.0), 10), (0.1, (-1.0, 1.0), 60), (0.35, (1.0, 1.0), 30), (0.35, (-1.0, -1.0), 200),
)  # fmt: skip
"""Shares of a solution's trades whose own bar is where another future begins, which way each index jumps there, and the
length of the pieces in which its moves are put in another order. A trade that was decided on its bar's close is another
one after a jump, however slow its signal; a parameter picked over all the data is another one after another order."""
DRAWN = 2
"""Cuts drawn by what a change of position earned on its first bar, and as many by what it earned until the next one."""
_STAY = 750
"""Bars before a cut, at least: two sessions."""
_CALLS = 2
"""At a time: a call may need hundreds of megabytes."""
_ROUNDING = 1e-9
"""Share of a position that may differ: sums are rounded differently over another number of rows."""
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
    block: int = 0
    """Bars of a piece when later moves are put in another order; 0: they keep theirs."""

    @property
    def words(self) -> str:
        """What was done to the data."""
        return f"bars from {self.cut:,} on were {'replaced' if self.replaced else 'removed'}"


def probes(bars: Bars, whole: Trades, key: bytes) -> tuple[Probe, ...]:
    """The runs that fit into the data.

    Parameters
    ----------
    whole : a solution's trades on all the bars.
    key : what some of the cuts are drawn from; the same key, the same cuts.
    """
    count = len(bars)
    if count <= _STAY:
        return ()
    asked = [Probe(count - gone, replaced=False) for gone in REMOVED]
    asked += [Probe(_middle_of_session(bars.times, int(share * count)), replaced=True) for share in REPLACED_AT]
    traded = whole.bars[whole.bars >= _STAY]
    if len(traded):
        asked += [
            Probe(int(traded[int(share * len(traded))]), replaced=True, jump=(JUMP * first, JUMP * second), block=block)
            for share, (first, second), block in JUMPS
        ]
        asked += _drawn(bars, whole, key)
    return tuple(probe for probe in asked if _STAY <= probe.cut < count)


def _drawn(bars: Bars, whole: Trades, key: bytes) -> list[Probe]:
    """Cuts at changes of position that earned, the likelier the more. Behind the first each move is turned round, which
    nobody can tell from a market; behind the next the indices jump against the change as well.

    A look ahead pays where the position changes. To hide such changes among others that earn by luck costs more, at
    0.00009 a trade, than it brings; to hide them among many small ones does not help, since these weigh little.
    """
    seed = hashlib.sha256(key + bars.times.tobytes()).digest()
    rng = np.random.Generator(np.random.PCG64(int.from_bytes(seed)))
    late = whole.bars >= _STAY
    at, change = whole.bars[late], np.diff(whole.positions, axis=0, prepend=0.0)[late]
    closes = np.stack([bars.close(name) for name in NAMES], axis=1)
    found = []
    for last in (at, np.append(at[1:], len(bars)) - 1):
        earned = np.maximum((change * (closes[last] - closes[at - 1])).sum(axis=1), 0.0)
        if earned.any():
            chances = earned / earned.sum()
            # Beside a fortune a chance may round to 0.
            places = rng.choice(len(at), min(DRAWN, int(np.count_nonzero(chances))), replace=False, p=chances)
            for number, place in enumerate(places):
                against = -JUMP * np.sign(change[place]) * (number % 2)
                found.append(Probe(int(at[place]), replaced=True, jump=(float(against[0]), float(against[1]))))
    return found


def _middle_of_session(times: NDArray[np.int64], bar: int) -> int:
    """Sessions closed or not, a solution that takes a day's last row for known shows there."""
    day = times[bar] // DAY_MS * DAY_MS
    first, stop = np.searchsorted(times, [day, day + DAY_MS])
    return int(first + stop) // 2


def look_ahead(
    parent: WarmParent, source: bytes, spec: TaskSpec, bars: Bars, whole: Trades, key: bytes, *, reveal: bool = True
) -> str:
    """What gives a solution away, in words; empty when nothing does.

    Parameters
    ----------
    whole : its trades on all the bars.
    key : what some of the cuts are drawn from.

    Raises
    ------
    InfrastructureFault : the machine's doing.
    """
    asked = probes(bars, whole, key)

    def one(probe: Probe) -> str:
        again = run(parent, source, spec.shown(changed(bars, probe)), spec, reveal=reveal)
        return difference(probe, whole, again, len(bars), bars.times)

    with ThreadPoolExecutor(_CALLS) as threads:
        return next((words for words in threads.map(one, asked) if words), "")


def changed(bars: Bars, probe: Probe) -> Bars:
    """The bars with what lies behind the cut gone, or with its moves turned round, perhaps in another order."""
    if not probe.replaced:
        return Bars(bars.times[: probe.cut], bars.prices[:, : probe.cut])
    prices, cut = bars.prices.copy(), probe.cut
    order = _order(len(bars) - cut, probe.block) if probe.block else None
    for first, jump in zip((0, 4), probe.jump, strict=True):
        start = (1.0 + jump) * prices[first + 3, cut - 1]
        later = prices[first : first + 4, cut - 1 :]
        grown = later[:, 1:] / later[3, 0] if order is None else _reordered(later, order)
        np.divide(start, grown, out=grown)
        # Mirrored on the last close that stays, in logarithms: highs become lows and lows highs.
        for row, other in enumerate((0, 2, 1, 3)):
            prices[first + row, cut:] = grown[other]
    if _on_grid(bars.prices[:, :cut]):
        later = prices[:, cut:]
        later *= _TICKS
        np.round(later, out=later)
        later /= _TICKS
    return Bars(bars.times, prices)


def _order(count: int, block: int) -> NDArray[np.int64]:
    """Rows 0 … count−1, in pieces of `block` rows that have changed places; the same each time."""
    starts = np.random.Generator(np.random.PCG64(block)).permutation(np.arange(0, count, block))
    return np.concatenate([np.arange(start, min(start + block, count)) for start in starts])


def _reordered(later: NDArray[np.float64], order: NDArray[np.int64]) -> NDArray[np.float64]:
    """(4, T − 1) prices behind the first bar as multiples of its close, their moves in another order."""
    moves = (later[:, 1:] / later[3, :-1])[:, order]
    moves *= np.concatenate([[1.0], np.cumprod(moves[3])[:-1]])
    return np.asarray(moves)


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
