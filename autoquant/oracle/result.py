"""What one fold came to: the accounts of a `Trail`, per bar and in sum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from autoquant.clock import ms_iso
from autoquant.oracle.folds import Window
from autoquant.oracle.metrics import chain, daily_returns, daily_rows, max_drawdown, sharpe_ratio, volatility
from autoquant.oracle.records import FoldScore
from autoquant.oracle.tally import Trail
from autoquant.oracle.tape import Tape

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class BarFlows:
    """Where each bar's change of equity came from, (n,) each, as fractions of starting capital.

    Δequity = price_pnl − fee − spread − impact + funding on every bar. Funding is what was received: negative when
    paid. Close-outs and settlements are in the bar at whose close they happen.
    """

    fee: Floats
    spread: Floats
    impact: Floats
    funding: Floats
    price_pnl: Floats


@dataclass(frozen=True, eq=False)
class FoldResult:
    """One path of equity, from flat and 1. Money as fractions of starting capital.

    Attributes
    ----------
    times : (n,) open times, ms UTC.
    equity : (n,) at bar closes; the last after close-out costs; 0 from ruin on.
    daily_returns : (d,) between 00:00 UTC samples, the first from 1.
    fee, spread, impact : paid over the whole path.
    funding : received; negative when paid.
    price_pnl : gain of prices alone.
    turnover : Σ|Δnotional| / equity just before, two-sided, per 365-day year; `turnover_sum` is not annualised.
    fills : orders filled at an open (forced closes are none).
    trades : fills above 1e-3 of equity.
    mean_gross : mean over bars of Σ|units · close| / equity.
    max_drawdown : 0 … 1, over bar closes.
    sharpe, volatility : annualised with 365 days.
    total_return : last equity − 1.
    ruined : equity reached zero.
    years : length of the path.
    bars : the flows bar by bar.
    """

    times: Ints
    equity: Floats
    daily_returns: Floats
    fee: float
    spread: float
    impact: float
    funding: float
    price_pnl: float
    turnover: float
    turnover_sum: float
    fills: int
    trades: int
    mean_gross: float
    max_drawdown: float
    sharpe: float
    volatility: float
    total_return: float
    ruined: bool
    years: float
    bars: BarFlows


def results(tape: Tape, trail: Trail) -> list[list[FoldResult]]:
    """The accounts of every lane, as [scenario][fold]."""
    flowing = (trail.fee, trail.spread, trail.impact, trail.funding, trail.price_pnl)
    answer = []
    for lane in range(trail.equity.shape[-1]):
        row = []
        for fold, times in enumerate(tape.times):
            at = (fold, lane)
            path = np.ascontiguousarray(trail.equity[:, fold, lane])
            daily = daily_returns(path, daily_rows(times, tape.bar_ms))
            flows = BarFlows(*(np.ascontiguousarray(x[:, fold, lane]) for x in flowing))
            turnover_sum = float(trail.turnover[:, fold, lane].sum())
            row.append(
                FoldResult(
                    times=times,
                    equity=path,
                    daily_returns=daily,
                    fee=float(flows.fee.sum()),
                    spread=float(flows.spread.sum()),
                    impact=float(flows.impact.sum()),
                    funding=float(flows.funding.sum()),
                    price_pnl=float(flows.price_pnl.sum()),
                    turnover=turnover_sum / tape.years,
                    turnover_sum=turnover_sum,
                    fills=int(trail.fills[at]),
                    trades=int(trail.trades[at]),
                    mean_gross=float(trail.gross[:, fold, lane].mean()),
                    max_drawdown=max_drawdown(path),
                    sharpe=sharpe_ratio(daily),
                    volatility=volatility(daily),
                    total_return=float(path[-1] - 1.0),
                    ruined=bool(trail.ruined[at]),
                    years=tape.years,
                    bars=flows,
                )
            )
        answer.append(row)
    return answer


def fold_score(window: Window, result: FoldResult) -> FoldScore:
    """The record of one fold: what leaves the oracle, without paths."""
    return FoldScore(
        start=ms_iso(window.start_ms),
        end=ms_iso(window.end_ms),
        sharpe=result.sharpe,
        max_drawdown=result.max_drawdown,
        turnover=result.turnover,
        trades=result.trades,
        mean_gross=result.mean_gross,
        volatility=result.volatility,
        total_return=result.total_return,
        fee=result.fee,
        spread=result.spread,
        impact=result.impact,
        funding=result.funding,
        price_pnl=result.price_pnl,
        ruined=result.ruined,
    )


@dataclass(frozen=True)
class ChainedMetrics:
    """The folds as one path: equities multiplied, turnover and gross over all bars."""

    max_drawdown: float
    turnover: float
    """Two-sided, per year."""
    mean_gross: float
    trades: int
    sharpe: float
    """Of all folds' daily returns in one row."""
    volatility: float
    total_return: float

    @property
    def turnover_per_gross(self) -> float | None:
        """Turnover ÷ min(1, mean gross); None when nothing was ever held."""
        return self.turnover / min(1.0, self.mean_gross) if self.mean_gross > 0 else None


def chained(folds: Sequence[FoldResult]) -> ChainedMetrics:
    """Metrics of the chained path of at least one fold."""
    path = chain([fold.equity for fold in folds])
    daily = np.concatenate([fold.daily_returns for fold in folds])
    bars = sum(len(fold.equity) for fold in folds)
    return ChainedMetrics(
        max_drawdown=max_drawdown(path),
        turnover=sum(fold.turnover_sum for fold in folds) / sum(fold.years for fold in folds),
        mean_gross=sum(fold.mean_gross * len(fold.equity) for fold in folds) / bars,
        trades=sum(fold.trades for fold in folds),
        sharpe=sharpe_ratio(daily),
        volatility=volatility(daily),
        total_return=float(path[-1] - 1.0),
    )
