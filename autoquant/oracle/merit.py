"""What each decision earned: where a look at the next bar would have paid, and so where to cut.

Profit alone is not enough. A strategy that steps aside just before a fall makes nothing on the bar it saw coming: the
gain is a loss that did not happen. So a decision is also held against the fold's average book.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from autoquant.market import Panel
from autoquant.oracle.gates import stated_weights
from autoquant.oracle.result import FoldResult
from autoquant.oracle.runs import Run, Span

Floats = NDArray[np.float64]


def merits(panel: Panel, spans: Sequence[Span], runs: Sequence[Run], results: Sequence[FoldResult]) -> list[Floats]:
    """Weight of each scored bar in the draw of cuts, per fold (n,); never negative.

    Half of the mass goes to bars that gained (price and funding, costs left out), half to bars on which the decision
    before them did better than the fold's mean book would have, Σ_a (w_a − w̄_a) · (close_a / open_a − 1). Where one
    half is empty, the other is all.

    Parameters
    ----------
    panel, spans : where the folds lie.
    runs, results : per fold its decisions and what they came to.
    """
    gains = [np.maximum(result.bars.price_pnl + result.bars.funding, 0.0) for result in results]
    timing = [np.maximum(_better_than_mean(panel, span, run), 0.0) for span, run in zip(spans, runs, strict=True)]
    gained, timed = (float(sum(part.sum() for part in parts)) for parts in (gains, timing))
    scale = gained / timed if gained > 0 and timed > 0 else 1.0
    return [gain + scale * other for gain, other in zip(gains, timing, strict=True)]


def _better_than_mean(panel: Panel, span: Span, run: Run) -> Floats:
    bars = slice(span.start, span.stop)
    first = span.start - 1 - run.first_row
    held = stated_weights(run.values[first : first + span.stop - span.start])
    move = panel.close[bars] / panel.open[bars] - 1.0
    return np.asarray(np.nansum((held - held.mean(axis=0)) * move, axis=1))
