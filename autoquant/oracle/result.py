"""What one fold came to: the accounts of a `Trail`, per bar and in sum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from autoquant.clock import ms_iso
from autoquant.oracle.engine import Scenario, Trail
from autoquant.oracle.folds import Window
from autoquant.oracle.metrics import chain, daily_returns, daily_rows, max_drawdown, sharpe_ratio, volatility
from autoquant.oracle.records import FoldScore
from autoquant.oracle.tape import Tape
from autoquant.protocol import PROTOCOL

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_ROUNDING = 1e-12
"""A change smaller than this fraction of equity is the dust of dividing by a price, not a fill."""


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


def results(tape: Tape, trail: Trail, scenarios: Sequence[Scenario]) -> list[list[FoldResult]]:
    """The accounts of every lane, as [scenario][fold]."""
    multiplier = np.array([scenario.cost_multiplier for scenario in scenarios])
    scratch = np.empty_like(trail.held)  # one large buffer instead of many: page faults cost more than the sums
    fee, spread, impact, turnover = _charges(tape, trail, multiplier, scratch)
    price, funding = _price_pnl(tape, trail, scratch), trail.funding
    gross = _gross(tape, trail, scratch)
    fills = _count(trail, _ROUNDING)
    trades = _count(trail, PROTOCOL.gates.trade_minimum_fraction)
    answer = []
    for lane in range(len(scenarios)):
        row = []
        for fold, times in enumerate(tape.times):
            at = (fold, lane)
            path = np.ascontiguousarray(trail.equity[:, fold, lane])
            daily = daily_returns(path, daily_rows(times, tape.bar_ms))
            flows = BarFlows(*(np.ascontiguousarray(x[:, fold, lane]) for x in (fee, spread, impact, funding, price)))
            turnover_sum = float(turnover[:, fold, lane].sum())
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
                    fills=int(fills[at]),
                    trades=int(trades[at]),
                    mean_gross=float(gross[:, fold, lane].mean()),
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


def _charges(tape: Tape, trail: Trail, multiplier: Floats, scratch: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Fee, spread, impact and turnover per bar, (n, F, S) each."""
    half_spread, kappa = tape.half_spread[:, None, None], tape.impact[..., None]
    volume = trail.traded.sum(axis=1)
    spread = np.multiply(trail.traded, half_spread, out=scratch).sum(axis=1)
    np.sqrt(trail.traded, out=scratch)
    scratch *= trail.traded
    scratch *= kappa
    impact = scratch.sum(axis=1)
    turnover = _ratio(volume, trail.equity_at_fill)
    for closing in trail.closings:
        bar, traded = closing.bar, closing.traded
        closed = traded.sum(axis=0)
        volume[bar] += closed
        spread[bar] += (traded * half_spread).sum(axis=0)
        impact[bar] += (traded * np.sqrt(traded) * kappa[bar]).sum(axis=0)
        turnover[bar] += _ratio(closed, closing.equity)
    return tape.taker * multiplier * volume, multiplier * spread, multiplier * impact, turnover


def _price_pnl(tape: Tape, trail: Trail, scratch: Floats) -> Floats:
    """Gain of prices per bar, (n, F, S), from units and marks alone: equity is not looked at."""
    gap = tape.mark_open[1:] - tape.mark_close[:-1]
    move = tape.mark_close - tape.mark_open
    gain = np.multiply(trail.held, move[..., None], out=scratch).sum(axis=1) + trail.written_off
    if len(gap):  # what is held over a close meets the next open
        gain[1:] += np.multiply(trail.kept[:-1], gap[..., None], out=scratch[1:]).sum(axis=1)
    return np.asarray(gain)


def _gross(tape: Tape, trail: Trail, scratch: Floats) -> Floats:
    """Gross exposure at bar closes as a share of equity, (n, F, S)."""
    np.multiply(trail.kept, tape.mark_close[..., None], out=scratch)
    return _ratio(np.abs(scratch, out=scratch).sum(axis=1), trail.equity)


def _count(trail: Trail, fraction: float) -> Ints:
    """Fills above a fraction of the equity they were sized by, (F, S)."""
    return np.asarray((trail.traded > (fraction * trail.equity_at_fill)[:, None]).sum(axis=(0, 1)), dtype=np.int64)


def _ratio(part: Floats, equity: Floats) -> Floats:
    """Share of equity; 0 where equity is gone."""
    ratio = np.zeros_like(part)
    np.divide(part, equity, out=ratio, where=equity > 0)
    return ratio
