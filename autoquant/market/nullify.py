"""Markets with nothing to foresee, made from a real one: `flip` and `permute`, pure functions from panel to panel.

Both read a panel as moves of each bar: lo = ln(open / previous close), b, u, d = ln(close, high, low / open). They
change the moves and rebuild prices from each contract's first real open: close′ = first open · exp(Σ lo′ + b′), and
open, high and low follow. Which bars are missing, listings, delistings, names and tiers stay as they are; quote volume
goes with its day, base volume is rescaled by the new close. Each split of a panel is treated apart.

What goes is what a strategy could foresee: trends, reversals, leaders and laggards. What stays is what holding earns:
`flip` keeps the mean log move μ of all contracts, so buying and holding pays there as it does in the real market.

The randomness is an argument: `draw_signs` and `draw_order` make it from a seed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from autoquant.clock import day_ms
from autoquant.errors import DataError
from autoquant.market.grid import CUBE_FIELDS, HOUR_MS, Floats, Ints
from autoquant.market.panel import Panel
from autoquant.protocol import PROTOCOL

Bools = npt.NDArray[np.bool_]

DAY_MS = 24 * HOUR_MS
SPLIT_MS = day_ms(PROTOCOL.calendar.valid_start)
"""Where TRAIN ends and VALID begins."""
_FLIP, _PERMUTE = 1, 2


@dataclass(frozen=True, eq=False)
class _Moves:
    """Log moves of each bar, (T, A); 0 where there is no bar.

    `gap` is 0 at a contract's first bar too: nothing came before it.
    """

    gap: Floats
    body: Floats
    up: Floats
    down: Floats

    def take(self, rows: Ints) -> _Moves:
        return _Moves(self.gap[rows], self.body[rows], self.up[rows], self.down[rows])


def draw_signs(panel: Panel, seed: int) -> Ints:
    """(D,) signs ±1, one per UTC day of the panel."""
    return _generator(seed, _FLIP).integers(0, 2, len(_days(panel)[0])) * 2 - 1


def draw_order(panel: Panel, seed: int, split_ms: int = SPLIT_MS) -> Ints:
    """(D,) the day that each UTC day of the panel is replaced by: a random order inside each run of `day_runs`."""
    generator = _generator(seed, _PERMUTE)
    order = np.arange(len(_days(panel)[0]))
    for run in day_runs(panel, split_ms):
        order[run] = generator.permutation(run)
    return order


def flip(panel: Panel, signs: Ints, split_ms: int = SPLIT_MS) -> Panel:
    """The market with some days turned upside down, all contracts together; volatility and its clusters stay.

    With s a day's sign, μ the mean b over the live bars of all contracts in a split, φ the mean funding rate there:

        lo′ = s·lo        b′ = μ + s·(b − μ)        (u′, d′) = (u, d) or, for s = −1, (−d, −u)
        u′ = max(u′, b′, 0)        d′ = min(d′, b′, 0)        rate′ = φ + s·(rate − φ), at its instant

    Parameters
    ----------
    panel : the real market.
    signs : (D,) ±1 per UTC day, the first for the day of the first bar. All +1 gives the panel back, to rounding.
    split_ms : first moment of the second split.

    A sum of rates that are due inside one bar counts as one rate, with a φ of its own; a rate of exactly 0 cannot be
    told from none and stays 0.

    Raises
    ------
    DataError : another number of signs than of days.
    """
    days, day = _days(panel)
    if len(signs) != len(days):
        raise DataError(f"{len(signs)} signs for {len(days)} days")
    sign = signs[day][:, None].astype(np.float64)
    turned = sign < 0
    old, live = _moves(panel), np.isfinite(panel.close)
    second = panel.times >= split_ms
    mirror = np.empty_like(old.body)
    funding = [panel.funding_at_open.copy(), panel.funding_inside.copy()]
    for part in (~second, second):
        mean = float(old.body[part][live[part]].mean()) if live[part].any() else 0.0
        mirror[part] = 2.0 * mean - old.body[part]
        for rates in funding:
            due = (rates != 0) & part[:, None]
            level = float(rates[due].mean()) if due.any() else 0.0
            rates[due & turned] = 2.0 * level - rates[due & turned]
    body = np.where(turned & live, mirror, old.body)
    new = _Moves(
        gap=sign * old.gap,
        body=body,
        up=np.maximum(np.where(turned, -old.down, old.up), np.maximum(body, 0.0)),
        down=np.minimum(np.where(turned, -old.up, old.down), np.minimum(body, 0.0)),
    )
    return _rebuilt(panel, old, new, panel.quote_volume, panel.close * panel.volume, funding[0], funding[1])


def permute(panel: Panel, order: Ints) -> Panel:
    """The market with its days in another order, moved whole: prices, volume and funding of all contracts together.

    Parameters
    ----------
    panel : the real market.
    order : (D,) which day takes the place of each UTC day; both have the same live bars. 0, 1, 2, … gives the panel
        back, to rounding.

    Raises
    ------
    DataError : another number of days, or a day put where other bars are live.
    """
    days, day = _days(panel)
    if len(order) != len(days):
        raise DataError(f"an order of {len(order)} days for {len(days)} days")
    moved = np.flatnonzero(order[day] != day)
    rows = np.arange(len(panel))
    offset = panel.times[moved] - days[day[moved]] * DAY_MS
    rows[moved] = np.searchsorted(panel.times, days[order[day[moved]]] * DAY_MS + offset)
    live = np.isfinite(panel.close)
    if (rows >= len(panel)).any() or (live[rows] != live).any():
        raise DataError("a day cannot take the place of one on which other bars are live")
    old = _moves(panel)
    quote, traded = panel.quote_volume[rows], (panel.close * panel.volume)[rows]
    return _rebuilt(panel, old, old.take(rows), quote, traded, panel.funding_at_open[rows], panel.funding_inside[rows])


def day_runs(panel: Panel, split_ms: int = SPLIT_MS) -> list[Ints]:
    """Days that may change places: numbers of the whole days of each run with one set of live contracts in one split.

    A contract is live from its first bar to its last. A day on which one of them begins, ends or lacks a bar, or that
    the panel holds only in part, stays where it is.
    """
    days, day = _days(panel)
    finite = np.isfinite(panel.close)
    rows = np.arange(len(panel))[:, None]
    alive = (rows >= _first(finite)) & (rows <= len(panel) - 1 - _first(finite[::-1]))
    starts = np.flatnonzero(np.diff(day, prepend=-1))
    lives = np.logical_or.reduceat(alive, starts, axis=0)
    traded = np.logical_and.reduceat(finite, starts, axis=0)
    whole = np.diff(np.append(starts, len(panel))) == DAY_MS // panel.bar_ms
    whole &= (lives == traded).all(axis=1)
    key = np.column_stack([lives, days * DAY_MS >= split_ms])
    breaks = np.flatnonzero((key[1:] != key[:-1]).any(axis=1)) + 1
    runs = [run[whole[run]] for run in np.split(np.arange(len(days)), breaks)]
    return [run for run in runs if len(run) > 1]


def _generator(seed: int, purpose: int) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(purpose,))))


def _days(panel: Panel) -> tuple[Ints, Ints]:
    """UTC days of the panel since 1970, (D,), and for each bar the place of its day among them, (T,)."""
    days, place = np.unique(panel.times // DAY_MS, return_inverse=True)
    return days, np.asarray(place, dtype=np.int64)


def _first(flags: Bools) -> Ints:
    """Row of the first true flag of each column; the number of rows where there is none."""
    return np.where(flags.any(axis=0), flags.argmax(axis=0), len(flags))


def _moves(panel: Panel) -> _Moves:
    """Zeros stand for missing bars, so that sums run through them."""
    finite = np.isfinite(panel.close)
    last = np.where(finite, np.arange(len(panel))[:, None], -1)
    np.maximum.accumulate(last, axis=0, out=last)
    before = np.vstack([np.full((1, last.shape[1]), -1), last[:-1]])
    previous = np.where(before >= 0, np.take_along_axis(panel.close, np.maximum(before, 0), axis=0), panel.open)

    def log_ratio(above: Floats, below: Floats) -> Floats:
        return np.log(np.where(finite, above / below, 1.0))

    return _Moves(
        gap=log_ratio(panel.open, previous),
        body=log_ratio(panel.close, panel.open),
        up=log_ratio(panel.high, panel.open),
        down=log_ratio(panel.low, panel.open),
    )


def _rebuilt(
    panel: Panel, old: _Moves, new: _Moves, quote: Floats, traded: Floats, at_open: Floats, inside: Floats
) -> Panel:
    """The panel that `new` moves lead to. Only differences of moves are summed: what is unchanged stays exact.

    `traded` is base volume in money of the close it was traded at.
    """
    body = new.body - old.body
    shift = np.cumsum(new.gap - old.gap + body, axis=0)
    open_, close = panel.open * np.exp(shift - body), panel.close * np.exp(shift)
    high = np.maximum(open_ * np.exp(new.up), np.maximum(open_, close))
    low = np.minimum(open_ * np.exp(new.down), np.minimum(open_, close))
    layers = {
        "open": open_,
        "high": high,
        "low": low,
        "close": close,
        "volume": traded / close,
        "quote_volume": quote,
        "funding_at_open": at_open,
        "funding_inside": inside,
    }
    cube = np.stack([layers[name] for name in CUBE_FIELDS])
    return Panel(panel.times, panel.assets, panel.tier, cube, panel.last_bar, panel.bar_ms)
