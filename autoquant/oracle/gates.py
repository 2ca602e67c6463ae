"""The gates a scored strategy has to pass, and the lockbox's verdict. A missing or non-finite value always fails."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from autoquant.oracle.records import GateResult
from autoquant.oracle.result import FoldResult, chained
from autoquant.protocol import PROTOCOL, Gates

Floats = NDArray[np.float64]


class Verdict(StrEnum):
    """What the sealed year says about a champion."""

    CONFIRMED = "confirmed"
    REJECTED = "rejected"
    INSUFFICIENT = "insufficient evidence"


def lockbox_verdict(
    sharpe: float, probability: float, gates_hold: bool, *, required: float = PROTOCOL.confirmed_probability
) -> Verdict:
    """Verdict on one sealed path.

    Parameters
    ----------
    sharpe : Sharpe ratio of the path.
    probability : one-sided probabilistic Sharpe ratio of its daily returns against 0 (`stats.sharpe`).
    gates_hold : every gate held on the sealed path.
    required : probability that has to be exceeded.

    >>> str(lockbox_verdict(1.9, 0.97, True)), str(lockbox_verdict(0.4, 0.65, True))
    ('confirmed', 'insufficient evidence')
    """
    if not gates_hold or not sharpe > 0:
        return Verdict.REJECTED
    return Verdict.CONFIRMED if probability > required else Verdict.INSUFFICIENT


def economic_gates(
    folds: Sequence[FoldResult], decisions: Sequence[Floats], limits: Gates = PROTOCOL.gates
) -> tuple[GateResult, ...]:
    """Leverage, drawdown, turnover, trades and exposure, in this order.

    Each result shows the reading that came closest to its limit (or broke it), its fold (None: the whole path), and the
    room left in the reading's own units.

    Parameters
    ----------
    folds : results at plain costs.
    decisions : per fold its decision rows (n, A) as returned, NaN where the units are held.
    limits : what has to hold.
    """
    path = chained(folds) if folds else None
    numbered = list(enumerate(folds, start=1))
    return (
        _gate("leverage", [*_leverage(decisions, limits), *_gross_ceiling(numbered, limits)]),
        _gate(
            "drawdown",
            [
                *(_most("drawdown", f.max_drawdown, limits.drawdown_maximum, n) for n, f in numbered),
                _most("drawdown of the chained path", path.max_drawdown if path else None, limits.drawdown_maximum),
            ],
        ),
        _gate(
            "turnover",
            [_most("yearly turnover per gross", path.turnover_per_gross if path else None, limits.turnover_maximum)],
        ),
        _gate(
            "trades",
            [
                *(_least("trades", f.trades, limits.trades_per_fold_minimum, n) for n, f in numbered),
                _least("trades in total", path.trades if path else None, limits.trades_minimum),
            ],
        ),
        _gate(
            "exposure",
            [
                *(_least("mean gross", f.mean_gross, limits.mean_gross_minimum, n) for n, f in numbered),
                *(_least("volatility", f.volatility, limits.volatility_minimum, n) for n, f in numbered),
            ]
            or [_least("mean gross", None, limits.mean_gross_minimum)],
        ),
    )


def stated_weights(decisions: Floats) -> Floats:
    """(n, A) weights in force: a NaN counts as the weight stated last (0 before the first).

    >>> stated_weights(np.array([[np.nan, 0.5], [-0.4, np.nan]])).tolist()
    [[0.0, 0.5], [-0.4, 0.5]]
    """
    stated = np.where(np.isnan(decisions), -1, np.arange(len(decisions))[:, None])
    np.maximum.accumulate(stated, axis=0, out=stated)
    last = np.take_along_axis(decisions, np.maximum(stated, 0), axis=0)
    return np.asarray(np.where(stated >= 0, last, 0.0))


def stated_gross(decisions: Floats) -> Floats:
    """Sum of absolute weights in force, (n,).

    >>> stated_gross(np.array([[np.nan, 0.5], [-0.4, np.nan]])).tolist()
    [0.5, 0.9]
    """
    return np.asarray(np.abs(stated_weights(decisions)).sum(axis=1))


@dataclass(frozen=True)
class _Reading:
    """One value against one limit."""

    what: str
    value: float | None
    limit: float
    ceiling: bool
    fold: int | None

    @property
    def headroom(self) -> float | None:
        if self.value is None:
            return None
        return self.limit - self.value if self.ceiling else self.value - self.limit

    @property
    def closeness(self) -> float:
        """Headroom in units of the limit, so that readings of one gate compare; a missing value is the worst."""
        return -math.inf if self.headroom is None else self.headroom / abs(self.limit)

    @property
    def holds(self) -> bool:
        return self.headroom is not None and self.headroom >= 0


def _reading(what: str, value: float | None, limit: float, ceiling: bool, fold: int | None) -> _Reading:
    known = float(value) if value is not None and math.isfinite(value) else None
    return _Reading(what, known, float(limit), ceiling, fold)


def _most(what: str, value: float | None, limit: float, fold: int | None = None) -> _Reading:
    return _reading(what, value, limit, True, fold)


def _least(what: str, value: float | None, limit: float, fold: int | None = None) -> _Reading:
    return _reading(what, value, limit, False, fold)


def _gate(name: str, readings: Sequence[_Reading]) -> GateResult:
    worst = min(readings, key=lambda reading: reading.closeness)
    shown = "missing" if worst.value is None else f"{worst.value:.4g}"
    bound = "at most" if worst.ceiling else "at least"
    return GateResult(
        name=name,
        passed=all(reading.holds for reading in readings),
        value=worst.value,
        limit=worst.limit,
        headroom=worst.headroom,
        fold=worst.fold,
        detail=f"{worst.what} {shown}, {bound} {worst.limit:g}",
    )


def _leverage(decisions: Sequence[Floats], limits: Gates) -> list[_Reading]:
    ceiling = limits.leverage + limits.leverage_tolerance
    if not decisions:
        return [_most("sum of absolute weights", None, ceiling)]
    return [
        _most("sum of absolute weights", float(stated_gross(rows).max()) if len(rows) else None, ceiling, number)
        for number, rows in enumerate(decisions, start=1)
    ]


def _gross_ceiling(folds: Iterable[tuple[int, FoldResult]], limits: Gates) -> list[_Reading]:
    return [_most("mean gross", fold.mean_gross, limits.mean_gross_maximum, number) for number, fold in folds]
