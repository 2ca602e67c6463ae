"""Buy and hold on the sealed year: what the market gave to whoever did nothing, by the accounts every entry has.

Equal weights of the contracts that trade, bought at the first open and kept: fee, spread, impact, volume cap and
funding as for any entry, a contract that ends settled at its last close, the rest sold at the end. Its gates are
measured and mean nothing: holding the market is no entry, and nobody judges it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from autoquant.market import Panel
from autoquant.oracle.assemble import evaluate_folds
from autoquant.oracle.folds import DAY_MS, Window, lockbox_window
from autoquant.oracle.judge import Pins
from autoquant.oracle.records import Evaluation
from autoquant.oracle.runs import Run
from autoquant.oracle.sealed import SPLIT
from autoquant.oracle.simulation import decision_rows
from autoquant.protocol import PROTOCOL, Protocol

BUY_AND_HOLD = "buy-and-hold"


def buy_and_hold(panel: Panel, *, pins: Pins, protocol: Protocol = PROTOCOL) -> Evaluation:
    """Accounts of equal weights bought once and held over the sealed year.

    Parameters
    ----------
    panel : TRAIN, VALID and the sealed year in one.
    pins : what the numbers depend on; in place of a strategy's digest stands that of the name.
    """
    window = lockbox_window(protocol)
    weights = held_weights(panel, window)
    run = Run(0, weights, np.ones(len(panel), dtype=np.bool_), 0.0, 0.0)
    accounts = evaluate_folds(panel, (window,), (run,), protocol)
    return accounts.evaluation(pins.of(BUY_AND_HOLD.encode()), (), [decision_rows(panel, window, weights)], SPLIT)


def held_weights(panel: Panel, window: Window) -> NDArray[np.float64]:
    """Weights (T, A): 1/n for each of the n contracts that trade on the row that decides the first fill, then NaN.

    A contract trades when it has a close in the day before the window and has not ended by then: no later bar is read.
    All are 0 where none trades.
    """
    first = panel.row(window.start_ms)
    recent = panel.times[:first] >= window.start_ms - DAY_MS
    trades = np.isfinite(panel.close[:first][recent]).any(axis=0) & (panel.last_bar >= window.start_ms)
    weights = np.full((len(panel), len(panel.assets)), np.nan)
    weights[first - 1] = np.where(trades, 1.0 / max(1, int(trades.sum())), 0.0)
    return weights
