"""What the room's functions take, checked at the door: series and panels of returns."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

DUST = 1e-12
"""A standard deviation below this share of the mean is rounding, not risk (protocol.md, Metrics)."""


def finite_series(returns: ArrayLike) -> Floats:
    """Finite values of a series, in order: what is missing (NaN, infinite) is left out.

    Raises
    ------
    ValueError : not one-dimensional.

    >>> finite_series([0.01, float("nan"), -0.02]).tolist()
    [0.01, -0.02]
    """
    values = np.asarray(returns, dtype=np.float64)
    if values.ndim != 1:
        raise ValueError(f"a series has one dimension, not {values.ndim}")
    return values[np.isfinite(values)]


def finite_panel(returns: ArrayLike) -> Floats:
    """Panel (periods, columns) of which nothing is missing; columns have to share their periods.

    Raises
    ------
    ValueError : not two-dimensional, or a value is not finite.

    >>> finite_panel([[0.01, 0.02], [0.0, -0.01]]).shape
    (2, 2)
    """
    values = np.asarray(returns, dtype=np.float64)
    if values.ndim != 2:
        raise ValueError(f"a panel has two dimensions (periods, columns), not {values.ndim}")
    missing = np.argwhere(~np.isfinite(values))
    if len(missing):
        row, column = missing[0]
        raise ValueError(f"the panel's value in row {row}, column {column} is not finite")
    return values


def moving(panel: Floats) -> Bools:
    """Which columns move at all: std (ddof 0) above 1e-12 · |mean| and above 0.

    >>> moving(np.array([[0.01, 0.01], [0.01, 0.02]])).tolist()
    [False, True]
    """
    if len(panel) < 2:
        return np.zeros(panel.shape[1], dtype=np.bool_)
    return np.asarray(panel.std(axis=0) > DUST * np.abs(panel.mean(axis=0)))


def check_share(name: str, value: float) -> None:
    """Refuse a level, coverage or confidence outside (0, 1).

    Raises
    ------
    ValueError

    >>> check_share("coverage", 0.95)
    """
    if not 0.0 < value < 1.0:
        raise ValueError(f"{name} is between 0 and 1, not {value}")
