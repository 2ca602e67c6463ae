"""Results keep the order of the items; the first failure is raised."""

from __future__ import annotations

import time

import pytest

from autoquant.executor import LocalPool


def slow_square(number: int) -> int:
    time.sleep(0.01 * (3 - number % 3))
    return number * number


@pytest.mark.parametrize("kind", ["threads", "processes"])
def test_results_keep_the_order_of_the_items(kind: str) -> None:
    seen: list[tuple[int, int]] = []
    with LocalPool(kind, jobs=2) as pool:  # type: ignore[arg-type]
        assert [0, 1, 4, 9, 16] == pool.map(slow_square, range(5), on_result=lambda d, t: seen.append((d, t)))
    assert seen == [(i, 5) for i in range(1, 6)]


def test_a_failure_is_raised_and_the_rest_dropped() -> None:
    with LocalPool("threads", jobs=1) as pool, pytest.raises(ZeroDivisionError):
        pool.map(lambda x: 1 // x, [1, 0, 2])
