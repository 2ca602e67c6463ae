"""Hiding a market is exact: what a blind strategy sees is the market, bit for bit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategy_lab import ASSETS, WINDOWS, market

from autoquant.clock import ms_iso
from autoquant.oracle.folds import DAY_MS, valid_windows
from autoquant.oracle.mask import SHOWN_FIELDS, Mask

SECRETS = st.binary(min_size=32, max_size=32)


def drawn(secret: bytes = bytes(32), attempt: int = 1, which: int = 0) -> Mask:
    return Mask.draw(secret, attempt, ASSETS, WINDOWS, which)


def test_a_mask_follows_from_secret_attempt_and_number() -> None:
    assert drawn() == drawn()
    others = [drawn(which=1), drawn(attempt=2), drawn(b"\1" * 32)]
    assert all(drawn() != other for other in others)


@settings(max_examples=25, deadline=None)
@given(SECRETS)
def test_unscaling_gives_back_every_bit(secret: bytes) -> None:
    mask, panel = drawn(secret), market()
    shown = mask.apply(panel, WINDOWS[0])
    scale = np.ldexp(1.0, np.array(mask.exponents))
    for k, name in enumerate(SHOWN_FIELDS):
        real = mask.unmask(shown.cube[k])
        if name in ("open", "high", "low", "close"):
            real = real / scale
        elif name == "volume":
            real = real * scale
        assert np.array_equal(getattr(panel, name), real, equal_nan=True), name
    assert np.array_equal(panel.tier, mask.unmask(shown.label_values.astype(float))[0])


@settings(max_examples=25, deadline=None)
@given(SECRETS)
def test_returns_are_bit_for_bit_the_same(secret: bytes) -> None:
    """INV-06."""
    mask, panel = drawn(secret), market()
    close = mask.unmask(mask.apply(panel, WINDOWS[0]).cube[3])
    assert np.array_equal(panel.close[1:] / panel.close[:-1], close[1:] / close[:-1], equal_nan=True)


@settings(max_examples=25, deadline=None)
@given(SECRETS)
def test_dates_move_by_whole_weeks_by_another_number_in_each_fold_and_stay_sane(secret: bytes) -> None:
    windows = valid_windows()
    mask = Mask.draw(secret, 1, ASSETS, windows)
    shifts = [mask.shift_ms(window) for window in windows]
    assert len(windows) == len(set(shifts))
    assert all(shift % (7 * DAY_MS) == 0 and shift != 0 for shift in shifts)
    for window, shift in zip(windows, shifts, strict=True):
        assert "2015" < ms_iso(window.history_ms + shift) < ms_iso(window.end_ms + shift) < "2030"


def test_weekday_and_hour_are_kept() -> None:
    panel, week = market(), 7 * DAY_MS
    shown = drawn().apply(panel, WINDOWS[1])
    assert np.array_equal(panel.times % week, shown.times % week)


def test_names_say_nothing_and_the_order_is_shuffled() -> None:
    """INV-06."""
    orders = {drawn(bytes([i]) * 32).order for i in range(8)}
    assert ("A00", "A01", "A02") == drawn().names[:3]
    assert 8 == len(orders)
    assert tuple(range(len(ASSETS))) == tuple(sorted(drawn().order))


def test_an_answer_comes_back_in_real_order() -> None:
    mask = drawn()
    answer = np.array([[float(real) for real in mask.order]])
    assert np.array_equal([[float(i) for i in range(len(ASSETS))]], mask.unmask(answer))


def test_what_is_shown_cannot_be_written() -> None:
    with pytest.raises(ValueError, match="read-only"):
        drawn().apply(market(), WINDOWS[0]).cube[0, 0, 0] = 1.0
