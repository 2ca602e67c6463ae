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

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from autoquant.oracle.blocks import Block
from autoquant.oracle.book import Book
from autoquant.oracle.kernel_loop import MOST_ASSETS
from autoquant.oracle.orders import Orders
from autoquant.oracle.rows import run_lone_rows, run_rows
from autoquant.oracle.tally import Closing, Tally, Trail
from autoquant.oracle.tape import Tape

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
RunBlock = Callable[[Book, Block, int, int], None]
"""Runs rows [start, stop) of a block without looking for ruin, to the digits of `rows.run_rows`."""


@dataclass(frozen=True)
class Compiled:
    """The loop and its sums by a compiler (`kernel.load`): the same digits."""

    run: RunBlock
    tally: Callable[..., None]


def trade(tape: Tape, orders: Orders, compiled: Compiled | None = None) -> Trail:
    """Run the loop over all folds and lanes, keeping the accounts.

    Parameters
    ----------
    compiled : does it in place of numpy, but for a single path of more than `MOST_ASSETS` contracts.
    """
    _, assets, folds, samples = orders.shape
    if folds * samples == 1 and assets > MOST_ASSETS:
        compiled = None
    tally = Tally(tape, orders, compiled.tally if compiled else None)
    ruined = _run(tape, orders, tally.add, compiled.run if compiled else None)
    return tally.trail(ruined)


def equity_paths(tape: Tape, orders: Orders) -> Floats:
    """Equity alone, (n, F, S) at bar closes: the same loop without its accounts."""
    bars, _, folds, samples = orders.shape
    equity = np.empty((bars, folds * samples))

    def keep(block: Block, closings: list[Closing]) -> None:
        equity[block.first : block.first + block.count] = block.ending[: block.count]

    _run(tape, orders, keep, None)
    return equity.reshape(bars, folds, samples)


def _run(
    tape: Tape, orders: Orders, on_block: Callable[[Block, list[Closing]], None], compiled: RunBlock | None
) -> Bools:
    """The time loop; gives which lanes were ruined, (L,)."""
    bars, assets, folds, samples = orders.shape
    book, block, events = Book(assets, folds * samples), Block(tape, orders), _Events(tape, samples)
    for first in range(0, bars, block.size):
        block.turn_to(first)
        closings: list[Closing] = []
        start = 0
        for bar in events.within(first, first + block.count):
            _advance(book, block, start, bar - first + 1, compiled)
            closings += _close(book, block, bar - first, events.at(bar))
            start = bar - first + 1
        _advance(book, block, start, block.count, compiled)
        on_block(block, closings)
    return book.ruined


class _Events:
    """What is closed whole at the close of a bar: settlements, then a fold's end."""

    def __init__(self, tape: Tape, samples: int) -> None:
        self._settles, self._samples = tape.settles, samples
        settling = np.logical_or.reduce(tape.settles.reshape(len(tape.settles), -1), axis=1)
        self._final = len(settling) - 1
        self._bars = [*np.flatnonzero(settling[:-1]).tolist(), self._final]
        self._has_final_settlement = bool(settling[-1])

    def within(self, first: int, stop: int) -> list[int]:
        """Bars of [first, stop) that close something."""
        return [bar for bar in self._bars if first <= bar < stop]

    def at(self, bar: int) -> list[Bools]:
        """(A, L) each, in order."""
        closes = []
        if bar != self._final or self._has_final_settlement:
            settles = self._settles[bar]
            closes.append(np.repeat(settles, self._samples, axis=-1))
        if bar == self._final:
            closes.append(np.ones_like(np.repeat(self._settles[bar], self._samples, axis=-1)))
        return closes


def _close(book: Book, block: Block, row: int, closes: list[Bools]) -> list[Closing]:
    """Carry out forced closes at a bar that has been run."""
    now, closings = block.ending[row], []
    np.multiply(book.units, block.close[row], book.notional)
    for where in closes:
        before = now.copy()
        impact = block.impact[row] if block.has_impact else None
        traded = book.close_out(where, block.rate, impact, now)
        closings.append(Closing(block.first + row, traded, before))
        book.bury(now, block.written_off[row])
    block.left[row] = book.units
    return closings


def _advance(book: Book, block: Block, start: int, stop: int, compiled: RunBlock | None) -> None:
    """Run rows [start, stop): without looking for ruin, then, if there was any, again and looking at every step."""
    if start == stop:
        return
    cash, units = book.cash.copy(), book.units.copy()
    book.units = units  # `held` is written again: nothing that is needed may lie there
    with np.errstate(all="ignore"):  # after a ruin rows are nonsense until they are run again
        if len(cash) == 1 and compiled is None and not book.ruined[0]:
            sound = run_lone_rows(book, block, start, stop)
        else:
            if compiled is not None:
                compiled(book, block, start, stop)
            else:
                run_rows(book, block, start, stop, careful=False)
            sound = _is_sound(book, block, start, stop)
    if sound:
        return
    np.copyto(book.cash, cash)
    book.units = units
    block.forget(start, stop)
    run_rows(book, block, start, stop, careful=True)


def _is_sound(book: Book, block: Block, start: int, stop: int) -> bool:
    """No lane lost everything in these rows; one that had lost it before stays at zero by itself."""
    levels = (block.opening[start:stop], block.worth[start:stop], block.ending[start:stop])
    if all(np.minimum.reduce(level, axis=None) > 0 for level in levels):
        return True
    return bool(book.ruined.any()) and all(bool(((level > 0) | book.ruined).all()) for level in levels)
