"""Where a look ahead would pay: on bars that gained, and on bars that were spared."""

import numpy as np
import pytest
from strategy_lab import WINDOWS, market

from autoquant.oracle import simulate_folds
from autoquant.oracle.folds import Window
from autoquant.oracle.merit import merits
from autoquant.oracle.runs import Run, Span

PANEL = market()


def span(window: Window) -> Span:
    row = PANEL.row
    return Span(row(window.history_ms), row(window.train_end_ms), row(window.start_ms), row(window.end_ms))


SPANS = [span(window) for window in WINDOWS]


def merits_of(weights: np.ndarray) -> list[np.ndarray]:
    runs = [Run(s.first, weights[s.first : s.stop], np.ones(s.stop - s.first, dtype=bool), 0.0, 0.0) for s in SPANS]
    return merits(PANEL, SPANS, runs, simulate_folds(PANEL, [weights] * len(SPANS), WINDOWS)[0])


def held(weight: float = 0.1) -> np.ndarray:
    return np.where(np.isfinite(PANEL.close), weight, 0.0)


def test_a_bar_that_a_strategy_sat_out_before_a_fall_weighs_more_than_any_it_gained_on() -> None:
    weights = held()
    move = np.nan_to_num(PANEL.close[1:] / PANEL.open[1:] - 1.0).mean(axis=1)
    worst = SPANS[0].start + int(np.argmin(move[SPANS[0].start - 1 : SPANS[0].stop - 1]))
    weights[worst - 1] = 0.0
    paid = merits_of(weights)
    assert worst - SPANS[0].start == int(np.argmax(paid[0]))


def test_gains_and_good_timing_share_the_mass_in_halves() -> None:
    weights = held() * np.where(np.arange(len(PANEL)) % 9 < 5, 1.0, 0.3)[:, None]
    results = simulate_folds(PANEL, [weights] * len(SPANS), WINDOWS)[0]
    gained = sum(np.maximum(result.bars.price_pnl + result.bars.funding, 0.0).sum() for result in results)
    assert 2 * gained == pytest.approx(sum(part.sum() for part in merits_of(weights)))


def test_a_book_that_never_moves_is_weighed_by_its_gains_alone_and_cash_by_nothing() -> None:
    still = np.full(PANEL.close.shape, 0.0)
    still[:, 0] = 0.5
    result = simulate_folds(PANEL, [still] * len(SPANS), WINDOWS)[0][0]
    expected = np.maximum(result.bars.price_pnl + result.bars.funding, 0.0)
    np.testing.assert_allclose(expected, merits_of(still)[0], rtol=0, atol=1e-15)
    assert 0.0 == sum(part.sum() for part in merits_of(still * 0))


def test_units_held_through_nan_count_as_the_weight_stated_last() -> None:
    stated = held() * np.where(np.arange(len(PANEL)) % 12 < 6, 1.0, 0.2)[:, None]
    silent = stated.copy()
    silent[np.arange(len(PANEL)) % 6 != 0] = np.nan
    silent[SPANS[0].start - 1] = stated[SPANS[0].start - 1]
    silent[SPANS[1].start - 1] = stated[SPANS[1].start - 1]
    assert all((part >= 0).all() and part.sum() > 0 for part in merits_of(silent))
