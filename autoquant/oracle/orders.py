"""What is wanted at each bar's open: decision rows, and the scenarios they are traded under."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from autoquant.oracle.tape import Tape

Floats = NDArray[np.float64]

_FEW_LANES = 8
"""Up to so many lanes, writing lane by lane is faster than a stride-0 broadcast."""


@dataclass(frozen=True)
class Scenario:
    """One way to trade the same decisions: a multiple of all costs, and bars of extra delay before a fill."""

    cost_multiplier: float = 1.0
    delay_bars: int = 0


@dataclass(frozen=True, eq=False)
class Orders:
    """Decisions and how they are traded. n bars, A assets, F folds, S lanes (scenarios or samples).

    Attributes
    ----------
    decisions : (n, A, F, S), or (n, A, F, 1) for the same in every lane: row t is decided at the close before bar t, a
        signed fraction of equity. NaN holds the units.
    delays : (S,) a delay of k bars fills bar t with row t − k; rows before the first decision row are no order.
    multiplier : (S,) cost multiple of each lane.
    shared_pattern : all lanes have NaN in the same places.
    """

    decisions: Floats
    delays: tuple[int, ...]
    multiplier: Floats
    shared_pattern: bool = False

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """(n, A, F, S)."""
        bars, assets, folds = self.decisions.shape[:3]
        return bars, assets, folds, len(self.delays)

    def lay(self, tape: Tape, first: int, target: Floats, limit: Floats) -> None:
        """Write the orders of the bars from `first` on.

        Parameters
        ----------
        tape : says where a fill may happen, and how large.
        target : (b, A, F, S) takes signed fractions of equity; 0 where no order stands.
        limit : (b, A, F, S) takes the largest |Δ| as a fraction of capital; 0 where no order stands.
        """
        bars = slice(first, first + len(target))
        tradable, cap = tape.tradable[bars], tape.cap[bars]
        if self.decisions.shape[-1] > 1:
            rows = self.decisions[bars]
            stands = np.isfinite(rows[..., :1] if self.shared_pattern else rows) & tradable[..., None]
            np.copyto(target, np.where(stands, rows, 0.0))
            np.copyto(limit, np.where(stands, cap[..., None], 0.0))
            return
        for delay in set(self.delays):
            rows = self._delayed(first - delay, len(target))
            stands = np.isfinite(rows) & tradable
            lanes = [lane for lane, own in enumerate(self.delays) if own == delay]
            spread(target, np.where(stands, rows, 0.0), lanes)
            spread(limit, np.where(stands, cap, 0.0), lanes)

    def _delayed(self, first: int, count: int) -> Floats:
        """(count, A, F) decision rows from `first` on; NaN for those before the first."""
        rows = self.decisions[max(first, 0) : max(first + count, 0), ..., 0]
        if len(rows) == count:
            return rows
        before = np.full((count - len(rows), *rows.shape[1:]), np.nan)
        return np.concatenate([before, rows])


def place_orders(decisions: Sequence[Floats], scenarios: Sequence[Scenario]) -> Orders:
    """Orders of the same decisions under every scenario.

    Parameters
    ----------
    decisions : per fold (n, A): row t is decided at the close before bar t. NaN holds the units.
    scenarios : cost levels and delays.
    """
    multiplier = np.array([scenario.cost_multiplier for scenario in scenarios], dtype=np.float64)
    delays = tuple(scenario.delay_bars for scenario in scenarios)
    return Orders(np.stack(decisions, axis=-1)[..., None], delays, multiplier)


def sample_orders(decisions: Floats) -> Orders:
    """Orders of (n, A, F, S) decisions at plain costs, whose lanes all have NaN in the same places."""
    lanes = decisions.shape[-1]
    return Orders(decisions, (0,) * lanes, np.ones(lanes), shared_pattern=True)


def spread(out: Floats, values: Floats, lanes: Sequence[int]) -> None:
    """Write (b, A, F) values into some lanes of (b, A, F, S)."""
    if len(lanes) > _FEW_LANES and len(lanes) == out.shape[-1]:
        np.copyto(out, values[..., None])
        return
    for lane in lanes:
        out[..., lane] = values
