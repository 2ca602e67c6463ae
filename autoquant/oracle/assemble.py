"""From runs to an evaluation: the folds' accounts at plain costs and under both shadows, and the record of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from autoquant.market import Panel
from autoquant.oracle.folds import Window
from autoquant.oracle.gates import economic_gates
from autoquant.oracle.metrics import score
from autoquant.oracle.orders import Scenario
from autoquant.oracle.records import Digests, Evaluation, Fault, GateResult, Outcome
from autoquant.oracle.result import FoldResult, chained, fold_score
from autoquant.oracle.runs import Run
from autoquant.oracle.simulation import simulate_folds
from autoquant.protocol import Protocol


@dataclass(frozen=True)
class Accounts:
    """The folds of one strategy: at plain costs, at a multiple of them, and one bar later."""

    windows: tuple[Window, ...]
    plain: tuple[FoldResult, ...]
    double_cost: tuple[FoldResult, ...]
    delayed: tuple[FoldResult, ...]
    protocol: Protocol

    @property
    def score(self) -> float:
        """At plain costs."""
        return self._score(self.plain)

    def evaluation(
        self,
        digests: Digests,
        gates: Sequence[GateResult],
        decisions: Sequence[NDArray[np.float64]],
        split: str,
    ) -> Evaluation:
        """The record; `gates` are those that came before the economic ones, `decisions` the folds' decision rows."""
        path = chained(self.plain)
        every = (*gates, *economic_gates(self.plain, decisions, self.protocol.gates))
        return Evaluation(
            outcome=Outcome.SCORED if all(gate.passed for gate in every) else Outcome.GATE,
            digests=digests,
            score=self.score,
            folds=tuple(fold_score(w, r) for w, r in zip(self.windows, self.plain, strict=True)),
            gates=every,
            score_double_cost=self._score(self.double_cost),
            folds_double_cost=tuple(fold.sharpe for fold in self.double_cost),
            score_delayed=self._score(self.delayed),
            folds_delayed=tuple(fold.sharpe for fold in self.delayed),
            max_drawdown=path.max_drawdown,
            turnover=path.turnover,
            turnover_per_gross=path.turnover_per_gross,
            trades=path.trades,
            daily_returns=tuple(tuple(fold.daily_returns.tolist()) for fold in self.plain),
            split=split,
        )

    def _score(self, folds: Sequence[FoldResult]) -> float:
        return float(score([fold.sharpe for fold in folds], self.protocol.score_std_weight))


def evaluate_folds(
    panel: Panel, windows: Sequence[Window], runs: Sequence[Run], protocol: Protocol, *, compiled: bool = False
) -> Accounts:
    """Trade every fold under the three scenarios of the contest, in one loop over time (`compiled`: see `kernel`)."""
    scenarios = (
        Scenario(),
        Scenario(cost_multiplier=protocol.stress_cost_multiplier),
        Scenario(delay_bars=protocol.stress_delay_bars),
    )
    weights = [run.on_panel(len(panel)) for run in runs]
    plain, double, delayed = simulate_folds(
        panel, weights, windows, scenarios, costs=protocol.costs, capital=protocol.capital_usdt, compiled=compiled
    )
    return Accounts(tuple(windows), plain, double, delayed, protocol)


def failed(outcome: Outcome, gate: str | None, fault: Fault, digests: Digests, split: str) -> Evaluation:
    """The record of a strategy that gave no usable answer; `gate` names the gate it fell at, if it was one."""
    gates = () if gate is None else (GateResult(gate, passed=False, detail=fault.kind),)
    return Evaluation(outcome, digests, gates=gates, fault=fault, split=split)
