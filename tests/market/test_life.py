"""Where a life ends, and what counts as a gap."""

from __future__ import annotations

import numpy as np
import pytest
from small_archive import BAR, HOUR, at

from autoquant.errors import DataError
from autoquant.market.life import find_life, funding_gaps, gaps, missing_days
from autoquant.market.parse import Funding, Klines

START = at("2023-01-01")


def bars(*stretches: tuple[int, int, float, float]) -> Klines:
    """Bars from (first number, count, price, volume)."""
    times = np.concatenate([START + BAR * np.arange(first, first + count) for first, count, _, _ in stretches])
    values = np.concatenate(
        [np.tile([price, price, price, price, volume, volume], (count, 1)) for _, count, price, volume in stretches]
    )
    return Klines(times, values)


def life(*stretches: tuple[int, int, float, float], files_end: bool = False):
    return find_life(bars(*stretches), "X", files_end=files_end, bar_ms=BAR)


def test_a_contract_whose_files_go_on_lives_on():
    assert None is life((0, 100, 5.0, 1.0)).last_ms


def test_a_flat_tail_to_the_last_file_is_the_end():
    assert START + 99 * BAR == life((0, 100, 5.0, 1.0), (100, 1, 5.0, 0.0), files_end=True).last_ms


def test_a_short_flat_stretch_at_the_end_of_a_living_contract_is_no_end():
    assert None is life((0, 100, 5.0, 1.0), (100, 42, 5.0, 0.0)).last_ms


def test_more_than_seven_flat_days_up_to_the_end_is_an_end_though_files_go_on():
    assert START + 99 * BAR == life((0, 100, 5.0, 1.0), (100, 43, 5.0, 0.0)).last_ms


def test_files_that_end_on_a_traded_bar_are_an_error():
    with pytest.raises(DataError, match="X: files end early without a flat tail"):
        life((0, 100, 5.0, 1.0), files_end=True)


def test_files_that_end_on_a_tail_that_is_not_flat_are_an_error():
    with pytest.raises(DataError, match="X: files end early without a flat tail"):
        life((0, 100, 5.0, 1.0), (100, 5, 5.0, 0.0), (105, 5, 4.0, 0.0), files_end=True)


def test_zero_volume_inside_life_is_no_end():
    assert None is life((0, 50, 5.0, 1.0), (50, 40, 5.0, 0.0), (90, 50, 5.0, 1.0)).last_ms


def test_trading_again_after_a_flat_week_is_another_contract_even_at_the_old_price():
    found = life((0, 50, 5.0, 1.0), (50, 43, 5.0, 0.0), (93, 50, 5.0, 1.0))
    assert START + 49 * BAR == found.last_ms
    assert "re-used ticker" in (found.ended or "")


def test_luna_that_returns_after_437_hours_at_another_price_is_another_contract():
    found = life((0, 50, 0.00005, 1.0), (159, 50, 1.0, 1.0))
    assert START + 49 * BAR == found.last_ms
    assert "no trade for 436 h, then 1 after 5e-05" in (found.ended or "")


def test_a_long_hole_with_the_old_price_behind_it_is_a_gap_not_an_end():
    found = bars((0, 50, 5.0, 1.0), (110, 50, 6.0, 1.0))
    assert None is find_life(found, "X", files_end=False, bar_ms=BAR).last_ms
    (gap,) = gaps("X", found.times, START + 160 * BAR, BAR)
    assert ("2023-01-09T08:00:00Z", "2023-01-19T04:00:00Z", 60) == (gap.first, gap.last, gap.bars)


def test_no_volume_ever_is_an_error():
    with pytest.raises(DataError, match="no bar has any volume"):
        life((0, 10, 5.0, 0.0))


def test_missing_days_are_those_that_lack_any_bar_up_to_the_end():
    times = START + BAR * np.array([2, 3, 4, 5, 6, 8, 9, 10, 11, 12])
    assert ["2023-01-02", "2023-01-03"] == missing_days(times, START + 18 * BAR, BAR)


def rows(*hours: float, stated: float = 8.0) -> Funding:
    times = START + (np.array(hours) * HOUR).astype(np.int64)
    return Funding(times, np.full(len(times), stated), np.full(len(times), 1e-4))


def found(funding: Funding, end_hours: int) -> list[float]:
    return [gap.hours for gap in funding_gaps("X", funding, START, START + end_hours * HOUR)]


def test_regular_funding_has_no_gaps():
    assert [] == found(rows(0, 8, 16, 24), 32)


def test_a_stretch_longer_than_the_interval_in_force_is_listed():
    assert [16.0] == found(rows(0, 8, 24), 32)
    assert [8.0] == found(rows(0, 4, 12, 16, stated=4.0), 20)


def test_late_first_and_early_last_rows_are_listed():
    assert [12.0, 9.0] == found(rows(12, 20), 29)


def test_more_than_24_hours_is_an_error_that_names_the_month():
    with pytest.raises(DataError, match=r"X: funding missing for 25 h in 2023-01 \(2023-01-01T08:00:00Z to"):
        found(rows(0, 8, 33), 40)


def test_no_row_at_all_is_an_error():
    with pytest.raises(DataError, match="X: funding missing for 40 h"):
        found(rows(), 40)
