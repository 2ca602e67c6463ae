"""Evaluations to decide about, shared by the ratchet's tests."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from autoquant.oracle.records import Confirmation, Digests, Evaluation, Fault, FoldScore, GateResult, Outcome
from autoquant.protocol import PROTOCOL
from autoquant.ratchet.state import RatchetState, Trial

SEED_FOLDS = (0.5, 0.1, 0.9, 0.3, 0.7, 0.5)


def fold(sharpe: float, number: int = 1, cost: float = 0.01) -> FoldScore:
    return FoldScore(
        start=f"202{number}-01-22T00:00:00Z",
        end=f"202{number}-05-24T00:00:00Z",
        sharpe=sharpe,
        max_drawdown=0.1 + number / 1000,
        turnover=30.0 + number / 7,
        trades=100 + number,
        mean_gross=0.55,
        volatility=0.18,
        total_return=0.05,
        fee=cost,
        spread=cost / 2,
        impact=cost / 3,
        funding=-cost / 4,
        price_pnl=0.07,
        ruined=False,
    )


def returns(seed: int, days: int = 12, folds: int = 6) -> tuple[tuple[float, ...], ...]:
    drawn = np.random.default_rng(seed).normal(0.0, 0.01, (folds, days))
    return tuple(tuple(row) for row in drawn.tolist())


def score_of(sharpes: Sequence[float]) -> float:
    return float(np.mean(sharpes) - PROTOCOL.score_std_weight * np.std(sharpes))


def scored(
    sharpes: Sequence[float] = SEED_FOLDS,
    *,
    double: float | None = None,
    daily: tuple[tuple[float, ...], ...] | None = None,
    cost: float = 0.01,
    drawdown: float = 0.15,
) -> Evaluation:
    score = score_of(sharpes)
    return Evaluation(
        outcome=Outcome.SCORED,
        digests=Digests("0a" * 32, "0b" * 32, "0c" * 32, "0d" * 32),
        score=score,
        folds=tuple(fold(sharpe, number, cost) for number, sharpe in enumerate(sharpes, start=1)),
        gates=(
            GateResult("import", True, detail="numpy, pandas"),
            GateResult("causality", True, detail="cut 1204 of fold 3"),
            GateResult("drawdown", True, drawdown, 0.25, 0.25 - drawdown, 3),
        ),
        score_double_cost=score - 0.2 if double is None else double,
        folds_double_cost=tuple(s - 0.2 for s in sharpes),
        score_delayed=score - 0.05,
        max_drawdown=drawdown,
        turnover=31.23456,
        turnover_per_gross=35.98765,
        trades=621,
        daily_returns=returns(0) if daily is None else daily,
    )


def failed(outcome: Outcome, fault: Fault | None = None, gate: GateResult | None = None) -> Evaluation:
    digests = Digests("0a" * 32, "0b" * 32, "0c" * 32, "0d" * 32)
    return Evaluation(outcome, digests, gates=() if gate is None else (gate,), fault=fault)


def trial(attempt: int, evaluation: Evaluation) -> Trial:
    return Trial(attempt, f"{attempt:064x}", evaluation)


def start() -> RatchetState:
    return RatchetState.start(trial(0, scored()))


def lifted(by: float, folds: int = 6, sharpes: Sequence[float] = SEED_FOLDS) -> tuple[float, ...]:
    """`sharpes` with the first `folds` of them raised by `by`."""
    return tuple(s + by if i < folds else s for i, s in enumerate(sharpes))


def agreeing(evaluation: Evaluation) -> Confirmation:
    return Confirmation(True, evaluation, 0.0)
