"""Buy and hold on the sealed year: bought once, kept, and charged like everybody."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from engine_markets import FREE, market

from autoquant.market.panel import Panel
from autoquant.oracle.folds import lockbox_window
from autoquant.oracle.judge import Pins
from autoquant.oracle.records import Evaluation
from autoquant.oracle.reference import buy_and_hold, held_weights
from autoquant.protocol import PROTOCOL, Protocol

PINS = Pins("p", "c", "d")
START = "2025-05-01"
BEFORE = 61 * 6
"""Bars before the sealed year."""
BARS = BEFORE + 365 * 6
WITHOUT_COSTS = replace(PROTOCOL, costs=FREE)


def year(**closes: Sequence[float]) -> Panel:
    """A market whose opens are the closes before them."""
    opens = {name: [values[0], *values[:-1]] for name, values in closes.items()}
    return market(opens, closes, start=START)


def path(*levels: float) -> list[float]:
    """1 before the sealed year, then through the levels in equal stretches, the last one at its very end."""
    points = np.linspace(0, BARS - BEFORE - 1, len(levels) + 1)
    return [*np.ones(BEFORE), *np.interp(np.arange(BARS - BEFORE), points, (1.0, *levels))]


def total(panel: Panel, protocol: Protocol = WITHOUT_COSTS) -> float:
    return held(panel, protocol).folds[0].total_return


def held(panel: Panel, protocol: Protocol = WITHOUT_COSTS) -> Evaluation:
    return buy_and_hold(panel, pins=PINS, protocol=protocol)


def test_equal_weights_are_bought_once_and_kept():
    """INV-28: a half that doubles and a half that loses half end at 1.25; rebalanced every bar they would be at 1.0."""
    assert 0.25 == pytest.approx(total(year(A=path(2.0), B=path(0.5))), abs=1e-9)
    assert 0.0 == pytest.approx(total(year(A=path(2.0, 1.0), B=path(1.0, 1.0))), abs=1e-9)


def test_fee_spread_and_funding_are_charged_as_for_an_entry():
    """INV-28."""
    flat = year(A=path(1.0), B=path(1.0))
    evaluation = held(flat, PROTOCOL)
    fold = evaluation.folds[0]
    assert 2 * 5e-4 == pytest.approx(fold.fee, rel=1e-3)  # in and out of everything
    assert fold.total_return == pytest.approx(-(fold.fee + fold.spread + fold.impact), rel=1e-3)
    paying = market({name: path(1.0) for name in "AB"}, start=START, funding=[("A", "2025-08-01T00:00:00Z", 0.01)])
    assert -0.005 == pytest.approx(held(paying, PROTOCOL).folds[0].funding, rel=1e-2)


def test_the_volume_cap_leaves_cash_unspent():
    thin = market({name: path(1.0) for name in "AB"}, start=START, quote_volume={name: [1e6] * BARS for name in "AB"})
    assert 2 * 0.05 * 6 == pytest.approx(held(thin, PROTOCOL).folds[0].mean_gross, rel=1e-2)


def test_what_has_ended_before_is_not_bought_and_what_ends_later_is_settled():
    dead, dying = np.array(path(1.0)), np.array(path(0.5))
    dead[BEFORE - 20 :] = np.nan
    end = BEFORE + 100
    dying[end + 1 :] = np.nan
    stop = market({"A": path(2.0), "B": dead, "C": dying}, start=START)
    panel = replace(stop, last_bar=np.array([stop.last_bar[0], stop.times[BEFORE - 21], stop.times[end]]))
    weights = held_weights(panel, lockbox_window())
    assert [0.5, 0.0, 0.5] == weights[BEFORE - 1].tolist()
    assert np.isnan(np.delete(weights, BEFORE - 1, axis=0)).all()
    settled = 0.5 * float(dying[end]) + 0.5 * 2.0 - 1.0
    assert settled == pytest.approx(total(panel), abs=2e-3)


def test_no_later_bar_is_read():
    panel = year(A=path(2.0), B=path(0.5))
    cut = panel.slice(0, BEFORE)
    assert held_weights(panel, lockbox_window())[:BEFORE].tobytes() == held_weights(cut, lockbox_window()).tobytes()


def test_it_is_the_sealed_year_of_these_data_and_of_no_strategy():
    evaluation = held(year(A=path(1.1)))
    assert ("lockbox", "d", 365) == (evaluation.split, evaluation.digests.data, len(evaluation.daily_returns[0]))
    assert ("2025-07-01T00:00:00Z", "2026-07-01T00:00:00Z") == (evaluation.folds[0].start, evaluation.folds[0].end)
