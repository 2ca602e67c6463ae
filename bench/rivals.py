# /// script
# requires-python = ">=3.11"
# dependencies = ["numba>=0.61", "numpy>=2.2", "pandas>=2.2", "vectorbt>=0.28", "backtesting>=0.6"]
# ///
"""What people would take instead, in an environment of its own; `bench/run.py` starts it and asks line by line.

A question is one JSON line: `who`, and `file`, an .npz. Accounting has `open`, `close` (T, A), `weights` (T, A, the row
that a bar's open is traded toward) and `rate`, the cost per unit traded, (A,). Replays of the graded track have `close`
(T,) and `position` (T,), units held from each bar's close on, and `rate`, one number. The answer is one line: `seconds`
of the work alone, and the numbers that both sides must share (`equity` at each close in a file, or `pnl`); or `reason`.
The first call of each kind on small data is not timed: it compiles.
"""

from __future__ import annotations

import importlib.metadata
import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

Arrays = dict[str, np.ndarray]
CASH = 1e9
"""vectorbt leaves out orders of less than 1e-12 units or so; with enough money no order is that small."""


def loop(open_: np.ndarray, close: np.ndarray, weights: np.ndarray, rate: np.ndarray) -> np.ndarray:
    """Equity at each close; numpy over assets, a Python loop over bars."""
    cash, units = 1.0, np.zeros(open_.shape[1])
    equity = np.empty(len(open_))
    for bar in range(len(open_)):
        held = units * open_[bar]
        change = weights[bar] * (cash + held.sum()) - held
        cash -= change.sum() + (np.abs(change) * rate).sum()
        units = units + change / open_[bar]
        equity[bar] = cash + (units * close[bar]).sum()
    return equity


def scalar_loop(open_: np.ndarray, close: np.ndarray, weights: np.ndarray, rate: np.ndarray) -> np.ndarray:
    """The same for a compiler: one number at a time."""
    bars, assets = open_.shape
    cash, units, equity = 1.0, np.zeros(assets), np.empty(bars)
    for bar in range(bars):
        before = cash
        for asset in range(assets):
            before += units[asset] * open_[bar, asset]
        for asset in range(assets):
            change = weights[bar, asset] * before - units[asset] * open_[bar, asset]
            cash -= change + abs(change) * rate[asset]
            units[asset] += change / open_[bar, asset]
        equity[bar] = cash
        for asset in range(assets):
            equity[bar] += units[asset] * close[bar, asset]
    return equity


def numba_loop() -> Callable[..., np.ndarray]:
    from numba import njit

    return njit(scalar_loop)  # type: ignore[no-any-return]


def vectorbt_orders() -> Callable[..., np.ndarray]:
    import vectorbt

    def run(open_: np.ndarray, close: np.ndarray, weights: np.ndarray, rate: np.ndarray) -> np.ndarray:
        index = pd.date_range("2000-01-01", periods=len(open_), freq="4h")  # naive: a UTC index is far slower
        frame = [pd.DataFrame(values, index) for values in (close, weights, open_)]
        made = vectorbt.Portfolio.from_orders(
            frame[0], frame[1], size_type="targetpercent", price=frame[2], fees=rate[None, :], init_cash=CASH,
            group_by=True, cash_sharing=True, call_seq="auto", freq="4h",
        )  # fmt: skip
        return made.value().to_numpy().ravel() / CASH  # type: ignore[no-any-return]

    return run


def vectorbt_replay() -> Callable[..., float]:
    import vectorbt

    def run(close: np.ndarray, position: np.ndarray, rate: np.ndarray) -> float:
        index = pd.date_range("2000-01-01", periods=len(close), freq="1min")
        made = vectorbt.Portfolio.from_orders(
            pd.Series(close, index), pd.Series(position, index), size_type="targetamount", fees=float(rate),
            init_cash=1e9, freq="1min",
        )  # fmt: skip
        return float(made.value().iloc[-1] - 1e9)

    return run


def backtesting_replay() -> Callable[..., float]:
    from backtesting import Backtest, Strategy

    def run(close: np.ndarray, position: np.ndarray, rate: np.ndarray) -> float:
        index = pd.date_range("2000-01-01", periods=len(close), freq="1min")
        frame = pd.DataFrame(dict.fromkeys(("Open", "High", "Low", "Close"), close), index)

        class Follow(Strategy):  # type: ignore[misc]
            def init(self) -> None:
                pass

            def next(self) -> None:
                bar = len(self.data) - 1
                wanted, before = position[bar], position[bar - 1]
                if wanted != before:
                    self.position.close()
                    if wanted:
                        (self.buy if wanted > 0 else self.sell)(size=abs(int(wanted)))

        done = Backtest(frame, Follow, cash=1e9, commission=float(rate), trade_on_close=True, finalize_trades=True)
        return float(done.run()["Equity Final [$]"] - 1e9)

    return run


WAYS: dict[str, Callable[[], Callable[..., Any]]] = {
    "numpy loop": lambda: loop,
    "numba loop": numba_loop,
    "vectorbt": vectorbt_orders,
    "vectorbt replay": vectorbt_replay,
    "backtesting.py replay": backtesting_replay,
}


def versions() -> dict[str, str]:
    """Of what is installed here."""
    found = {}
    for name in ("numpy", "pandas", "numba", "vectorbt", "backtesting"):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def answer(question: dict[str, str], ready: dict[str, Callable[..., Any]]) -> dict[str, Any]:
    """One timed run."""
    who = question["who"]
    if who == "versions":
        return versions()
    with np.load(question["file"]) as stored:
        arrays: Arrays = {name: stored[name] for name in stored.files}
    if who not in ready:
        ready[who] = WAYS[who]()
        ready[who](*(values[:50] if values.ndim and len(values) > 50 else values for values in arrays.values()))
    begun = time.perf_counter()
    result = ready[who](*arrays.values())
    seconds = time.perf_counter() - begun
    if isinstance(result, float):
        return {"seconds": seconds, "pnl": result}
    np.save(question["out"], result)
    return {"seconds": seconds}


def main() -> None:
    ready: dict[str, Callable[..., Any]] = {}
    for line in sys.stdin:
        try:
            said = answer(json.loads(line), ready)
        except Exception as error:
            said = {"reason": f"{type(error).__name__}: {error}".splitlines()[0][:200]}
        print(json.dumps(said), flush=True)


if __name__ == "__main__":
    main()
