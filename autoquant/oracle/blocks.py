"""Tape and orders laid out a few bars at a time, in memory that is used again: what the time loop reads and writes.

Pages touched for the first time cost more than the sums, and what lies in the cache need not be fetched. All arrays
are (b, A, L) or (b, L) with L = F·S lanes in a row: numpy is fastest where nothing is broadcast.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from autoquant.oracle.orders import Orders, spread
from autoquant.oracle.tape import Tape

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Views = tuple[Floats, ...]

_CELLS = 48_000
"""Of one array: 0.4 MB, so that the arrays of a bar's work stay in the cache."""
LEAST, MOST = 16, 512
"""Bars of a block."""


class Block:
    """Some bars in a row, from `first` on; `count` of them.

    Attributes
    ----------
    open, close, funding_open, funding_inside, target, limit, floor, impact : (b, A, L) as in `Tape` and `Orders`.
        Those of funding and impact hold nothing where none is due: ask `pays_open`, `pays_inside`, `has_impact`.
    rate : (A, L) fee and half-spread times the cost multiple.
    opening, worth, ending : (b, L) equity before the fills of a bar, after them, and at its close.
    received : (b, L) funding.
    written_off : (b, L) loss beyond what there was.
    traded, root, held : (b, A, L) |Δ| of fills, its square root where there is impact, and units held through the bar.
    left : units carried into the next bar, by row, where they are others than those held.
    """

    def __init__(self, tape: Tape, orders: Orders) -> None:
        self._tape, self._orders = tape, orders
        bars, assets, folds, samples = orders.shape
        self._folded = (assets, folds, samples)
        lanes = folds * samples
        size = min(bars, max(LEAST, min(MOST, _CELLS // (assets * lanes))))
        self.size = size
        shape = (size, assets, lanes)
        self.has_impact = bool(tape.impact.any())
        self.open, self.close = np.empty(shape), np.empty(shape)
        self.target, self.limit, self.floor = np.empty(shape), np.empty(shape), np.empty(shape)
        self.traded, self.held = np.zeros(shape), np.empty(shape)
        self.impact = np.empty(shape if self.has_impact else (1, 1, 1))
        self.root = np.zeros(self.impact.shape)
        self._pays_open, self._pays_inside = _bars_with(tape.funding_open), _bars_with(tape.funding_inside)
        self.funding_open = np.empty(shape if self._pays_open.any() else (1, 1, 1))
        self.funding_inside = np.empty(shape if self._pays_inside.any() else (1, 1, 1))
        self.opening, self.worth, self.ending = (np.empty((size, lanes)) for _ in range(3))
        self.received, self.written_off = np.zeros((size, lanes)), np.zeros((size, lanes))
        costs = tape.taker + tape.half_spread
        self.rate = np.repeat((orders.multiplier * costs[:, None])[:, None], folds, axis=1).reshape(assets, lanes)
        self._multiplier = orders.multiplier
        self.left: dict[int, Floats] = {}
        self.first, self.count = 0, 0
        self.pays_open: list[bool] = []
        self.pays_inside: list[bool] = []
        self.has_orders: list[bool] = []
        self.is_bound: list[bool] = []
        """Some limit of the bar is finite."""
        self.rows = self._views(narrow=lanes == 1)
        """One row's arrays: open, close, target, limit, floor, impact, traded, root, held, opening, worth, ending.
        Slicing them anew in every bar costs as much as two sums."""

    def turn_to(self, first: int) -> None:
        """Lay out the bars from `first` on."""
        tape, count = self._tape, min(self.size, self._orders.shape[0] - first)
        bars = slice(first, first + count)
        self.first, self.count = first, count
        self._spread(self.open, tape.mark_open[bars])
        self._spread(self.close, tape.mark_close[bars])
        self.pays_open, self.pays_inside = self._pays_open[bars].tolist(), self._pays_inside[bars].tolist()
        if any(self.pays_open):
            self._spread(self.funding_open, tape.funding_open[bars])
        if any(self.pays_inside):
            self._spread(self.funding_inside, tape.funding_inside[bars])
        if self.has_impact:
            self._lay_impact(tape.impact[bars])
        target, limit = self.target[:count], self.limit[:count]
        self._orders.lay(tape, first, target.reshape(count, *self._folded), limit.reshape(count, *self._folded))
        np.negative(limit, out=self.floor[:count])
        limits = limit.reshape(count, -1)
        self.has_orders = (np.maximum.reduce(limits, axis=1) > 0).tolist()
        self.is_bound = (np.minimum.reduce(limits, axis=1) < np.inf).tolist()
        self.left.clear()
        self.forget(0, count)

    def forget(self, start: int, stop: int) -> None:
        """Clear what only some bars write."""
        self.traded[start:stop] = 0.0
        if self.has_impact:
            self.root[start:stop] = 0.0
        self.received[start:stop] = 0.0
        self.written_off[start:stop] = 0.0

    def wide_rows(self) -> list[Views]:
        """As `rows`, of a single lane too (A, 1)."""
        return self._views(narrow=False)

    def _views(self, *, narrow: bool) -> list[Views]:
        """(A, L) and (L,) of each row; narrow (A,) for the single lane there is."""
        shape = self.open.shape
        impact, root = (self.impact, self.root) if self.has_impact else 2 * (np.broadcast_to(0.0, shape),)
        wide = [self.open, self.close, self.target, self.limit, self.floor, impact, self.traded, root, self.held]
        if narrow:
            wide = [values[..., 0] for values in wide]
        return list(zip(*wide, self.opening, self.worth, self.ending, strict=True))

    def _spread(self, out: Floats, values: Floats) -> None:
        folded = out[: len(values)].reshape(len(values), *self._folded)
        spread(folded, values, range(self._folded[-1]))

    def _lay_impact(self, impact: Floats) -> None:
        folded = self.impact[: len(impact)].reshape(len(impact), *self._folded)
        if (self._multiplier == self._multiplier[0]).all():
            spread(folded, impact * self._multiplier[0], range(self._folded[-1]))
        else:
            for lane, multiplier in enumerate(self._multiplier):
                np.multiply(impact, multiplier, out=folded[..., lane])


def _bars_with(values: Floats) -> Bools:
    found: Bools = np.logical_or.reduce((values != 0).reshape(len(values), -1), axis=1)
    return found
