"""Cash and units of all lanes, and what may happen to them outside of an ordinary fill."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


class Book:
    """Cash (L,) and units (A, L) of all lanes. Every lane starts flat with equity 1."""

    def __init__(self, assets: int, lanes: int) -> None:
        self.cash = np.ones(lanes)
        self.units = np.zeros((assets, lanes))
        self.notional = np.zeros_like(self.units)
        self.moved = np.zeros((2, assets, lanes))
        """What the fills of a bar move, and what they cost."""
        self.sums = np.zeros((2, lanes))
        self.ruined = np.zeros(lanes, dtype=bool)

    def mark(self, price: Floats, equity: Floats) -> None:
        """Value units at `price`; `equity` receives cash plus their sum."""
        np.multiply(self.units, price, self.notional)
        np.add.reduce(self.notional, 0, None, out=equity)
        np.add(equity, self.cash, equity)

    def pay_funding(self, per_unit: Floats, equity: Floats, received: Floats) -> None:
        """Long pays a positive rate, short receives it; `received` keeps the account."""
        work, due = self.moved[0], self.sums[0]
        np.multiply(self.units, per_unit, work)
        np.add.reduce(work, 0, None, out=due)
        np.subtract(self.cash, due, self.cash)
        np.subtract(equity, due, equity)
        np.subtract(received, due, received)

    def close_out(self, where: Bools, rate: Floats, impact: Floats | None, equity: Floats) -> Floats:
        """Close the positions in `where` at the marks just taken, and pay for it; gives |Δ|."""
        closed = np.where(where, self.notional, 0.0)
        traded = np.abs(closed)
        self.cash += closed.sum(axis=0)
        self.units = np.where(where, 0.0, self.units)
        self.notional[where] = 0.0
        cost = rate * traded if impact is None else (np.sqrt(traded) * impact + rate) * traded
        paid = cost.sum(axis=0)
        self.cash -= paid
        equity -= paid
        return traded

    def bury(self, equity: Floats, written_off: Floats) -> bool:
        """Zero the lanes whose equity is gone; whether there were any."""
        if np.minimum.reduce(equity) > 0:
            return False
        gone: Bools = equity <= 0
        written_off[gone] -= equity[gone]
        equity[gone] = 0.0
        self.ruined |= gone
        self.cash[gone] = 0.0
        self.units = np.where(gone, 0.0, self.units)
        self.notional[:, gone] = 0.0
        return True
