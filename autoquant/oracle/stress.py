"""Numbers beside an accepted score, never scored: how it hangs on the calendar, how deep it falls, how sure it is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from autoquant.oracle.metrics import max_drawdown, sharpe_ratio, volatility
from autoquant.oracle.records import ShiftedScore, Stress
from autoquant.protocol import PROTOCOL, STRESS_VOLATILITY
from autoquant.stats.sharpe import sharpe_interval


def stress(
    daily_returns: Sequence[Sequence[float]],
    shifted: Sequence[ShiftedScore],
    *,
    target: float = STRESS_VOLATILITY,
    year_days: int = PROTOCOL.calendar.year_days,
) -> Stress:
    """The record of one accepted strategy.

    Parameters
    ----------
    daily_returns : folds × days, at plain costs.
    shifted : scores of the same strategy on moved folds.
    target : yearly volatility of `drawdown_at_volatility`.
    """
    returns = np.concatenate([np.asarray(fold, dtype=np.float64) for fold in daily_returns])
    interval = sharpe_interval(returns)
    low, high = (None, None) if interval is None else (bound * float(np.sqrt(year_days)) for bound in interval)
    return Stress(
        shifted=tuple(shifted),
        drawdown_at_volatility=drawdown_at_volatility(returns, target),
        sharpe=sharpe_ratio(returns, year_days),
        sharpe_low=low,
        sharpe_high=high,
    )


def drawdown_at_volatility(returns: ArrayLike, target: float) -> float | None:
    """Largest fall of the path, had each day's return been scaled so that yearly volatility is `target`.

    Daily closes only, without costs of the scaling; None where the returns never move.

    Parameters
    ----------
    returns : (d,) daily returns of the folds in a row.
    target : per year, for example 0.20.

    >>> round(drawdown_at_volatility([0.02, -0.02, 0.02, -0.02], 0.20), 6)
    0.009147
    """
    values = np.asarray(returns, dtype=np.float64)
    actual = volatility(values)
    if not actual > 0:
        return None
    return max_drawdown(np.cumprod(np.maximum(1.0 + values * (target / actual), 0.0)))
