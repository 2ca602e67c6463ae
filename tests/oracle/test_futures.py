"""A replaced future keeps the past and looks like a market."""

import numpy as np
import pytest
from strategy_lab import ASSETS, WINDOWS, market

from autoquant.oracle.draws import Draws
from autoquant.oracle.futures import shuffle_future
from autoquant.oracle.mask import Mask

FRAMES = Mask.draw(bytes(32), 1, ASSETS, WINDOWS).apply(market(), WINDOWS[0])
ROWS = len(FRAMES.times)
OPEN, HIGH, LOW, CLOSE, VOLUME, QUOTE = range(6)


@pytest.mark.parametrize("cut", [400, ROWS - 40, ROWS - 10, ROWS - 3])
def test_the_past_is_untouched_and_the_next_bar_is_another(cut: int) -> None:
    other = shuffle_future(FRAMES, cut, Draws(b"k", cut))
    assert np.array_equal(FRAMES.cube[:, : cut + 1], other.cube[:, : cut + 1], equal_nan=True)
    was = FRAMES.cube[CLOSE, cut + 1] / FRAMES.cube[CLOSE, cut]
    now = other.cube[CLOSE, cut + 1] / other.cube[CLOSE, cut]
    assert (np.abs(was - now) > 1e-12).sum() >= np.isfinite(was).sum() - 1


def test_two_futures_differ() -> None:
    one, two = (shuffle_future(FRAMES, 400, Draws(b"k", number)) for number in (1, 2))
    assert not np.array_equal(one.cube, two.cube, equal_nan=True)


def test_the_pattern_of_live_contracts_stays() -> None:
    other = shuffle_future(FRAMES, 100, Draws(b"k"))
    assert np.array_equal(np.isnan(FRAMES.cube), np.isnan(other.cube))


def test_bars_stay_bars() -> None:
    cube = shuffle_future(FRAMES, 400, Draws(b"k")).cube
    with np.errstate(invalid="ignore"):
        assert not (cube[LOW] > np.minimum(cube[OPEN], cube[CLOSE]) * (1 + 1e-12)).any()
        assert not (cube[HIGH] < np.maximum(cube[OPEN], cube[CLOSE]) * (1 - 1e-12)).any()
    value = cube[VOLUME] * cube[CLOSE] / cube[QUOTE]
    assert np.allclose(1.0, value[np.isfinite(value)])


def test_it_is_made_of_the_same_returns() -> None:
    cut, asset = 400, 0
    while np.isnan(FRAMES.cube[CLOSE, :, asset]).any():
        asset += 1
    other = shuffle_future(FRAMES, cut, Draws(b"k"))
    was, now = (np.diff(np.log(frames.cube[CLOSE, cut:, asset])) for frames in (FRAMES, other))
    assert np.allclose(np.sort(was), np.sort(now))
    assert np.isclose(FRAMES.cube[CLOSE, -1, asset], other.cube[CLOSE, -1, asset])
