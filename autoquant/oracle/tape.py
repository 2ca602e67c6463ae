"""What the market does to a position in each bar of some folds: marks, funding, and what a fill may be and costs.

Everything here is known before any strategy is; the time loop in `engine` only reads it. Arrays are (bars, assets,
folds), bars first because that is the loop, folds last because sums run over assets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from autoquant.clock import ms_iso
from autoquant.errors import DataError
from autoquant.oracle.daily import liquidity
from autoquant.oracle.folds import DAY_MS, Window
from autoquant.protocol import PROTOCOL, Costs

if TYPE_CHECKING:
    from autoquant.market.panel import Panel

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

BASIS_POINT = 1e-4


@dataclass(frozen=True, eq=False)
class Tape:
    """Folds of one length, ready to be traded. n bars, A assets, F folds.

    Attributes
    ----------
    times : (F, n) open times, ms UTC.
    bar_ms : length of a bar.
    mark_open, mark_close : (n, A, F) prices a position is valued at: the bar's own, else the last mark before it.
    funding_open, funding_inside : (n, A, F) USDT a unit held long pays at the open instant, and later in the bar.
    tradable : (n, A, F) a fill may happen: the bar is live and has volume, and the history rule holds.
    cap : (n, A, F) largest |Δ| of a fill as a fraction of capital; infinite where none applies.
    impact : (n, A, F) κ of the impact charge κ·|Δ|^1.5, |Δ| as a fraction of capital; 0 where liquidity is unknown.
    settles : (n, A, F) the contract's last bar.
    taker, half_spread : fee rate, and (A,) half-spread rates.
    """

    times: Ints
    bar_ms: int
    mark_open: Floats
    mark_close: Floats
    funding_open: Floats
    funding_inside: Floats
    tradable: Bools
    cap: Floats
    impact: Floats
    settles: Bools
    taker: float
    half_spread: Floats

    @property
    def years(self) -> float:
        """Length of one fold in 365-day years."""
        return int(self.times.shape[1]) * self.bar_ms / (PROTOCOL.calendar.year_days * DAY_MS)


def fold_rows(panel: Panel, window: Window) -> tuple[int, int]:
    """Rows [first, stop) of a fold's bars. Its decision rows are [first − 1, stop − 1).

    Raises
    ------
    DataError : the panel has no bar in the window.
    """
    first, stop = panel.row(window.start_ms), panel.row(window.end_ms)
    if first >= stop:
        raise DataError(
            f"panel holds no bar in fold {window.number}, {ms_iso(window.start_ms)} to {ms_iso(window.end_ms)}",
            "choose a window inside the panel",
        )
    return first, stop


def build_tape(
    panel: Panel, windows: Sequence[Window], *, costs: Costs = PROTOCOL.costs, capital: float = PROTOCOL.capital_usdt
) -> Tape:
    """Cut folds of one length out of a panel.

    Parameters
    ----------
    panel : with the bars before each fold that σ_day and V_day look back on.
    windows : F folds with the same number of bars.
    costs : rates, and which of impact, volume cap and history rule apply.
    capital : USDT that equity 1 stands for.

    Raises
    ------
    DataError : a fold without bars, or folds of different lengths.
    """
    rows = [fold_rows(panel, window) for window in windows]
    if len({stop - first for first, stop in rows}) != 1:
        raise DataError("folds of different lengths on one tape", "build one tape per length")
    half_spread = np.where(panel.tier == 1, costs.half_spread_tier1_bp, costs.half_spread_tier2_bp) * BASIS_POINT
    strips = [_strip(panel, first, stop, costs, capital) for first, stop in rows]
    stacked = {name: np.ascontiguousarray(np.stack([s[name] for s in strips], axis=-1)) for name in strips[0]}
    return Tape(
        times=np.stack([panel.times[first:stop] for first, stop in rows]),
        bar_ms=panel.bar_ms,
        taker=costs.taker_bp * BASIS_POINT,
        half_spread=half_spread,
        **stacked,
    )


def _strip(panel: Panel, first: int, stop: int, costs: Costs, capital: float) -> dict[str, NDArray]:  # type: ignore[type-arg]
    """One fold's (n, A) arrays."""
    inside = slice(first, stop)
    open_, close = panel.open[inside], panel.close[inside]
    mark_open, mark_close = _marks(open_, close)
    live = np.isfinite(open_) & np.isfinite(close) & (panel.volume[inside] > 0)
    live &= panel.times[inside, None] <= panel.last_bar
    cap, impact, allowed = _liquidity_limits(panel, first, stop, costs, capital)
    return {
        "mark_open": mark_open,
        "mark_close": mark_close,
        "funding_open": mark_open * panel.funding_at_open[inside],
        "funding_inside": mark_open * panel.funding_inside[inside],
        "tradable": live & allowed,
        "cap": cap,
        "impact": impact,
        "settles": panel.times[inside, None] == panel.last_bar,
    }


def _liquidity_limits(
    panel: Panel, first: int, stop: int, costs: Costs, capital: float
) -> tuple[Floats, Floats, Bools]:
    """Cap, impact coefficient, and where the liquidity of the days before lets a fill happen."""
    shape = (stop - first, len(panel.assets))
    if not (costs.history_rule or costs.impact_y or costs.participation_cap is not None):
        return np.full(shape, np.inf), np.zeros(shape), np.ones(shape, dtype=bool)
    sigma, volume = liquidity(
        panel.times,
        panel.close,
        panel.quote_volume,
        first,
        stop,
        window_days=costs.window_days,
        minimum_days=costs.minimum_days,
    )
    known = np.isfinite(sigma) & np.isfinite(volume)
    traded = known & (volume > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        kappa = costs.impact_prefactor * costs.impact_y * sigma * np.sqrt(capital / volume)
    impact = np.where(traded, kappa, 0.0)
    if costs.participation_cap is None:
        cap = np.full(shape, np.inf)
    else:
        cap = np.where(np.isfinite(volume), costs.participation_cap * volume / capital, np.inf)
    allowed = (known if costs.history_rule else np.ones(shape, dtype=bool)) & (volume != 0)
    return cap, impact, allowed


def _marks(open_: Floats, close: Floats) -> tuple[Floats, Floats]:
    """Open and close marks: the last finite price so far; 1.0 before the first, when nothing can be held yet."""
    bars, assets = open_.shape
    if np.isfinite(open_).all() and np.isfinite(close).all():
        return open_, close
    path = np.empty((2 * bars, assets))
    path[0::2], path[1::2] = open_, close
    last = np.where(np.isfinite(path), np.arange(2 * bars)[:, None], -1)
    np.maximum.accumulate(last, axis=0, out=last)
    filled = np.where(last >= 0, np.take_along_axis(path, np.maximum(last, 0), axis=0), 1.0)
    return filled[0::2], filled[1::2]
