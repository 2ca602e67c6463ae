"""The words and units of a panel: its fields, its time grid, its sentinel."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

FIELDS = ("open", "high", "low", "close", "volume", "quote_volume")
"""What a bar holds; prices in USDT, volume in the base coin, quote volume in USDT."""

CUBE_FIELDS = (*FIELDS, "funding_at_open", "funding_inside")
NEVER = 2**62
"""Last bar of a contract that lives on past its panel."""

HOUR_MS = 3_600_000
MINUTE_MS = 60_000

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def to_minute(instants: Ints) -> Ints:
    """Milliseconds rounded to the nearest minute: published funding times carry a few milliseconds of jitter.

    >>> to_minute(np.array([1651363200012, 1651363199990])).tolist()
    [1651363200000, 1651363200000]
    """
    rounded: Ints = (instants + MINUTE_MS // 2) // MINUTE_MS * MINUTE_MS
    return rounded
