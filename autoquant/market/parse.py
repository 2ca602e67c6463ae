"""Archive bytes to arrays, or one line that says which file is wrong and how.

The public archive's oddities are taken as they are: a header row or none, milliseconds or microseconds, rows out of
order or doubled word for word, jitter in funding times. What contradicts itself is refused.
"""

from __future__ import annotations

import io
import zipfile
from dataclasses import dataclass

import numpy as np

from autoquant.clock import ms_iso
from autoquant.errors import DataError
from autoquant.market.grid import MINUTE_MS, Floats, Ints, to_minute

MAX_CSV_BYTES = 256 * 1024**2
_MICROSECONDS = 1e14
"""Times from here on are microseconds: as milliseconds this would be the year 5138."""

KLINE_COLUMNS = (0, 1, 2, 3, 4, 5, 7)
"""open_time, open, high, low, close, volume, quote_volume."""

FUNDING_COLUMNS = ("calc_time", "funding_interval_hours", "last_funding_rate")


@dataclass(frozen=True)
class Klines:
    """Bars of one file or one contract: open times (n,) ms and values (n, 6) in the order of `FIELDS`."""

    times: Ints
    values: Floats

    def __len__(self) -> int:
        return len(self.times)


@dataclass(frozen=True)
class Funding:
    """Funding rows: instants (n,) ms on the minute, stated interval (n,) hours, rates (n,)."""

    times: Ints
    hours: Floats
    rates: Floats

    def __len__(self) -> int:
        return len(self.times)


def unzip(data: bytes, where: str) -> bytes:
    """The one CSV inside an archive.

    Raises
    ------
    DataError : not a zip, damaged, or not exactly one file of a sane size.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = archive.infolist()
            if len(names) != 1:
                raise DataError(f"{where}: holds {len(names)} files, expected one CSV")
            if names[0].file_size > MAX_CSV_BYTES:
                raise DataError(f"{where}: its CSV claims {names[0].file_size} bytes, at most {MAX_CSV_BYTES} are read")
            return archive.read(names[0])
    except (zipfile.BadZipFile, zipfile.LargeZipFile, NotImplementedError, RuntimeError, OSError, EOFError) as error:
        raise DataError(f"{where}: not a readable zip ({error})") from None
    except Exception as error:  # zlib.error has no common base with the above
        if isinstance(error, DataError):
            raise
        raise DataError(f"{where}: damaged zip ({error})") from None


def parse_klines(csv: bytes, where: str, *, start_ms: int, end_ms: int, bar_ms: int) -> Klines:
    """Bars of a monthly or daily file that covers [start_ms, end_ms).

    Raises
    ------
    DataError : names the file and the time; not numbers, a price that is not positive, a bar whose high or low does not
        hold its open and close, a time off the grid or outside the file's span, two different bars at one time.
    """
    table = _table(csv, where, KLINE_COLUMNS)
    times, values = _milliseconds(table[:, 0], where), table[:, 1:]
    outside = (times < start_ms) | (times >= end_ms)
    if outside.any():
        raise DataError(f"{where}: holds a bar at {ms_iso(int(times[outside][0]))}, outside its span")
    stray = (times - start_ms) % bar_ms != 0
    if stray.any():
        raise DataError(f"{where}: a bar opens at {int(times[stray][0])} ms, which is not on the bar grid")
    prices, volumes = values[:, :4], values[:, 4:]
    wrong = ~np.isfinite(values).all(axis=1) | (prices <= 0).any(axis=1) | (volumes < 0).any(axis=1)
    if wrong.any():
        at = ms_iso(int(times[wrong][0]))
        raise DataError(f"{where}: the bar at {at} has a price that is not positive, or a value that is not a number")
    body_high, body_low = values[:, [0, 3]].max(axis=1), values[:, [0, 3]].min(axis=1)
    slack = 1e-9 * body_high  # a publisher's own rounding is no impossible bar
    impossible = (values[:, 1] < body_high - slack) | (values[:, 2] > body_low + slack)
    if impossible.any():
        raise DataError(f"{where}: the bar at {ms_iso(int(times[impossible][0]))} closes or opens outside its range")
    order = np.argsort(times, kind="stable")
    times, values = times[order], values[order]
    return Klines(*_distinct(times, values, where, "bars"))


def parse_funding(csv: bytes, where: str, *, start_ms: int, end_ms: int) -> Funding:
    """Funding rows of a monthly file that covers [start_ms, end_ms), give or take a minute of jitter.

    Raises
    ------
    DataError : names the file and the time; not numbers, outside the file's span, two different rates at one minute.
    """
    table = _table(csv, where, _funding_columns(csv, where))
    times = to_minute(_milliseconds(table[:, 0], where))
    outside = (times < start_ms - MINUTE_MS) | (times > end_ms + MINUTE_MS)
    if outside.any():
        raise DataError(f"{where}: holds a rate at {ms_iso(int(times[outside][0]))}, outside its span")
    wrong = ~np.isfinite(table).all(axis=1) | (np.abs(table[:, 2]) > 1.0) | (table[:, 1] <= 0)
    if wrong.any():
        raise DataError(f"{where}: the row at {ms_iso(int(times[wrong][0]))} has no usable rate or interval")
    order = np.argsort(times, kind="stable")
    times, rest = _distinct(times[order], table[order][:, [2, 1]], where, "rates", compare=1)
    return Funding(times, rest[:, 1], rest[:, 0])


def _table(csv: bytes, where: str, columns: tuple[int, ...]) -> Floats:
    head, _, rest = csv.partition(b"\n")
    body = rest if _is_header(head) else csv
    if not body.strip():
        return np.empty((0, len(columns)))
    try:
        table = np.loadtxt(io.BytesIO(body), delimiter=",", usecols=columns, ndmin=2, dtype=np.float64, comments=None)
    except (ValueError, UnicodeDecodeError, OverflowError) as error:
        raise DataError(f"{where}: not the expected CSV ({str(error).splitlines()[0]})") from None
    return table


def _is_header(line: bytes) -> bool:
    return line.lstrip(b"\xef\xbb\xbf \t")[:1].isalpha() and line.split(b",")[0].strip().lower() not in (b"nan", b"inf")


def _funding_columns(csv: bytes, where: str) -> tuple[int, ...]:
    head = csv.partition(b"\n")[0]
    if not _is_header(head):
        return (0, 1, 2)
    names = [name.strip() for name in head.decode(errors="replace").lstrip("\ufeff").split(",")]
    lacking = [name for name in FUNDING_COLUMNS if name not in names]
    if lacking:
        raise DataError(f"{where}: line 1 lacks the column {lacking[0]}")
    return tuple(names.index(name) for name in FUNDING_COLUMNS)


def _milliseconds(stamps: Floats, where: str) -> Ints:
    if not np.isfinite(stamps).all() or (stamps < 0).any() or (stamps > 1e17).any():
        raise DataError(f"{where}: a time is not a number of milliseconds or microseconds")
    whole = stamps.astype(np.int64)
    return np.where(stamps >= _MICROSECONDS, whole // 1000, whole)


def _distinct(times: Ints, values: Floats, where: str, what: str, compare: int | None = None) -> tuple[Ints, Floats]:
    """Drop rows that repeat the one before; two different rows at one time are refused."""
    same = np.flatnonzero(np.diff(times) == 0)
    if len(same):
        differ = (values[same, :compare] != values[same + 1, :compare]).any(axis=1)
        if differ.any():
            raise DataError(f"{where}: two different {what} at {ms_iso(int(times[same[differ][0]]))}")
        keep = np.ones(len(times), dtype=bool)
        keep[same + 1] = False
        times, values = times[keep], values[keep]
    return times, values


def join_klines(parts: list[Klines], where: str) -> Klines:
    """Bars of several files in order of time; see `_distinct` for doubles."""
    times = np.concatenate([part.times for part in parts])
    values = np.concatenate([part.values for part in parts])
    order = np.argsort(times, kind="stable")
    return Klines(*_distinct(times[order], values[order], where, "bars"))


def join_funding(parts: list[Funding], where: str) -> Funding:
    """Funding rows of several files in order of time; see `_distinct` for doubles."""
    times = np.concatenate([part.times for part in parts])
    rest = np.concatenate([np.column_stack([part.rates, part.hours]) for part in parts])
    order = np.argsort(times, kind="stable")
    times, rest = _distinct(times[order], rest[order], where, "rates", compare=1)
    return Funding(times, rest[:, 1], rest[:, 0])
