"""Two runs of one start: where do they disagree about the past?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from autoquant.clock import ms_iso
from autoquant.market import Panel
from autoquant.oracle.runs import Run


@dataclass(frozen=True)
class Difference:
    """Changed decisions up to a cut."""

    row: int
    """Panel row of the first one."""
    column: int
    """Its asset."""
    count: int
    largest: float
    """NaN when a weight is NaN or missing in one run only."""

    def say(self, panel: Panel) -> str:
        """In words, with real times and names: for the arena's file and for use outside a race."""
        gap = f"by up to {self.largest:.3g}" if np.isfinite(self.largest) else "NaN or missing in one of the two"
        where = f"{ms_iso(int(panel.times[self.row]))} for {panel.assets[self.column]}"
        return f"{self.count} earlier weights changed, first at {where}, {gap}"


def difference(one: Run, other: Run, cut: int, tolerance: float) -> Difference | None:
    """What differs on rows up to panel row `cut`, NaN pattern and missing rows too; None when nothing does."""
    rows = cut + 1 - one.first_row
    a, b = one.values[:rows], other.values[:rows]
    gap = np.abs(a - b)
    absent = np.isnan(a) != np.isnan(b)
    absent |= (one.present[:rows] != other.present[:rows])[:, None]
    changed = absent | (gap > tolerance)
    if not changed.any():
        return None
    row, column = (int(i) for i in np.argwhere(changed)[0])
    largest = np.nan if absent.any() else float(np.nanmax(gap))
    return Difference(one.first_row + row, column, int(changed.sum()), largest)


def speaks(run: Run) -> bool:
    """Whether the run states any weight but zero: silence proves nothing."""
    return bool((np.nan_to_num(run.values) != 0).any())
