"""A made-up market that looks right, for smoke tests and demos. Never a market result.

Returns are a common factor plus noise of each coin's own, both with heavy tails (Student t) and clustered volatility
(log-AR(1)). The planted edge is a slow drift per coin (Ornstein–Uhlenbeck): what rose lately keeps rising for some
weeks. Coins list over the first months, one collapses and is delisted in TRAIN, one is delisted inside a VALID fold
while it still can be held. Funding is due every 8 hours and leans with the coin's recent return.

The sealed period is not drawn at set-up. Its shocks come from a second seed, kept in a private file, pinned by digest;
all state (volatility, drift, prices) runs on, so that the earlier bars never depend on it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from autoquant.clock import day_ms
from autoquant.market.grid import HOUR_MS, NEVER, Floats, Ints
from autoquant.market.panel import Panel
from autoquant.protocol import PROTOCOL, Protocol

DAY_MS = 24 * HOUR_MS
FUNDING_MS = 8 * HOUR_MS
COLLAPSES = "LUNAUSDT"
DELISTED = "MATICUSDT"


@dataclass(frozen=True)
class Recipe:
    """How the made-up market behaves; rates and volatilities are per year, half-lives in days."""

    factor_volatility: float = 0.50
    factor_drift: float = 0.10
    own_volatility: tuple[float, float] = (0.40, 0.80)
    tail_degrees: float = 4.0
    volatility_half_life: float = 20.0
    volatility_spread: float = 0.35
    drift_half_life: float = 9.0
    drift_spread: float = 1.90
    daily_volume: tuple[float, float] = (1.5e7, 2.5e8)
    daily_volume_tier1: tuple[float, float] = (6e8, 9e8)
    listing_days: int = 400
    funding_base: float = 1e-4
    funding_lean: float = 1.2e-3
    collapse_log: float = -9.0
    collapse_days: float = 5.0
    delisting_log: float = -0.45
    delisting_days: float = 3.0


@dataclass(frozen=True)
class _Draws:
    """Standardised shocks of one stretch of bars; (T,) or (T, A)."""

    factor: Floats
    factor_volatility: Floats
    own: Floats
    own_volatility: Floats
    drift: Floats
    gap: Floats
    up: Floats
    down: Floats
    volume: Floats
    funding: Floats

    @staticmethod
    def of(seed: int, stretch: int, bars: int, assets: int, degrees: float) -> _Draws:
        random = np.random.Generator(np.random.PCG64([seed, stretch]))
        scale = np.sqrt((degrees - 2) / degrees)
        wide = (bars, assets)
        return _Draws(
            factor=random.standard_t(degrees, bars) * scale,
            factor_volatility=random.standard_normal(bars),
            own=random.standard_t(degrees, wide) * scale,
            own_volatility=random.standard_normal(wide),
            drift=random.standard_normal(wide),
            gap=random.standard_normal(wide),
            up=np.abs(random.standard_normal(wide)),
            down=np.abs(random.standard_normal(wide)),
            volume=random.standard_normal(wide),
            funding=random.standard_normal(wide),
        )

    def then(self, later: _Draws) -> _Draws:
        return _Draws(*(np.concatenate([getattr(self, n), getattr(later, n)]) for n in self.__dataclass_fields__))


@dataclass(frozen=True)
class _Coins:
    """What stays fixed per coin, (A,)."""

    beta: Floats
    own_volatility: Floats
    start_price: Floats
    daily_volume: Floats
    first_row: Ints
    last_row: Ints


def synthetic_panel(
    seed: int = 0,
    *,
    assets: int = 20,
    days: int = 200,
    start: str = "2023-01-01",
    bar_hours: int | None = None,
    listings: bool = False,
    recipe: Recipe | None = None,
) -> Panel:
    """A small panel of the made-up market, for tests: no files, milliseconds to make.

    Parameters
    ----------
    assets : the first so many contracts of the universe.
    days : length; every coin is alive on every bar unless `listings` staggers their beginnings.
    start : first day, ISO.
    bar_hours : by default the protocol's.
    """
    recipe = recipe or Recipe()
    hours = bar_hours or PROTOCOL.calendar.bar_hours
    bars = days * 24 // hours
    times = day_ms(start) + hours * HOUR_MS * np.arange(bars, dtype=np.int64)
    draws = _Draws.of(seed, 0, bars, assets, recipe.tail_degrees)
    first = np.linspace(0, bars // 2, assets).astype(np.int64) if listings else np.zeros(assets, dtype=np.int64)
    coins = _coins(seed, PROTOCOL.universe[:assets], PROTOCOL, recipe, first, np.full(assets, NEVER))
    return _build(times, PROTOCOL.universe[:assets], draws, coins, recipe, hours, PROTOCOL)


def market_panel(
    seed: int, lockbox_seed: int | None = None, *, protocol: Protocol = PROTOCOL, recipe: Recipe | None = None
) -> Panel:
    """TRAIN and VALID of the made-up market; with `lockbox_seed`, LOCKBOX behind them.

    The bars before the lockbox are the same to the last bit with and without it.
    """
    recipe = recipe or Recipe()
    calendar, universe = protocol.calendar, protocol.universe
    bar_ms = calendar.bar_hours * HOUR_MS
    first, sealed = day_ms(calendar.archive_start), day_ms(calendar.lockbox_start)
    end = sealed if lockbox_seed is None else day_ms(calendar.lockbox_end)
    times = np.arange(first, end, bar_ms, dtype=np.int64)
    open_bars = (sealed - first) // bar_ms
    draws = _Draws.of(seed, 0, open_bars, len(universe), recipe.tail_degrees)
    if lockbox_seed is not None:
        draws = draws.then(_Draws.of(lockbox_seed, 1, len(times) - open_bars, len(universe), recipe.tail_degrees))
    return _build(times, universe, draws, _calendar_coins(seed, protocol, recipe), recipe, calendar.bar_hours, protocol)


def _calendar_coins(seed: int, protocol: Protocol, recipe: Recipe) -> _Coins:
    """Listings over the first months; LUNA-like collapse in TRAIN, a delisting in the middle of a VALID fold."""
    calendar, universe = protocol.calendar, protocol.universe
    random = np.random.Generator(np.random.PCG64([seed, 2]))
    per_day = calendar.bars_per_day
    listing = np.sort(random.uniform(0, recipe.listing_days, len(universe)))
    first = (listing * per_day).astype(np.int64)
    first[[protocol.tier(name) == 1 for name in universe]] = 0
    last = np.full(len(universe), NEVER)
    start, valid = day_ms(calendar.archive_start), day_ms(calendar.valid_start)
    if COLLAPSES in universe:
        last[universe.index(COLLAPSES)] = (valid - start) // DAY_MS * per_day * 4 // 5
    fold = calendar.folds // 2
    middle = fold * calendar.block_days + calendar.embargo_days + calendar.fold_days * 2 // 3
    if DELISTED in universe:
        last[universe.index(DELISTED)] = ((valid - start) // DAY_MS + middle) * per_day + per_day // 2
    return _coins(seed, universe, protocol, recipe, first, last)


def _coins(seed: int, universe: tuple[str, ...], protocol: Protocol, recipe: Recipe, first: Ints, last: Ints) -> _Coins:
    random = np.random.Generator(np.random.PCG64([seed, 3]))
    count = len(universe)
    tier1 = np.array([protocol.tier(name) == 1 for name in universe])
    low, high = recipe.own_volatility
    own = random.uniform(low, high, count)
    volume = _log_uniform(random, recipe.daily_volume, count)
    large = _log_uniform(random, recipe.daily_volume_tier1, count)
    return _Coins(
        beta=np.where(tier1, 0.9, random.uniform(0.8, 1.3, count)),
        own_volatility=np.where(tier1, low * 0.7, own),
        start_price=_log_uniform(random, (0.05, 300.0), count) * np.where(tier1, 100.0, 1.0),
        daily_volume=np.where(tier1, large, volume),
        first_row=first,
        last_row=last,
    )


def _log_uniform(random: np.random.Generator, limits: tuple[float, float], count: int) -> Floats:
    return np.exp(random.uniform(math.log(limits[0]), math.log(limits[1]), count))


def _memory(half_life_days: float, bars_per_day: float) -> float:
    return float(0.5 ** (1.0 / (half_life_days * bars_per_day)))


def _autoregress(shocks: Floats, memory: float) -> Floats:
    """x[t] = memory · x[t−1] + √(1 − memory²) · shock[t], of unit variance from the first bar."""
    out = np.empty_like(shocks)
    level = shocks[0]
    step = np.sqrt(1.0 - memory**2)
    for t in range(len(shocks)):
        level = memory * level + step * shocks[t] if t else level
        out[t] = level
    return out


def _build(
    times: Ints,
    universe: tuple[str, ...],
    draws: _Draws,
    coins: _Coins,
    recipe: Recipe,
    bar_hours: int,
    protocol: Protocol,
) -> Panel:
    per_day = 24 / bar_hours
    per_year = per_day * 365
    calm = _memory(recipe.volatility_half_life, per_day)
    spread = recipe.volatility_spread
    factor_level = np.exp(spread * _autoregress(draws.factor_volatility, calm) - spread**2)
    own_level = np.exp(spread * _autoregress(draws.own_volatility, calm) - spread**2)
    factor = draws.factor * factor_level * recipe.factor_volatility / np.sqrt(per_year) + recipe.factor_drift / per_year
    sigma = own_level * coins.own_volatility / np.sqrt(per_year)
    drift = recipe.drift_spread * _autoregress(draws.drift, _memory(recipe.drift_half_life, per_day)) / per_year
    returns = coins.beta * factor[:, None] + drift + sigma * draws.own
    lasts = dict(zip(universe, coins.last_row.tolist(), strict=True))
    _fall(returns, lasts.get(COLLAPSES), universe, COLLAPSES, recipe.collapse_log, recipe.collapse_days * per_day)
    _fall(returns, lasts.get(DELISTED), universe, DELISTED, recipe.delisting_log, recipe.delisting_days * per_day)
    gap = 0.02 * sigma * draws.gap
    close = coins.start_price * np.exp(np.cumsum(returns, axis=0))
    before = np.concatenate([coins.start_price[None, :], close[:-1]])
    open_ = before * np.exp(gap)
    wick = 0.45 * np.hypot(sigma, np.abs(coins.beta * factor_level[:, None]) * recipe.factor_volatility / per_year**0.5)
    high = np.maximum(open_, close) * np.exp(wick * draws.up)
    low = np.minimum(open_, close) * np.exp(-wick * draws.down)
    busy = 1.0 + 0.5 * np.abs(returns) / (wick / 0.45)
    activity = np.exp(0.35 * _autoregress(draws.volume, _memory(4.0, per_day)) + 0.25 * draws.volume)
    quote = coins.daily_volume / per_day / 1.6 * busy * activity * factor_level[:, None]
    prices = np.stack([open_, high, low, close, quote / np.sqrt(high * low), quote], axis=-1)
    rows = np.arange(len(times))[:, None]
    prices[(rows < coins.first_row) | (rows > coins.last_row)] = np.nan
    bar_ms = bar_hours * HOUR_MS
    return Panel.from_arrays(
        times,
        {name: prices[:, i] for i, name in enumerate(universe)},
        _funding(times, universe, close, draws.funding, recipe, per_day, bar_ms, coins),
        {name: protocol.tier(name) for name in universe},
        {name: int(times[0]) + row * bar_ms for name, row in lasts.items() if row < len(times)},
        bar_ms=bar_ms,
    )


def _fall(returns: Floats, last: int | None, universe: tuple[str, ...], name: str, depth: float, bars: float) -> None:
    """Spread a fall of `depth` (log) over the `bars` up to and including the coin's last."""
    if last is None or last >= NEVER:
        return
    stop = min(last + 1, len(returns))
    start = max(0, last + 1 - round(bars))
    if start < stop:
        returns[start:stop, universe.index(name)] += depth / (last + 1 - start)


def _funding(
    times: Ints,
    universe: tuple[str, ...],
    close: Floats,
    noise: Floats,
    recipe: Recipe,
    per_day: float,
    bar_ms: int,
    coins: _Coins,
) -> dict[str, tuple[Ints, Floats]]:
    """8-hourly rates that lean with the last week's return as it stood at the last close before the instant."""
    instants = np.arange(-(-int(times[0]) // FUNDING_MS) * FUNDING_MS, int(times[-1]) + bar_ms, FUNDING_MS)
    known = (instants - int(times[0])) // bar_ms - 1
    instants, known = instants[known >= 0], known[known >= 0]
    week = np.maximum(known - round(7 * per_day), 0)
    lean = recipe.funding_lean * np.log(close[known] / close[week])
    rate = np.round(np.clip(recipe.funding_base + lean + 5e-5 * noise[known], -3e-3, 3e-3), 8)
    result = {}
    for column, name in enumerate(universe):
        alive = (known >= coins.first_row[column]) & (known + 1 <= coins.last_row[column])
        result[name] = (instants[alive], rate[alive, column])
    return result
