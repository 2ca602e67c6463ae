"""The oracle: weights become fills, fills become accounts, accounts become a score.

Names load on first use, so that importing the room costs nothing and pulls in no pandas.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autoquant.lazy import names_of

if TYPE_CHECKING:
    from autoquant.oracle.metrics import score
    from autoquant.oracle.orders import Scenario
    from autoquant.oracle.result import BarFlows, FoldResult, chained, fold_score
    from autoquant.oracle.simulation import decision_rows, simulate, simulate_folds

__all__ = [
    "BarFlows",
    "FoldResult",
    "Scenario",
    "chained",
    "decision_rows",
    "fold_score",
    "score",
    "simulate",
    "simulate_folds",
]

_HOMES = {
    "BarFlows": "result",
    "FoldResult": "result",
    "Scenario": "orders",
    "chained": "result",
    "decision_rows": "simulation",
    "fold_score": "result",
    "score": "metrics",
    "simulate": "simulation",
    "simulate_folds": "simulation",
}

__getattr__ = names_of(__name__, _HOMES)
