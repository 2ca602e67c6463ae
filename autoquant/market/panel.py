"""The panel: bars × assets of one market, as one read-only cube.

A row is a bar's open time; its values are known only at its close. A missing bar is NaN in all six price fields.
Funding sits beside the prices as the sum of the rates due at exactly the open, and of those due later inside the bar.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from autoquant.errors import DataError
from autoquant.market.grid import CUBE_FIELDS, FIELDS, NEVER, Floats, Ints

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Panel:
    """Bars × assets on one unbroken time grid.

    Parameters
    ----------
    times : int64 (T,), open times in milliseconds UTC, one bar apart.
    assets : A names.
    tier : int64 (A,), 1 or 2.
    cube : float64 (8, T, A), read-only, in the order of `CUBE_FIELDS`.
    last_bar : int64 (A,), open time of each contract's last bar, `NEVER` when it lives on past the panel.
    bar_ms : length of a bar in milliseconds.
    """

    times: Ints
    assets: tuple[str, ...]
    tier: Ints
    cube: Floats
    last_bar: Ints
    bar_ms: int

    def __post_init__(self) -> None:
        shape = (len(CUBE_FIELDS), len(self.times), len(self.assets))
        if self.cube.shape != shape:
            raise DataError(f"panel: the cube is {self.cube.shape}, its times and assets ask for {shape}")
        for array in (self.times, self.tier, self.cube, self.last_bar):
            array.setflags(write=False)

    def _field(self, name: str) -> Floats:
        layer: Floats = self.cube[CUBE_FIELDS.index(name)]
        return layer

    @property
    def open(self) -> Floats:
        """Open prices, (T, A), USDT."""
        return self._field("open")

    @property
    def high(self) -> Floats:
        """Highest prices, (T, A), USDT."""
        return self._field("high")

    @property
    def low(self) -> Floats:
        """Lowest prices, (T, A), USDT."""
        return self._field("low")

    @property
    def close(self) -> Floats:
        """Close prices, (T, A), USDT."""
        return self._field("close")

    @property
    def volume(self) -> Floats:
        """Traded base coin, (T, A)."""
        return self._field("volume")

    @property
    def quote_volume(self) -> Floats:
        """Traded USDT, (T, A)."""
        return self._field("quote_volume")

    @property
    def funding_at_open(self) -> Floats:
        """Sum of rates due at exactly the open, (T, A); 0.0 where none is."""
        return self._field("funding_at_open")

    @property
    def funding_inside(self) -> Floats:
        """Sum of rates due strictly between open and open + bar, (T, A); 0.0 where none is."""
        return self._field("funding_inside")

    @cached_property
    def funding(self) -> Floats:
        """What a strategy sees: sum of rates in [open, open + bar) on live bars, NaN elsewhere, (T, A)."""
        seen = np.where(np.isfinite(self.close), self.funding_at_open + self.funding_inside, np.nan)
        seen.setflags(write=False)
        return seen

    @cached_property
    def digest(self) -> str:
        """sha256 over names, tiers, times, last bars and every value; every NaN counts the same."""
        head = {
            "assets": self.assets,
            "tier": self.tier.tolist(),
            "last_bar": self.last_bar.tolist(),
            "bar_ms": self.bar_ms,
            "fields": CUBE_FIELDS,
            "shape": self.cube.shape,
        }
        state = hashlib.sha256(json.dumps(head, sort_keys=True).encode())
        state.update(self.times.astype("<i8").tobytes())
        for layer in self.cube:
            state.update(np.where(np.isnan(layer), np.nan, layer).astype("<f8").tobytes())
        return state.hexdigest()

    def __len__(self) -> int:
        return len(self.times)

    @property
    def end_ms(self) -> int:
        """Close of the last bar."""
        return int(self.times[-1]) + self.bar_ms

    def row(self, ms: int) -> int:
        """First row whose open time is at or after `ms`; T when there is none."""
        return int(np.searchsorted(self.times, ms, side="left"))

    def slice(self, start_row: int, stop_row: int) -> Panel:
        """Rows [start_row, stop_row) as a view. A death after the slice reads as `NEVER` in it."""
        times = self.times[start_row:stop_row]
        final = int(times[-1]) if len(times) else -NEVER
        return Panel(
            times=times,
            assets=self.assets,
            tier=self.tier,
            cube=self.cube[:, start_row:stop_row],
            last_bar=np.where(self.last_bar > final, NEVER, self.last_bar),
            bar_ms=self.bar_ms,
        )

    def index(self) -> pd.DatetimeIndex:
        """Open times as a UTC index."""
        import pandas as pd

        return pd.DatetimeIndex(self.times.astype("datetime64[ms]"), tz="UTC")

    def frame(self, field: str) -> pd.DataFrame:
        """One field (or `funding`) as bars × assets over the panel's own memory."""
        import pandas as pd

        values = self.funding if field == "funding" else self._field(field)
        return pd.DataFrame(values, index=self.index(), columns=list(self.assets), copy=False)

    @staticmethod
    def from_arrays(
        times: Ints,
        prices: Mapping[str, Floats],
        rates: Mapping[str, tuple[Ints, Floats]],
        tier: Mapping[str, int],
        last_bar: Mapping[str, int],
        *,
        bar_ms: int,
    ) -> Panel:
        """A panel from plain arrays.

        Parameters
        ----------
        times : (T,) open times, ms UTC, one bar apart.
        prices : per asset (T, 6) in the order of `FIELDS`; a row with any NaN is a missing bar.
        rates : per asset the funding instants (ms, already on the minute, increasing) and rates.
        tier : per asset 1 or 2.
        last_bar : per asset the open time of its last bar, or `NEVER`.
        """
        assets = tuple(prices)
        cube = np.full((len(CUBE_FIELDS), len(times), len(assets)), np.nan)
        cube[len(FIELDS) :] = 0.0
        lasts = np.array([last_bar.get(asset, NEVER) for asset in assets], dtype=np.int64)
        final = int(times[-1]) if len(times) else 0
        for column, asset in enumerate(assets):
            values = np.array(prices[asset], dtype=np.float64)
            values[~np.isfinite(values).all(axis=1)] = np.nan
            values[times > lasts[column]] = np.nan
            cube[: len(FIELDS), :, column] = values.T
            if asset in rates:
                _add_rates(cube, column, times, int(lasts[column]), bar_ms, *rates[asset])
        return Panel(
            times=np.array(times, dtype=np.int64),
            assets=assets,
            tier=np.array([tier[asset] for asset in assets], dtype=np.int64),
            cube=cube,
            last_bar=np.where(lasts > final, NEVER, lasts),
            bar_ms=bar_ms,
        )

    @staticmethod
    def from_frames(
        frames: Mapping[str, pd.DataFrame],
        funding: pd.DataFrame | None,
        tier: Mapping[str, int],
        last_bar: Mapping[str, Any] | None = None,
        *,
        bar_hours: float | None = None,
    ) -> Panel:
        """A panel from plain DataFrames, so that anybody can check the oracle's numbers.

        Parameters
        ----------
        frames : one bars × assets DataFrame per name in `FIELDS`, all of one shape; the index holds increasing open
            times (naive ones are taken as UTC, whole numbers as milliseconds). A bar that the index skips is a NaN row.
        funding : rows with columns asset, time, rate; None for no funding at all.
        tier : 1 or 2 per asset.
        last_bar : per asset the open time of its last bar; None or absent means that it lives on. Later bars and
            funding are cut.
        bar_hours : length of a bar; by default the smallest step of the index.

        Raises
        ------
        DataError : a field, tier or time is missing, doubled, out of order or off the grid; two rates at one minute.
        """
        from autoquant.market.frames import read_frames

        read = read_frames(frames, funding, tier, last_bar or {}, bar_hours)
        return Panel.from_arrays(read.times, read.prices, read.rates, tier, read.last_bar, bar_ms=read.bar_ms)


def _add_rates(cube: Floats, column: int, times: Ints, last: int, bar_ms: int, instants: Ints, rates: Floats) -> None:
    """Sort rates into the bars that hold their instants; those outside the panel or the life are dropped."""
    row = np.searchsorted(times, instants, side="right") - 1
    end = times[-1] + bar_ms if len(times) else 0
    keep = (row >= 0) & (instants < end)
    if last < NEVER:
        keep &= instants < last + bar_ms
    row, at, rate = row[keep], instants[keep], rates[keep]
    exact = at == times[row]
    layers = len(FIELDS)
    np.add.at(cube[layers, :, column], row[exact], rate[exact])
    np.add.at(cube[layers + 1, :, column], row[~exact], rate[~exact])
