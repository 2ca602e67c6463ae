from __future__ import annotations

import numpy as np
import pytest
from engine_markets import FREE, market, random_market, random_weights, span, weights
from hypothesis import given, settings
from hypothesis import strategies as st

from autoquant.oracle import chained, fold_score, score, simulate
from autoquant.oracle.daily import daily_closes, daily_volumes, rolling_median, rolling_std
from autoquant.oracle.folds import Window
from autoquant.oracle.metrics import chain, daily_rows, max_drawdown

HOUR = 3_600_000


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 1000), rows=st.integers(8, 40), window=st.integers(2, 8), minimum=st.integers(2, 5))
def test_rolling_figures_equal_numpy_on_every_window(seed, rows, window, minimum):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(rows, 2))
    values[rng.random(values.shape) < 0.3] = np.nan
    deviation, median = rolling_std(values, window, minimum), rolling_median(values, window, minimum)
    for start in range(rows - window + 1):
        for asset in range(2):
            seen = values[start : start + window, asset]
            seen = seen[~np.isnan(seen)]
            enough = len(seen) >= minimum
            assert (seen.std(ddof=1) if enough else np.nan) == pytest.approx(
                deviation[start, asset], rel=1e-12, nan_ok=True
            )
            assert (np.median(seen) if enough else np.nan) == pytest.approx(
                median[start, asset], rel=1e-12, nan_ok=True
            )


def test_a_day_takes_its_last_finite_close_and_the_volume_of_the_bars_there_are():
    day = np.array([0, 0, 0, 2, 2])
    close = np.array([[1.0], [2.0], [np.nan], [np.nan], [np.nan]])
    volume = np.array([[5.0], [6.0], [np.nan], [np.nan], [0.0]])
    assert [2.0, None, None] == [None if np.isnan(x) else x for x in daily_closes(day, close)[:, 0]]
    assert [11.0, None, 0.0] == [None if np.isnan(x) else x for x in daily_volumes(day, volume)[:, 0]]


@pytest.mark.parametrize(
    ("first_hour", "bars", "hours", "rows"),
    [
        (0, 12, 4, [5, 11]),
        (20, 7, 4, [0, 6]),  # one bar of the first day, then a whole one
        (0, 8, 4, [5, 7]),  # a part of a day at the end counts
        (0, 3, 24, [0, 1, 2]),
        (0, 2, 48, [-1, 0, 0, 1]),  # nothing has closed at the first midnight
    ],
)
def test_daily_samples_are_the_last_close_by_midnight(first_hour, bars, hours, rows):
    times = (first_hour + hours * np.arange(bars)) * HOUR
    assert rows == daily_rows(times, hours * HOUR).tolist()


def test_the_last_daily_sample_includes_the_close_out():
    panel = random_market(31, days=20)
    result = simulate(panel, random_weights(32, panel), *span(panel, 60))
    assert result.equity[-1] == pytest.approx(np.prod(1 + result.daily_returns), rel=1e-12)


def test_fold_equities_are_multiplied_into_one_path():
    path = chain([np.array([1.1, 1.2]), np.array([0.5, 1.0])])
    assert [1.1, 1.2, 0.6, 1.2] == pytest.approx(path.tolist())
    assert 0.5 == pytest.approx(max_drawdown(path))


def test_chained_turnover_and_gross_are_over_all_bars():
    panel = market({"A": [100.0] * 24})
    values = weights(panel, A=[0.5] * 24)
    short = simulate(panel, values, *span(panel, 6, 12), costs=FREE)
    long_ = simulate(panel, values, *span(panel, 6, 18), costs=FREE)
    path = chained([short, long_])
    assert (short.turnover_sum + long_.turnover_sum) / (18 / 2190) == pytest.approx(path.turnover)
    assert (short.mean_gross * 6 + long_.mean_gross * 12) / 18 == pytest.approx(path.mean_gross)
    assert path.turnover / path.mean_gross == pytest.approx(path.turnover_per_gross)
    assert 2 == path.trades


def test_turnover_per_gross_is_missing_when_nothing_was_held():
    panel = market({"A": [100.0] * 12})
    assert chained([simulate(panel, weights(panel, A=0.0), *span(panel))]).turnover_per_gross is None


def test_the_score_punishes_folds_that_differ():
    assert 1.0 == pytest.approx(score([1.0] * 6))
    assert 1.0 - 0.5 == pytest.approx(score([0.0, 2.0]))


def test_a_fold_s_record_names_its_window_and_keeps_no_path():
    panel = random_market(33, days=20)
    start, end = span(panel, 60)
    result = simulate(panel, random_weights(34, panel), start, end)
    record = fold_score(Window(1, start, start, start, end), result)
    assert ("2021-03-11T00:00:00Z", "2021-03-21T00:00:00Z") == (record.start, record.end)
    assert (result.sharpe, result.trades, result.funding) == (record.sharpe, record.trades, record.funding)
