"""Positions to profit, drawdown and Sharpe ratio, in one vectorised pass over the bars.

At bar i: pnl_i = Σ position_i · (close_i − close_{i−1}) − Σ 0.00009 · close_i · |Δposition_i|, over the legs. A trade
row `bar = b` sets the position from bar b on; before the first row it is 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

COST_RATE = 0.00009
"""Of the traded value, per unit of position changed."""
BARS_PER_YEAR = 252 * 375
EXPOSURE_LIMIT = 0.80
EXPOSURE_SLACK = 0.05


@dataclass(frozen=True)
class Replay:
    """What a set of trades came to."""

    trades: int
    """Position changes; per leg for two legs: those of the leg that has more."""
    pnl: float
    """Points, costs charged."""
    max_drawdown: float
    """Points below the running peak of cumulative pnl, the start included; not negative."""
    sharpe: float
    """mean / std (ddof 0) of the bars' pnl · √94,500; 0 where nothing moves."""
    costs: float
    """Points, part of pnl."""
    bars_held: int
    """Bars with a position in any leg."""
    entries: int = 0
    """Two legs: bars on which both go from flat to a position."""
    violations: int = 0
    """Two legs: bars whose net share of gross notional is above the limit and its slack."""
    worst_exposure: float = 0.0
    """Two legs: largest net share of gross notional, 0 … 1."""
    leg_trades: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class Trades:
    """Rows of trades that can be replayed."""

    bars: NDArray[np.int64]
    """(R,) strictly increasing, 0 … T−1."""
    positions: Floats
    """(R, legs), finite."""


def path(trades: Trades, leg: int, length: int) -> Floats:
    """(T,) position of one leg at each bar.

    >>> path(Trades(np.array([1, 3]), np.array([[1.0], [-1.0]])), 0, 5).tolist()
    [0.0, 1.0, 1.0, -1.0, -1.0]
    """
    edges = np.concatenate([[0], trades.bars, [length]])
    return np.repeat(np.concatenate([[0.0], trades.positions[:, leg]]), np.diff(edges))


def replay_single(trades: Trades, close: Floats) -> Replay:
    """Replay one leg.

    Parameters
    ----------
    trades : rows with one position each.
    close : (T,) closes, finite.

    >>> replay_single(Trades(np.array([1]), np.array([[1.0]])), np.array([100.0, 101.0, 103.0])).pnl
    2.99091
    """
    position = path(trades, 0, len(close))
    pnl = np.empty(len(close))
    pnl[:1] = 0.0
    np.multiply(position[1:], np.diff(close), out=pnl[1:])
    costs, changes = _charge(pnl, trades, 0, close)
    return _summary(pnl, costs, (changes,), int(np.count_nonzero(position)))


def replay_multi(trades: Trades, first: Floats, second: Floats) -> Replay:
    """Replay two legs, with the exposure of every bar.

    Exposure is |net notional| / gross notional at closes, 0 when flat.

    Parameters
    ----------
    trades : rows with two positions each.
    first, second : (T,) closes of the two legs, finite.
    """
    length = len(first)
    legs = [path(trades, leg, length) for leg in (0, 1)]
    pnl = np.zeros(length)
    costs, changes = 0.0, []
    for leg, close in enumerate((first, second)):
        step = np.diff(close)
        step *= legs[leg][1:]
        pnl[1:] += step
        cost, changed = _charge(pnl, trades, leg, close)
        costs += cost
        changes.append(changed)
    held, worst, violations = _exposure(legs, (first, second))
    return _summary(pnl, costs, tuple(changes), held, _entries(trades), violations, worst)


def _charge(pnl: Floats, trades: Trades, leg: int, close: Floats) -> tuple[float, int]:
    """Take the costs of one leg off the bars where its position changes; their sum, and how many there are."""
    change = np.diff(trades.positions[:, leg], prepend=0.0)
    moved = np.flatnonzero(change)
    at = trades.bars[moved]
    cost = COST_RATE * close[at] * np.abs(change[moved])
    pnl[at] -= cost
    return float(cost.sum()), len(moved)


def _entries(trades: Trades) -> int:
    flat = np.vstack([np.zeros((1, 2), bool), trades.positions != 0.0])
    return int((~flat[:-1].any(axis=1) & flat[1:].all(axis=1)).sum())


def _exposure(legs: list[Floats], closes: tuple[Floats, Floats]) -> tuple[int, float, int]:
    """Bars held, worst share, bars above limit and slack."""
    net = legs[0] * closes[0]
    other = legs[1] * closes[1]
    gross = np.abs(net)
    net += other
    gross += np.abs(other, out=other)
    np.abs(net, out=net)
    held = gross > 0.0
    bars = int(np.count_nonzero(held))
    if not bars:
        return 0, 0.0, 0
    share = np.divide(net, gross, out=net, where=held)
    share[~held] = 0.0
    return bars, float(share.max()), int(np.count_nonzero(share > EXPOSURE_LIMIT + EXPOSURE_SLACK))


def _summary(
    pnl: Floats, costs: float, leg_trades: tuple[int, ...], held: int, entries: int = 0, violations: int = 0,
    worst: float = 0.0,
) -> Replay:  # fmt: skip
    total = np.cumsum(pnl)
    spread = float(pnl.std()) if len(pnl) else 0.0
    sharpe = float(pnl.mean()) / spread * math.sqrt(BARS_PER_YEAR) if spread > 0.0 else 0.0
    peak = np.maximum.accumulate(np.maximum(total, 0.0))
    peak -= total
    return Replay(
        trades=max(leg_trades),
        pnl=float(total[-1]) if len(total) else 0.0,
        max_drawdown=float(peak.max()) if len(peak) else 0.0,
        sharpe=sharpe,
        costs=costs,
        bars_held=held,
        entries=entries,
        violations=violations,
        worst_exposure=worst,
        leg_trades=leg_trades,
    )
