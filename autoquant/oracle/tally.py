"""What a run of the time loop adds up to, bar by bar: the accounts before they are told apart by path."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from autoquant.oracle.blocks import Block
from autoquant.oracle.orders import Orders
from autoquant.oracle.tape import Tape
from autoquant.protocol import PROTOCOL

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

_ROUNDING = 1e-12
"""A change smaller than this fraction of equity is the dust of dividing by a price, not a fill."""
_SMALLEST = PROTOCOL.gates.trade_minimum_fraction


@dataclass(frozen=True, eq=False)
class Closing:
    """Positions closed by force at one bar's close: |Δ| (A, L), and equity (L,) before their costs."""

    bar: int
    traded: Floats
    equity: Floats


@dataclass(frozen=True, eq=False)
class Trail:
    """All that happened, (n, F, S) unless told otherwise. Money as fractions of starting capital.

    Attributes
    ----------
    equity : at bar closes, after settlement and close-out.
    fee, spread, impact : paid, forced closes included.
    funding : received.
    price_pnl : gain of prices, from units and marks alone: equity is not looked at.
    turnover : Σ|Δnotional| / equity just before.
    gross : Σ|units · close| / equity at bar closes.
    fills, trades : (F, S) fills at opens: all, and those above the contest's smallest trade.
    ruined : (F, S).
    """

    equity: Floats
    fee: Floats
    spread: Floats
    impact: Floats
    funding: Floats
    price_pnl: Floats
    turnover: Floats
    gross: Floats
    fills: Ints
    trades: Ints
    ruined: Bools


class Tally:
    """Adds up block after block, in order.

    Parameters
    ----------
    compiled : `kernel_loop.tally_block`, compiled, to do it to the same digits; None for numpy.
    """

    def __init__(self, tape: Tape, orders: Orders, compiled: Callable[..., None] | None = None) -> None:
        self._compiled = compiled
        bars, _, folds, samples = orders.shape
        self._folded = (folds, samples)
        self._half_spread, self._taker = tape.half_spread[:, None], tape.taker
        self._tape, self._multiplier = tape, orders.multiplier
        shape = (bars, folds * samples)
        self.equity = np.empty(shape)
        self._opening, self._volume, self._spread, self._impact = (np.empty(shape) for _ in range(4))
        self._turnover, self._price, self._gross, self._funding = (np.empty(shape) for _ in range(4))
        self._fills, self._trades = np.zeros(shape[1:], dtype=np.int64), np.zeros(shape[1:], dtype=np.int64)
        self._carried: Floats | None = None
        self._scratch = np.empty(0)

    def add(self, block: Block, closings: list[Closing]) -> None:
        """Take in a block that has been run, and the forced closes in it."""
        count = block.count
        bars = slice(block.first, block.first + count)
        self.equity[bars] = block.ending[:count]
        self._opening[bars] = block.opening[:count]
        self._funding[bars] = block.received[:count]
        if self._compiled is not None and not block.left:
            self._add_compiled(self._compiled, block, bars)
        else:
            if len(self._scratch) < count:
                self._scratch = np.empty_like(block.held)
            self._add_prices(block, bars)
            self._add_charges(block, bars)
        self._turnover[bars] = _ratio(self._volume[bars], self._opening[bars])
        self._add_closings(block, bars, closings)

    def trail(self, ruined: Bools) -> Trail:
        """The whole, once every block is in."""

        def folded(values: Floats) -> Floats:
            return values.reshape(*values.shape[:-1], *self._folded)

        multiplier = self._multiplier
        return Trail(
            equity=folded(self.equity),
            fee=self._taker * multiplier * folded(self._volume),
            spread=multiplier * folded(self._spread),
            impact=multiplier * folded(self._impact),
            funding=folded(self._funding),
            price_pnl=folded(self._price),
            turnover=folded(self._turnover),
            gross=_ratio(folded(self._gross), folded(self.equity)),
            fills=self._fills.reshape(self._folded),
            trades=self._trades.reshape(self._folded),
            ruined=ruined.reshape(self._folded),
        )

    def _add_prices(self, block: Block, bars: slice) -> None:
        """Gain of prices and gross exposure; what is held over a close meets the next open."""
        count, scratch = block.count, self._scratch[: block.count]
        held, open_, close = block.held[:count], block.open[:count], block.close[:count]
        np.subtract(close, open_, out=scratch)
        scratch *= held
        np.add.reduce(scratch, axis=1, out=self._price[bars])
        self._price[bars] += block.written_off[:count]
        left = held
        if block.left:
            left = held.copy()
            for row, units in block.left.items():
                left[row] = units
        if self._carried is not None:
            gap = open_[:1] - self._carried[1:]
            self._price[bars][:1] += (self._carried[:1] * gap).sum(axis=1)
        if count > 1:
            gaps = np.subtract(open_[1:], close[:-1], out=scratch[1:])
            gaps *= left[:-1]
            self._price[bars][1:] += gaps.sum(axis=1)
        self._carried = np.stack([left[-1], close[-1]])
        np.multiply(left, close, out=scratch)
        np.absolute(scratch, out=scratch)
        np.add.reduce(scratch, axis=1, out=self._gross[bars])

    def _add_compiled(self, compiled: Callable[..., None], block: Block, bars: slice) -> None:
        """What `_add_prices` and `_add_charges` do."""
        last, impact = block.count - 1, self._tape.impact[bars] if block.has_impact else block.impact
        carried = np.zeros((2, *block.held.shape[1:])) if self._carried is None else self._carried
        self._price[bars] = block.written_off[: block.count]
        compiled(
            block.count, self._folded[1], _ROUNDING, _SMALLEST, self._tape.half_spread, impact, block.has_impact,
            carried, block.open, block.close, block.traded, block.root, block.held, block.opening,
            self._price[bars], self._gross[bars], self._volume[bars], self._spread[bars], self._impact[bars],
            self._fills, self._trades,
        )  # fmt: skip
        self._carried = np.stack([block.held[last], block.close[last]])

    def _add_charges(self, block: Block, bars: slice) -> None:
        """Volume, spread and impact; how many fills there were."""
        count, scratch = block.count, self._scratch[: block.count]
        traded = block.traded[:count]
        volume, spread, impact = self._volume[bars], self._spread[bars], self._impact[bars]
        np.add.reduce(traded, axis=1, out=volume)
        np.multiply(traded, self._half_spread, out=scratch)
        np.add.reduce(scratch, axis=1, out=spread)
        if block.has_impact:
            np.multiply(block.root[:count], traded, out=scratch)
            self._weigh(scratch, bars)
            np.add.reduce(scratch, axis=1, out=impact)
        else:
            impact[:] = 0.0
        for counted, fraction in ((self._fills, _ROUNDING), (self._trades, _SMALLEST)):
            above = traded > (fraction * self._opening[bars])[:, None]
            counted += np.add.reduce(above.reshape(-1, above.shape[-1]), axis=0, dtype=np.int64)

    def _add_closings(self, block: Block, bars: slice, closings: list[Closing]) -> None:
        volume, spread, impact = self._volume[bars], self._spread[bars], self._impact[bars]
        for closing in closings:
            row, size = closing.bar - block.first, closing.traded
            closed = size.sum(axis=0)
            volume[row] += closed
            spread[row] += (size * self._half_spread).sum(axis=0)
            if block.has_impact:
                cost = (size * np.sqrt(size))[None]
                self._weigh(cost, slice(closing.bar, closing.bar + 1))
                impact[row] += cost[0].sum(axis=0)
            self._turnover[bars][row] += _ratio(closed, closing.equity)

    def _weigh(self, costs: Floats, bars: slice) -> None:
        """Multiply (b, A, L) by κ of each bar and contract."""
        kappa = self._tape.impact[bars]
        folded = costs.reshape(*kappa.shape, -1)
        for lane in range(folded.shape[-1]):
            folded[..., lane] *= kappa


def _ratio(part: Floats, equity: Floats) -> Floats:
    """Share of equity; 0 where equity is gone."""
    ratio = np.zeros_like(part)
    np.divide(part, equity, out=ratio, where=equity > 0)
    return ratio
