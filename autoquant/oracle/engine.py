"""Fills and accounting: one exact loop over time, everything else (folds, cost levels, samples) an array axis.

A bar, in the order of the rule: mark to the open; funding due at the open instant; fill toward the weights decided at
the close before, at the open, costs charged; funding due inside the bar; mark to the close. A contract's last bar is
settled at its close, and after a fold's last close everything is closed, with costs. Equity at or below zero is ruin:
it stays zero. Conventions that another engine has to share to get the same digits:

* all fills of a bar are sized by one equity, the one after funding at the open and before any cost of that bar;
* an order that meets a dead bar (NaN, no volume, liquidity unknown or zero) is dropped, the units stay;
* a forced close in a missing bar happens at the last mark; forced closes are whole, and free of impact where σ_day or
  V_day is unknown or V_day is zero;
* on a fold's last bar settlements come first, then the close-out, each measured against the equity before it;
* the part of a loss beyond what there was is written off against price PnL, so that the identity holds in ruin too.

Reductions run over the asset axis with plain adds in a fixed order (no BLAS): the same digits on any machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from autoquant.oracle.tape import Tape

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

_BLOCK = 256
"""Bars laid out at a time."""
_BROADCAST_FROM = 8
"""Lanes per fold from which a stride-0 broadcast beats market arrays repeated per lane."""


@dataclass(frozen=True)
class Scenario:
    """One way to trade the same decisions: a multiple of all costs, and bars of extra delay before a fill."""

    cost_multiplier: float = 1.0
    delay_bars: int = 0


@dataclass(frozen=True, eq=False)
class Orders:
    """What is wanted at each bar's open. n bars, A assets, F folds, S lanes (scenarios or samples).

    Attributes
    ----------
    target : (n, A, F, S) signed fraction of equity; 0 where no order stands.
    limit : (n, A, F, S) or (n, A, F, 1), largest |Δ| as a fraction of capital; 0 where no order stands.
    multiplier : (S,) cost multiple of each lane.
    """

    target: Floats
    limit: Floats
    multiplier: Floats


@dataclass(frozen=True, eq=False)
class Closing:
    """Positions closed by force at one bar's close: |Δ| (A, F, S), and equity (F, S) before their costs."""

    bar: int
    traded: Floats
    equity: Floats


@dataclass(frozen=True, eq=False)
class Trail:
    """All that happened, for the accounts. Fractions of starting capital.

    Attributes
    ----------
    equity : (n, F, S) at bar closes, after settlement and close-out.
    equity_at_fill : (n, F, S) what the fills of a bar were sized by.
    traded : (n, A, F, S) |Δ| filled at the open.
    held : (n, A, F, S) units held through the bar after its fills.
    kept : (n, A, F, S) units carried into the next bar.
    closings : forced closes.
    funding : (n, F, S) received in a bar.
    written_off : (n, F, S) loss beyond what there was.
    ruined : (F, S).
    """

    equity: Floats
    equity_at_fill: Floats
    traded: Floats
    held: Floats
    kept: Floats
    closings: tuple[Closing, ...]
    funding: Floats
    written_off: Floats
    ruined: Bools


def place_orders(tape: Tape, decisions: Sequence[Floats], scenarios: Sequence[Scenario]) -> Orders:
    """Turn decision rows into orders per scenario.

    Parameters
    ----------
    tape : the folds.
    decisions : per fold (n, A): row t is decided at the close before bar t. NaN holds the units.
    scenarios : a delay of k bars fills bar t with row t − k; rows before the first decision row are no order.
    """
    rows = np.stack(decisions, axis=-1)
    target = np.full((*rows.shape, len(scenarios)), np.nan)
    for lane, scenario in enumerate(scenarios):
        delay = scenario.delay_bars
        target[delay:, ..., lane] = rows[: len(rows) - delay] if delay else rows
    multiplier = np.array([scenario.cost_multiplier for scenario in scenarios], dtype=np.float64)
    return stated_orders(tape, target, multiplier)


def stated_orders(tape: Tape, target: Floats, multiplier: Floats, *, shared_pattern: bool = False) -> Orders:
    """Orders from (n, A, F, S) targets in which NaN holds the units.

    `shared_pattern` says that all lanes have NaN in the same places; then one limit serves all of them.
    """
    pattern = target[..., :1] if shared_pattern else target
    stands = np.isfinite(pattern) & tape.tradable[..., None]
    limit = np.where(stands, tape.cap[..., None], 0.0)
    return Orders(np.where(stands, target, 0.0), limit, multiplier)


class _Book:
    """Cash and units of all lanes. Every lane starts flat with equity 1."""

    def __init__(self, assets: int, folds: int, lanes: int) -> None:
        self.cash = np.ones((folds, lanes))
        self.units = np.zeros((assets, folds, lanes))
        self.notional = np.zeros_like(self.units)
        self.work = np.zeros_like(self.units)
        self.change = np.zeros_like(self.units)
        self.sum = np.zeros_like(self.cash)
        self.ruined = np.zeros(self.cash.shape, dtype=bool)
        self.is_alone = self.cash.size == 1

    def mark(self, price: Floats, equity: Floats) -> None:
        """Value units at `price`; `equity` receives cash plus their sum."""
        np.multiply(self.units, price, out=self.notional)
        np.add.reduce(self.notional, axis=0, out=equity)
        np.add(equity, self.cash, out=equity)

    def pay_funding(self, per_unit: Floats, equity: Floats, received: Floats) -> None:
        """Long pays a positive rate, short receives it; `received` keeps the account."""
        np.multiply(self.units, per_unit, out=self.work)
        np.add.reduce(self.work, axis=0, out=self.sum)
        np.subtract(self.cash, self.sum, out=self.cash)
        np.subtract(equity, self.sum, out=equity)
        np.subtract(received, self.sum, out=received)

    def fill(self, target: Floats, limit: Floats, floor: Floats, equity: Floats, traded: Floats) -> None:
        """Move notional toward `target` times equity, between `floor` and `limit`; |Δ| goes to `traded`."""
        change = self.change
        np.multiply(target, equity, out=change)
        np.subtract(change, self.notional, out=change)
        np.minimum(change, limit, out=change)
        np.maximum(change, floor, out=change)
        np.absolute(change, out=traded)
        np.add.reduce(change, axis=0, out=self.sum)
        np.subtract(self.cash, self.sum, out=self.cash)

    def take(self, price: Floats, units: Floats) -> None:
        """Turn the last fill's Δ into units at `price`; `units` becomes the book's own."""
        np.divide(self.change, price, out=self.change)
        np.add(self.units, self.change, out=units)
        self.units = units

    def charge(self, traded: Floats, rate: Floats, impact: Floats | None, equity: Floats) -> None:
        """Pay rate·|Δ| + impact·|Δ|^1.5 out of cash and equity; no impact anywhere is None."""
        work = self.work
        if impact is None:
            np.multiply(rate, traded, out=work)
        else:
            np.sqrt(traded, out=work)
            np.multiply(work, impact, out=work)
            np.add(work, rate, out=work)
            np.multiply(work, traded, out=work)
        np.add.reduce(work, axis=0, out=self.sum)
        np.subtract(self.cash, self.sum, out=self.cash)
        np.subtract(equity, self.sum, out=equity)

    def close_out(self, where: Bools, rate: Floats, impact: Floats | None, equity: Floats) -> Floats:
        """Close the positions in `where` at the marks just taken; gives |Δ|."""
        closed = np.where(where, self.notional, 0.0)
        traded = np.abs(closed)
        self.cash += closed.sum(axis=0)
        self.units = np.where(where, 0.0, self.units)
        self.notional = np.where(where, 0.0, self.notional)
        self.charge(traded, rate, impact, equity)
        return traded

    def bury(self, equity: Floats, written_off: Floats) -> None:
        """Zero the lanes whose equity is gone."""
        least = equity.item() if self.is_alone else np.minimum.reduce(equity, axis=None)
        if least > 0:
            return
        gone: Bools = equity <= 0
        written_off[gone] -= equity[gone]
        equity[gone] = 0.0
        self.ruined |= gone
        self.cash[gone] = 0.0
        self.units = np.where(gone, 0.0, self.units)
        self.notional = np.where(gone, 0.0, self.notional)


class _Market:
    """The tape and the orders as one view per bar, so that the loop slices nothing.

    Made for `_BLOCK` bars at a time in the same memory: pages touched for the first time cost more than the sums.
    """

    open: list[Floats]
    close: list[Floats]
    funding_open: list[Floats]
    funding_inside: list[Floats]
    impact: list[Floats] | list[None]
    target: list[Floats]
    limit: list[Floats]
    floor: list[Floats]

    def __init__(self, tape: Tape, orders: Orders) -> None:
        lanes = orders.target.shape[-1]
        multiplier = orders.multiplier
        self._tape, self._orders = tape, orders
        block = min(_BLOCK, len(orders.target))
        per_lane = 1 < lanes < _BROADCAST_FROM
        self._repeated = [np.empty((block, *tape.impact.shape[1:], lanes)) for _ in range(4)] if per_lane else []
        self._shared = multiplier[:1] if (multiplier == multiplier[0]).all() else multiplier
        has_impact = bool(tape.impact.any())
        self._impact = np.empty((block, *tape.impact.shape[1:], len(self._shared))) if has_impact else None
        self._floor = np.empty((block, *orders.limit.shape[1:]))
        self.rate = multiplier * (tape.taker + tape.half_spread)[:, None, None]
        self.pays_at_open = _any_by_bar(tape.funding_open != 0)
        self.pays_inside = _any_by_bar(tape.funding_inside != 0)
        self.has_orders = _any_by_bar(orders.limit > 0)
        self.settling = _any_by_bar(tape.settles)
        self._settles = tape.settles[..., None]
        self._everything = np.ones_like(self._settles[0])
        self._final = len(self._settles) - 1

    def turn_to(self, first: int) -> None:
        """Lay out the bars from `first` on: the lists begin with it."""
        tape, orders, bars = self._tape, self._orders, slice(first, first + _BLOCK)
        marks = [
            values[bars][..., None]
            for values in (tape.mark_open, tape.mark_close, tape.funding_open, tape.funding_inside)
        ]
        count = len(marks[0])
        for buffer, values in zip(self._repeated, marks, strict=False):
            np.copyto(buffer[:count], values)
        self.open, self.close, self.funding_open, self.funding_inside = map(list, self._repeated or marks)
        if self._impact is None:
            self.impact = [None] * count
        else:
            np.multiply(tape.impact[bars][..., None], self._shared, out=self._impact[:count])
            self.impact = list(self._impact)
        np.negative(orders.limit[bars], out=self._floor[:count])
        self.floor, self.target, self.limit = list(self._floor), list(orders.target[bars]), list(orders.limit[bars])

    def forced_closes(self, bar: int) -> list[Bools]:
        """What is closed whole at the close of `bar`, in order: settlements, then a fold's end."""
        closes = [self._settles[bar]] if self.settling[bar] else []
        return [*closes, self._everything] if bar == self._final else closes


def _any_by_bar(flags: Bools) -> list[bool]:
    met: Bools = np.logical_or.reduce(flags.reshape(len(flags), -1), axis=1)
    return [bool(flag) for flag in met]


def trade(tape: Tape, orders: Orders) -> Trail:
    """Run the loop over all folds and lanes, keeping everything the accounts need."""
    return _run(tape, orders, len(orders.target))


def equity_paths(tape: Tape, orders: Orders) -> Floats:
    """Equity alone, (n, F, S) at bar closes: the same loop without its memory."""
    return _run(tape, orders, 1).equity


def _run(tape: Tape, orders: Orders, remembered: int) -> Trail:
    """The time loop. Per-asset arrays remember the last `remembered` bars."""
    bars, assets, folds, lanes = orders.target.shape
    market, book = _Market(tape, orders), _Book(assets, folds, lanes)
    equity = np.empty((bars, folds, lanes))
    opening = np.empty_like(equity)
    funding = np.zeros_like(equity)
    written_off = np.zeros_like(equity)
    traded = np.zeros((remembered, assets, folds, lanes))
    held = np.empty_like(traded)
    kept = np.empty_like(traded)
    closings: list[Closing] = []
    for bar in range(bars):
        place, at = bar % remembered, bar % _BLOCK
        if at == 0:
            market.turn_to(bar)
        now, loss, units = equity[bar], written_off[bar], held[place]

        book.mark(market.open[at], now)
        if market.pays_at_open[bar]:
            book.pay_funding(market.funding_open[at], now, funding[bar])
        book.bury(now, loss)
        np.copyto(opening[bar], now)

        if market.has_orders[bar]:
            filled = traded[place]
            book.fill(market.target[at], market.limit[at], market.floor[at], now, filled)
            book.charge(filled, market.rate, market.impact[at], now)
            book.take(market.open[at], units)

        if market.pays_inside[bar]:
            book.pay_funding(market.funding_inside[at], now, funding[bar])
        book.bury(now, loss)
        if book.units is not units:
            np.copyto(units, book.units)

        book.mark(market.close[at], now)
        book.bury(now, loss)
        for where in market.forced_closes(bar):
            before = now.copy()
            forced = book.close_out(where, market.rate, market.impact[at], now)
            closings.append(Closing(bar, forced, before))
            book.bury(now, loss)
        np.copyto(kept[place], book.units)
    return Trail(equity, opening, traded, held, kept, tuple(closings), funding, written_off, book.ruined)
