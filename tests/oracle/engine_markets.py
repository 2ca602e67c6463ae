"""Small markets for engine tests, built through the public door `Panel.from_frames`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from autoquant.market.panel import Panel
from autoquant.protocol import Costs

START = "2021-03-01"

FREE = Costs(
    taker_bp=0, half_spread_tier1_bp=0, half_spread_tier2_bp=0, impact_y=0, participation_cap=None, history_rule=False
)
"""No cost, no cap, no history needed."""


def fees(taker_bp: float, tier1_bp: float = 0.0, tier2_bp: float = 0.0) -> Costs:
    """Fee and half-spread only."""
    return Costs(
        taker_bp=taker_bp,
        half_spread_tier1_bp=tier1_bp,
        half_spread_tier2_bp=tier2_bp,
        impact_y=0,
        participation_cap=None,
        history_rule=False,
    )


def market(
    opens: Mapping[str, Sequence[float]],
    closes: Mapping[str, Sequence[float]] | None = None,
    *,
    hours: float = 4,
    start: str = START,
    volume: Mapping[str, Sequence[float]] | None = None,
    quote_volume: Mapping[str, Sequence[float]] | None = None,
    funding: Sequence[tuple[str, pd.Timestamp | str, float]] = (),
    tier: Mapping[str, int] | None = None,
    last_bar: Mapping[str, object] | None = None,
) -> Panel:
    """A panel from open and close lists per asset; a NaN in either makes the bar missing."""
    opened = pd.DataFrame({name: np.asarray(values, dtype=float) for name, values in opens.items()})
    closed = pd.DataFrame({name: np.asarray(values, dtype=float) for name, values in (closes or opens).items()})
    opened.index = closed.index = pd.date_range(start, periods=len(opened), freq=f"{hours}h", tz="UTC")
    ones = opened * 0 + 1.0
    base = ones * 1e6 if volume is None else pd.DataFrame(dict(volume), index=opened.index, dtype=float)
    quote = ones * 1e9 if quote_volume is None else pd.DataFrame(dict(quote_volume), index=opened.index, dtype=float)
    frames = {
        "open": opened,
        "high": np.maximum(opened, closed),
        "low": np.minimum(opened, closed),
        "close": closed,
        "volume": base,
        "quote_volume": quote,
    }
    due = [(asset, pd.Timestamp(time), rate) for asset, time, rate in funding]
    rows = pd.DataFrame(due, columns=["asset", "time", "rate"]) if due else None
    tiers = tier or dict.fromkeys(opens, 1)
    return Panel.from_frames(frames, rows, tiers, dict(last_bar or {}), bar_hours=hours)


def weights(panel: Panel, **columns: Sequence[float] | float) -> pd.DataFrame:
    """A weights frame on the panel's rows; a number stands for every row."""
    return pd.DataFrame(columns, index=panel.index(), dtype=float)


def span(panel: Panel, first: int = 0, stop: int | None = None) -> tuple[int, int]:
    """Start and end in milliseconds of rows [first, stop)."""
    return int(panel.times[first]), int(panel.times[-1] if stop is None else panel.times[stop - 1]) + panel.bar_ms


def random_market(seed: int, *, assets: int = 3, days: int = 20, hours: int = 4, wild: float = 0.02) -> Panel:
    """Prices with gaps, dead bars, a late listing, a delisting, and funding at and inside bars."""
    rng = np.random.default_rng(seed)
    bars = days * 24 // hours
    names = [f"C{i}" for i in range(assets)]
    close = 50 * np.exp(np.cumsum(rng.normal(0, wild, (bars, assets)), axis=0))
    before = np.vstack([np.full(assets, 50.0), close[:-1]])
    open_ = before * np.exp(rng.normal(0, wild / 4, (bars, assets)))
    missing = rng.random((bars, assets)) < 0.04
    volume = rng.lognormal(8, 1, (bars, assets)) * (rng.random((bars, assets)) > 0.05)
    quote = volume * close * rng.choice([0.01, 1.0, 30.0], size=assets)
    listing = rng.integers(0, bars // 3, size=assets) * (rng.random(assets) < 0.4)
    missing |= np.arange(bars)[:, None] < listing
    open_[missing] = np.nan
    times = pd.date_range(START, periods=bars, freq=f"{hours}h", tz="UTC")
    minutes = days * 24 * 60
    funding = [
        (name, times[0] + pd.Timedelta(minutes=int(minute)), float(rng.normal(0, 5e-4)))
        for name in names
        for minute in sorted(
            {*range(0, minutes, 480), *(int(m) for m in rng.integers(0, minutes, size=days // 3))} - {0}
        )
    ]
    dying = {name: times[int(rng.integers(bars // 2, bars))] for name in names if rng.random() < 0.4}

    def per_name(values: np.ndarray) -> dict[str, np.ndarray]:
        return {name: values[:, i] for i, name in enumerate(names)}

    return market(
        per_name(open_),
        per_name(close),
        hours=hours,
        volume=per_name(volume),
        quote_volume=per_name(quote),
        funding=funding,
        tier={name: 1 + i % 2 for i, name in enumerate(names)},
        last_bar=dying,
    )


def random_weights(seed: int, panel: Panel, *, gross: float = 1.0, hold: float = 0.2) -> np.ndarray:
    """(T, A) weights, some of them NaN, row gross at most `gross`."""
    rng = np.random.default_rng(seed)
    values = rng.normal(0, 1, (len(panel.times), len(panel.assets)))
    values *= gross * rng.random((len(values), 1)) / np.abs(values).sum(axis=1, keepdims=True)
    values[rng.random(values.shape) < 0.1] = 0.0
    values[rng.random(values.shape) < hold] = np.nan
    return values
