"""The bars of a block, one number at a time: text for a compiler, in the order of `rows` to the last operation.

Nothing here may be faster than that order allows. Sums over contracts run as numpy runs them: for many lanes one
contract after the other; for a single lane, whose numbers lie in a row, in eight partial sums (`pairwise` in numpy's
loops). No fused multiply-add, no `fastmath`.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

MOST_ASSETS = 128
"""Of a single lane: beyond it numpy splits the sum in another way."""


def add_up(values: Floats, sums: Floats) -> None:
    """Sum (A, L) over contracts into (L,), as `np.add.reduce` does."""
    assets, lanes = values.shape
    if lanes > 1 or assets < 8:
        for lane in range(lanes):
            sums[lane] = 0.0
        for asset in range(assets):
            for lane in range(lanes):
                sums[lane] += values[asset, lane]
        return
    r0, r1, r2, r3 = values[0, 0], values[1, 0], values[2, 0], values[3, 0]
    r4, r5, r6, r7 = values[4, 0], values[5, 0], values[6, 0], values[7, 0]
    whole = assets - assets % 8
    for asset in range(8, whole, 8):
        r0 += values[asset, 0]
        r1 += values[asset + 1, 0]
        r2 += values[asset + 2, 0]
        r3 += values[asset + 3, 0]
        r4 += values[asset + 4, 0]
        r5 += values[asset + 5, 0]
        r6 += values[asset + 6, 0]
        r7 += values[asset + 7, 0]
    total = ((r0 + r1) + (r2 + r3)) + ((r4 + r5) + (r6 + r7))
    for asset in range(whole, assets):
        total += values[asset, 0]
    sums[0] = total


def value(units: Floats, price: Floats, products: Floats, sums: Floats) -> None:
    """Units (A, L) at a price each, summed over contracts."""
    assets, lanes = units.shape
    for asset in range(assets):
        for lane in range(lanes):
            products[asset, lane] = units[asset, lane] * price[asset, lane]
    add_up(products, sums)


def pay(due: Floats, cash: Floats, equity: Floats, received: Floats) -> None:
    """Take funding that is due, (L,), out of cash and equity."""
    for lane in range(len(due)):
        cash[lane] -= due[lane]
        equity[lane] -= due[lane]
        received[lane] -= due[lane]


def run_block(
    start: int, stop: int, cash: Floats, units: Floats, rate: Floats, has_impact: bool,
    pays_open: Bools, pays_inside: Bools, has_orders: Bools,
    open_: Floats, close: Floats, target: Floats, limit: Floats, floor: Floats, impact: Floats,
    funding_open: Floats, funding_inside: Floats,
    traded: Floats, root: Floats, held: Floats, opening: Floats, worth: Floats, ending: Floats, received: Floats,
) -> None:  # fmt: skip
    """Rows [start, stop); arrays as in `Block`, `cash` (L,) is moved on, `units` (A, L) is read only.

    Nothing looks for ruin: behind one, what is written is nonsense.
    """
    assets, lanes = units.shape
    notional, change, cost = np.empty((assets, lanes)), np.empty((assets, lanes)), np.empty((assets, lanes))
    due, spent, own = np.empty(lanes), np.empty(lanes), units
    for row in range(start, stop):
        value(own, open_[row], notional, due)
        for lane in range(lanes):
            opening[row, lane] = due[lane] + cash[lane]
        if pays_open[row]:
            value(own, funding_open[row], change, due)
            pay(due, cash, opening[row], received[row])
        for lane in range(lanes):
            worth[row, lane] = opening[row, lane]
        if has_orders[row]:
            for asset in range(assets):
                for lane in range(lanes):
                    move = target[row, asset, lane] * opening[row, lane] - notional[asset, lane]
                    move = limit[row, asset, lane] if move > limit[row, asset, lane] else move
                    move = floor[row, asset, lane] if move < floor[row, asset, lane] else move
                    size = abs(move)
                    change[asset, lane] = move
                    traded[row, asset, lane] = size
                    held[row, asset, lane] = own[asset, lane] + move / open_[row, asset, lane]
                    if has_impact:
                        half = math.sqrt(size)
                        root[row, asset, lane] = half
                        cost[asset, lane] = (half * impact[row, asset, lane] + rate[asset, lane]) * size
                    else:
                        cost[asset, lane] = rate[asset, lane] * size
            add_up(change, spent)
            add_up(cost, due)
            for lane in range(lanes):
                cash[lane] = cash[lane] - spent[lane] - due[lane]
                worth[row, lane] -= due[lane]
        else:
            for asset in range(assets):
                for lane in range(lanes):
                    held[row, asset, lane] = own[asset, lane]
        own = held[row]
        if pays_inside[row]:
            value(own, funding_inside[row], change, due)
            pay(due, cash, worth[row], received[row])
        value(own, close[row], notional, due)
        for lane in range(lanes):
            ending[row, lane] = due[lane] + cash[lane]


def tally_block(
    count: int, samples: int, rounding: float, smallest: float, half_spread: Floats, kappa: Floats, has_impact: bool,
    carried: Floats, open_: Floats, close: Floats, traded: Floats, root: Floats, held: Floats, opening: Floats,
    price: Floats, gross: Floats, volume: Floats, spread: Floats, impact: Floats,
    fills: Ints, trades: Ints,
) -> None:  # fmt: skip
    """Sums of `count` rows, as `Tally` has them; `carried` (2, A, L) is what was held over the close before, and that
    close, with no units where there was none. `price` holds what was written off, and is added to.
    """
    assets, lanes = held.shape[1:]
    work, sums = np.empty((assets, lanes)), np.empty(lanes)
    for row in range(count):
        before = held[row - 1] if row else carried[0]
        mark = close[row - 1] if row else carried[1]
        for asset in range(assets):
            for lane in range(lanes):
                work[asset, lane] = (close[row, asset, lane] - open_[row, asset, lane]) * held[row, asset, lane]
        add_up(work, sums)
        for lane in range(lanes):
            price[row, lane] = sums[lane] + price[row, lane]
        for asset in range(assets):
            for lane in range(lanes):
                work[asset, lane] = (open_[row, asset, lane] - mark[asset, lane]) * before[asset, lane]
        add_up(work, sums)
        for lane in range(lanes):
            price[row, lane] += sums[lane]
        for asset in range(assets):
            for lane in range(lanes):
                work[asset, lane] = abs(held[row, asset, lane] * close[row, asset, lane])
        add_up(work, gross[row])
        add_up(traded[row], volume[row])
        for asset in range(assets):
            for lane in range(lanes):
                size = traded[row, asset, lane]
                work[asset, lane] = size * half_spread[asset]
                fills[lane] += size > rounding * opening[row, lane]
                trades[lane] += size > smallest * opening[row, lane]
        add_up(work, spread[row])
        if has_impact:
            for asset in range(assets):
                for lane in range(lanes):
                    cost = root[row, asset, lane] * traded[row, asset, lane]
                    work[asset, lane] = cost * kappa[row, asset, lane // samples]
            add_up(work, impact[row])
        else:
            for lane in range(lanes):
                impact[row, lane] = 0.0
