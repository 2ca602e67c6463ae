from collections.abc import Iterator

import numpy as np
import pytest

from autoquant.protocol import Limits
from autoquant.sandbox import CallFrames, WarmParent

FIELDS = ("open", "high", "low", "close", "volume", "quote_volume", "funding")
SMALL = Limits(cpu_seconds=1.0, memory_bytes=256 * 1024**2, wall_backstop_seconds=20.0)


@pytest.fixture(scope="session")
def frames() -> CallFrames:
    rows, assets = 60, 3
    times = 1_600_000_200_000 + np.arange(rows, dtype=np.int64) * 14_400_000
    cube = np.arange(len(FIELDS) * rows * assets, dtype=float).reshape(len(FIELDS), rows, assets)
    return CallFrames(times, ("A00", "A01", "A02"), FIELDS, cube, ("tier",), np.array([[1, 2, 2]]))


@pytest.fixture(scope="session")
def parent() -> Iterator[WarmParent]:
    with WarmParent(SMALL) as parent:
        yield parent
