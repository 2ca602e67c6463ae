"""The blind oracle: what a strategy sees of a market whose names, dates and price levels are hidden.

All of it is exact in floating point, so that hiding costs a blind strategy nothing: asset order is shuffled and names
become A00, A01, …; each fold's dates move by another whole number of weeks (weekday and hour stay); each asset's prices
are multiplied by a power of two and its base volume divided by it. Returns, quote volume, funding and tier are as they
were.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from autoquant.market import Panel
from autoquant.oracle.draws import Draws
from autoquant.oracle.folds import DAY_MS, Window
from autoquant.sandbox import CallFrames

SHOWN_FIELDS = ("open", "high", "low", "close", "volume", "quote_volume", "funding")
_PRICES, _VOLUME = 4, 4
_WEEKS = 208
_POWERS = 10


@dataclass(frozen=True)
class Mask:
    """One disguise; all runs of an attempt wear the same.

    `order[j]` is the real column shown as asset j; `exponents[a]` belongs to real column a.
    """

    order: tuple[int, ...]
    names: tuple[str, ...]
    weeks: Mapping[int, int]
    """Fold number to weeks its dates are moved by."""
    exponents: tuple[int, ...]

    @staticmethod
    def draw(secret: bytes, attempt: int, assets: Sequence[str], windows: Sequence[Window], which: int = 0) -> Mask:
        """The mask of an attempt; `which` numbers its masks (0 scored, 1 the second opinion)."""
        draws = Draws(secret, "mask", attempt, which)
        count = len(assets)
        order = tuple(draws.shuffled(count))
        moves = [week for week in range(-_WEEKS, _WEEKS + 1) if week != 0]
        weeks: dict[int, int] = {}
        for window in windows:
            weeks[window.number] = moves.pop(draws.below(len(moves)))
        exponents = tuple(draws.between(-_POWERS, _POWERS) for _ in range(count))
        return Mask(order, tuple(f"A{j:02d}" for j in range(count)), weeks, exponents)

    def shift_ms(self, window: Window) -> int:
        """How far this fold's dates are moved, milliseconds."""
        return self.weeks[window.number] * 7 * DAY_MS

    def apply(self, panel: Panel, window: Window) -> CallFrames:
        """The rows of `panel` (usually a slice of one) as a strategy is shown them in `window`."""
        order = np.array(self.order)
        scale = np.ldexp(1.0, np.array(self.exponents))
        cube = np.empty((len(SHOWN_FIELDS), *panel.close.shape))
        for k, name in enumerate(SHOWN_FIELDS):
            values = getattr(panel, name)
            if k < _PRICES:
                values = values * scale
            elif k == _VOLUME:
                values = values / scale
            np.take(values, order, axis=1, out=cube[k])
        cube.setflags(write=False)
        times = panel.times + self.shift_ms(window)
        return CallFrames(times, self.names, SHOWN_FIELDS, cube, ("tier",), panel.tier[order][None, :])

    def unmask(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Answers (rows, A) in the panel's own column order."""
        real = np.empty_like(values)
        real[:, list(self.order)] = values
        return real
