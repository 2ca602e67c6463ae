"""One bar after the other in numpy: for many lanes at once, for a single one, and the way that looks for ruin.

All three do the same operations in the same order, and come to the same digits. Output arrays are given by position:
a keyword costs a fifth of a call on so few numbers.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from autoquant.oracle.blocks import Block
from autoquant.oracle.book import Book

Floats = NDArray[np.float64]


def order(
    target: Floats, equity: Floats | float, notional: Floats, bounds: tuple[Floats, Floats] | None,
    change: Floats, size: Floats,
) -> None:  # fmt: skip
    """Into `change` the notional to trade towards target weights, within (upper, lower); into `size` its amount."""
    np.multiply(target, equity, change)
    np.subtract(change, notional, change)
    if bounds is not None:
        np.minimum(change, bounds[0], out=change)
        np.maximum(change, bounds[1], out=change)
    np.absolute(change, size)


def price_order(size: Floats, rate: Floats, impact: Floats | None, root: Floats, cost: Floats) -> None:
    """Into `cost` what trading `size` costs: a rate, and with `impact` a part that grows with the root of the size."""
    if impact is None:
        np.multiply(rate, size, cost)
        return
    np.sqrt(size, root)
    np.multiply(root, impact, cost)
    np.add(cost, rate, cost)
    np.multiply(cost, size, cost)


def run_rows(book: Book, block: Block, start: int, stop: int, *, careful: bool) -> None:
    """Rows [start, stop) of many lanes.

    Parameters
    ----------
    careful : look for ruin after every step; else rows after a ruin are nonsense.
    """
    subtract, add, add_up = np.subtract, np.add, np.add.reduce
    cash, notional = book.cash, book.notional
    change, cost = moved = book.moved
    spent, paid = sums = book.sums
    rate, has_impact = block.rate, block.has_impact
    views = block.rows if cash.size > 1 else block.wide_rows()
    for row in range(start, stop):
        price, close, target, limit, floor, impact, size, root, held, now, worth, ending = views[row]
        book.mark(price, now)
        if block.pays_open[row]:
            book.pay_funding(block.funding_open[row], now, block.received[row])
        if careful:
            book.bury(now, block.written_off[row])
        if block.has_orders[row]:
            order(target, now, notional, (limit, floor) if block.is_bound[row] else None, change, size)
            price_order(size, rate, impact if has_impact else None, root, cost)
            add_up(moved, 1, None, out=sums)
            subtract(cash, spent, cash)
            subtract(cash, paid, cash)
            subtract(now, paid, worth)
            np.divide(change, price, change)
            add(book.units, change, held)
        else:
            np.copyto(worth, now)
            np.copyto(held, book.units)
        book.units = held
        if block.pays_inside[row]:
            book.pay_funding(block.funding_inside[row], worth, block.received[row])
        if careful and book.bury(worth, block.written_off[row]):
            np.copyto(held, book.units)
            book.units = held
        book.mark(close, ending)
        if careful and book.bury(ending, block.written_off[row]):
            block.left[row] = book.units


def run_lone_rows(book: Book, block: Block, start: int, stop: int) -> bool:
    """Rows [start, stop) of a single lane, whose cash and equity are plain numbers; False where it is ruined.

    A bar's close and the next open value the same units: one reduction for both.
    """
    multiply, add_up = np.multiply, np.add.reduce
    change, cost = moved = book.moved[..., 0]
    at_close, notional = valued = np.empty_like(moved)
    units, cash = book.units[:, 0], float(book.cash[0])
    rate, has_impact, rows = block.rate[:, 0], block.has_impact, block.rows
    opening, worth, ending = [], [], []
    opened = float(add_up(multiply(units, rows[start][0], notional)))
    for row in range(start, stop):
        price, close, target, limit, floor, impact, size, root, held, *_ = rows[row]
        now, received = opened + cash, 0.0
        if block.pays_open[row]:
            due = float(add_up(multiply(units, block.funding_open[row, :, 0], change)))
            cash, now, received = cash - due, now - due, received - due
        opening.append(now)
        after = now
        if block.has_orders[row]:
            order(target, now, notional, (limit, floor) if block.is_bound[row] else None, change, size)
            price_order(size, rate, impact if has_impact else None, root, cost)
            spent, paid = add_up(moved, 1).tolist()
            cash = cash - spent - paid
            after = now - paid
            np.divide(change, price, change)
            np.add(units, change, held)
        else:
            np.copyto(held, units)
        units = held
        if block.pays_inside[row]:
            due = float(add_up(multiply(units, block.funding_inside[row, :, 0], change)))
            cash, after, received = cash - due, after - due, received - due
        worth.append(after)
        block.received[row, 0] = received
        multiply(units, close, at_close)
        multiply(units, rows[row + 1][0] if row + 1 < stop else close, notional)
        closed, opened = add_up(valued, 1).tolist()
        last = closed + cash
        if not (now > 0 and after > 0 and last > 0):
            return False
        ending.append(last)
    block.opening[start:stop, 0], block.worth[start:stop, 0], block.ending[start:stop, 0] = opening, worth, ending
    book.units, book.cash[0] = block.held[stop - 1], cash
    return True
