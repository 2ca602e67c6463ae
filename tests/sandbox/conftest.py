from collections.abc import Iterator

import numpy as np
import pytest

from autoquant.protocol import Limits
from autoquant.sandbox import CallFrames, WarmParent, strategy_isolation
from autoquant.sealing import Level, Seal

FIELDS = ("open", "high", "low", "close", "volume", "quote_volume", "funding")
SMALL = Limits(cpu_seconds=1.0, memory_bytes=256 * 1024**2, wall_backstop_seconds=20.0)


@pytest.fixture(scope="session")
def frames() -> CallFrames:
    rows, assets = 60, 3
    times = 1_600_000_200_000 + np.arange(rows, dtype=np.int64) * 14_400_000
    cube = np.arange(len(FIELDS) * rows * assets, dtype=float).reshape(len(FIELDS), rows, assets)
    return CallFrames(times, ("A00", "A01", "A02"), FIELDS, cube, ("tier",), np.array([[1, 2, 2]]))


@pytest.fixture(scope="session")
def real_seal() -> Seal:
    """What this machine puts around strategy code; a test that needs it is skipped where there is none."""
    found = strategy_isolation()
    if found.seal is None:
        pytest.skip(f"not sealed here: {found.reason}")
    return found.seal


@pytest.fixture(scope="session", params=list(Level), ids=str)
def seal(request: pytest.FixtureRequest) -> Seal | None:
    """Once per level."""
    return request.getfixturevalue("real_seal") if request.param is Level.SEALED else None


@pytest.fixture(scope="session")
def parent(seal: Seal | None) -> Iterator[WarmParent]:
    with WarmParent(SMALL, seal=seal) as parent:
        yield parent


@pytest.fixture(scope="session")
def one_parent() -> Iterator[WarmParent]:
    """For what is slow and the same at each level: the highest this machine gives."""
    with WarmParent(SMALL, seal=strategy_isolation().seal) as parent:
        yield parent
