"""One clean parent for every run, and small grounds: made-up sessions, and the real minutes when they are there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from task_cases import ground_of, minutes_of_2024

from autoquant.market.index_synthetic import synthetic_indices
from autoquant.market.indices import SPLIT, Bars, split_at
from autoquant.sandbox import WarmParent
from autoquant.tasks.grader import Ground
from autoquant.tasks.solution import LIMITS


@pytest.fixture(scope="session")
def parent() -> Iterator[WarmParent]:
    with WarmParent(LIMITS) as parent:
        yield parent


@pytest.fixture(scope="session")
def small() -> tuple[Bars, Bars]:
    """24 sessions shown, eight hidden."""
    return split_at(synthetic_indices(7, shown=9_000, hidden=3_000), SPLIT)


@pytest.fixture(scope="session")
def easy(parent: WarmParent, small: tuple[Bars, Bars]) -> Ground:
    return ground_of(parent, "easy", *small)


@pytest.fixture(scope="session")
def medium(parent: WarmParent, small: tuple[Bars, Bars]) -> Ground:
    return ground_of(parent, "medium", *small)


@pytest.fixture(scope="session")
def whole_synthetic() -> tuple[Bars, Bars]:
    """The pair that `setup_data.py --indices --synthetic` makes: as many bars as the reference set has."""
    return split_at(synthetic_indices(), SPLIT)


@pytest.fixture(scope="session")
def medium_long(parent: WarmParent, whole_synthetic: tuple[Bars, Bars]) -> Ground:
    return ground_of(parent, "medium", *whole_synthetic)


@pytest.fixture(scope="session")
def real_minutes(shared: Path) -> Bars:
    return minutes_of_2024(shared)
