"""The stationary bootstrap's own step: from drawn block starts to drawn days."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Whole = TypeVar("Whole", np.int32, np.int64)


def stationary_days(starts: NDArray[Whole], begins: NDArray[np.bool_], axis: int) -> NDArray[Whole]:
    """Days of a circular stationary bootstrap (Politis & Romano 1994, JASA 89(428)).

    A block begins where `begins` says so, and always at the first place, at the day in `starts`; from there on days
    follow each other, the first after the last.

    Parameters
    ----------
    starts : uniform days, 0 … n−1, with n places along `axis`.
    begins : same shape, true with probability 1 / mean block length.

    Returns
    -------
    Days in the shape and type of `starts`.

    >>> stationary_days(np.array([3, 0, 1, 2]), np.array([False, False, True, False]), 0).tolist()
    [3, 0, 1, 2]
    """
    days = starts.shape[axis]
    shape = [1] * starts.ndim
    shape[axis] = days
    position = np.arange(days, dtype=starts.dtype).reshape(shape)
    block = np.maximum.accumulate(np.where(begins, position, starts.dtype.type(0)), axis=axis)
    return np.asarray((np.take_along_axis(starts, block, axis=axis) + position - block) % days, dtype=starts.dtype)
