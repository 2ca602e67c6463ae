"""The oracle's numeric door: weights in, accounts out, for one window or for many folds at once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from autoquant.clock import ms_iso
from autoquant.errors import DataError, OutputError
from autoquant.oracle.engine import Compiled, trade
from autoquant.oracle.folds import Window
from autoquant.oracle.orders import Scenario, place_orders
from autoquant.oracle.result import FoldResult, results
from autoquant.oracle.tape import Tape, build_tape, fold_rows
from autoquant.protocol import PROTOCOL, Costs

if TYPE_CHECKING:
    import pandas as pd

    from autoquant.market.panel import Panel

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

PLAIN = Scenario()
"""Costs as they are, no extra delay."""


def simulate(
    panel: Panel,
    weights: pd.DataFrame | Floats,
    start: Any,
    end: Any,
    *,
    costs: Costs = PROTOCOL.costs,
    capital: float = PROTOCOL.capital_usdt,
    cost_multiplier: float = 1.0,
    delay_bars: int = 0,
) -> FoldResult:
    """Trade one window of a panel from flat, by the rules of the contest.

    A bar is filled at its open toward the row of the bar before it, so the rows that count run from the bar before the
    window's first to the bar before its last. A panel that begins with the window has no order at the first bar.

    Parameters
    ----------
    panel : with the history that σ_day and V_day look back on.
    weights : signed fractions of equity, NaN holds the units. A DataFrame (times × assets; rows beyond the needed ones
        are ignored, a missing asset is 0) or an array (T, A) on the panel's own rows and columns.
    start, end : half-open; milliseconds UTC, or whatever `pd.Timestamp` takes (UTC unless it says otherwise).
    costs : rates; impact, volume cap and history rule can be switched off here.
    capital : USDT behind equity 1; matters for impact and cap only.
    cost_multiplier : scales fee, spread and impact, never funding.
    delay_bars : bars of extra delay; a row before the first decision row is no order.

    Raises
    ------
    OutputError : a decision row is missing, a column is unknown or doubled, a weight is infinite.
    DataError : the panel has no bar in the window.
    """
    window = Window(1, _milliseconds(start), _milliseconds(start), _milliseconds(start), _milliseconds(end))
    scenario = Scenario(cost_multiplier, delay_bars)
    aligned = weights if isinstance(weights, np.ndarray) else _align(panel, weights, window)
    return simulate_folds(panel, [aligned], [window], [scenario], costs=costs, capital=capital)[0][0]


def simulate_folds(
    panel: Panel,
    weights: Sequence[Floats],
    windows: Sequence[Window],
    scenarios: Sequence[Scenario] = (PLAIN,),
    *,
    costs: Costs = PROTOCOL.costs,
    capital: float = PROTOCOL.capital_usdt,
    compiled: bool = False,
) -> tuple[tuple[FoldResult, ...], ...]:
    """Trade every fold under every scenario in one loop over time.

    Parameters
    ----------
    panel : all folds and the history before them.
    weights : per fold an array (T, A) on the panel's rows; only the fold's decision rows are read.
    windows : the folds; they may overlap. Folds of unequal length take one loop per length.
    scenarios : cost levels and delays.
    costs, capital : as in `simulate`.
    compiled : take the compiled loop where there is one; the same digits (`kernel`).

    Returns
    -------
    Results as [scenario][fold].

    Raises
    ------
    OutputError : an array of the wrong shape, or an infinite weight.
    DataError : the panel has no bar in a window.
    """
    if len(weights) != len(windows):
        raise OutputError(f"{len(weights)} weight arrays for {len(windows)} folds")
    rows = [fold_rows(panel, window) for window in windows]
    decisions = [_decisions(panel, *span, array) for span, array in zip(rows, weights, strict=True)]
    run = _compiled() if compiled else None
    answer: dict[int, list[FoldResult]] = {}
    for length in {stop - first for first, stop in rows}:
        group = [fold for fold, (first, stop) in enumerate(rows) if stop - first == length]
        tape = _tape(panel, tuple(windows[fold] for fold in group), costs, capital)
        trail = trade(tape, place_orders([decisions[fold] for fold in group], scenarios), run)
        for fold, per_scenario in zip(group, zip(*results(tape, trail), strict=True), strict=True):
            answer[fold] = list(per_scenario)
    return tuple(tuple(answer[fold][lane] for fold in range(len(windows))) for lane in range(len(scenarios)))


def decision_rows(panel: Panel, window: Window, weights: Floats) -> Floats:
    """The rows of (T, A) weights that decide a fold's fills, (n, A); NaN for one before the panel's first row."""
    return _decisions(panel, *fold_rows(panel, window), weights)


@lru_cache(maxsize=8)
def _tape(panel: Panel, windows: tuple[Window, ...], costs: Costs, capital: float) -> Tape:
    """Attempt after attempt trades the same folds; a panel is read-only and known by its identity."""
    return build_tape(panel, windows, costs=costs, capital=capital)


def _compiled() -> Compiled | None:
    from autoquant.oracle import kernel  # compiles: for those who ask

    return kernel.load().compiled


def _decisions(panel: Panel, first: int, stop: int, weights: Floats) -> Floats:
    expected = (len(panel.times), len(panel.assets))
    if weights.shape != expected:
        raise OutputError(f"weights have shape {weights.shape}, the panel asks for {expected}")
    rows = np.asarray(weights[max(first - 1, 0) : stop - 1], dtype=np.float64)
    if first == 0:
        rows = np.concatenate([np.full((1, rows.shape[1]), np.nan), rows])
    if np.isinf(rows).any():
        row, asset = np.argwhere(np.isinf(rows))[0]
        raise OutputError(
            f"weight of {panel.assets[asset]} is infinite at {ms_iso(int(panel.times[max(first - 1 + row, 0)]))}"
        )
    return rows


def _align(panel: Panel, weights: pd.DataFrame, window: Window) -> Floats:
    """A DataFrame on the panel's rows and columns, NaN outside its own rows."""
    import pandas as pd

    names = [str(name) for name in weights.columns]
    unknown = sorted(set(names) - set(panel.assets))
    if unknown:
        raise OutputError(f"weights have a column {unknown[0]!r}, which is no asset of the panel")
    if len(set(names)) != len(names):
        raise OutputError("weights have a column twice")
    stamps = weights.index
    if not isinstance(stamps, pd.DatetimeIndex):
        raise OutputError("weights are not indexed by time", "use the panel's own index")
    if stamps.has_duplicates:
        raise OutputError(f"weights have two rows at {stamps[stamps.duplicated()][0]}")
    utc = stamps.tz_localize("UTC") if stamps.tz is None else stamps.tz_convert("UTC")
    position = pd.Index(utc.as_unit("ms").asi8).get_indexer(pd.Index(panel.times))
    first, stop = fold_rows(panel, window)
    needed = slice(max(first - 1, 0), stop - 1)
    absent = np.flatnonzero(position[needed] < 0)
    if len(absent):
        missing = int(panel.times[needed][absent[0]])
        raise OutputError(f"weights have no row at {ms_iso(missing)}", "return a row for every bar of the panel")
    columns = np.array([panel.assets.index(name) for name in names], dtype=np.int64)
    aligned = np.zeros((len(panel.times), len(panel.assets)))
    try:
        values = weights.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise OutputError(f"weights are not numbers ({error})") from None
    aligned[:, columns] = np.where(position[:, None] >= 0, values[np.maximum(position, 0)], np.nan)
    return aligned


def _milliseconds(moment: Any) -> int:
    """Milliseconds UTC of a time."""
    if isinstance(moment, int | np.integer):
        return int(moment)
    import pandas as pd

    try:
        stamp = pd.Timestamp(moment)
    except (ValueError, TypeError):
        raise DataError(f"{moment!r} is not a time", "for example 2023-01-22, or milliseconds UTC") from None
    utc = stamp.tz_localize("UTC") if stamp.tzinfo is None else stamp.tz_convert("UTC")
    return int(utc.value) // 1_000_000
