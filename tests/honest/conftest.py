from collections.abc import Iterator

import pytest
from strategy_lab import Lab, open_lab


@pytest.fixture(scope="session")
def lab() -> Iterator[Lab]:
    with open_lab() as lab:
        yield lab
