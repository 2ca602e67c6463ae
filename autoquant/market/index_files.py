"""Files of minute bars that a user brings: read, cleaned row by row with every loss counted, merged on equal times."""

from __future__ import annotations

import re
import warnings
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from autoquant import files
from autoquant.errors import DataError
from autoquant.market.grid import MINUTE_MS
from autoquant.market.indices import NAMES, PRICES, Bars, IndexFile

ZONE = "Asia/Kolkata"
SPELLINGS = {
    "date and time": ("datetime", "timestamp", "dateandtime", "datetimeist"),
    "date": ("date", "day", "tradedate"),
    "time": ("time", "clock", "tradetime"),
    "open": ("open", "o", "openprice"),
    "high": ("high", "h", "highprice"),
    "low": ("low", "l", "lowprice"),
    "close": ("close", "c", "closeprice", "ltp"),
}
"""Column names without case and punctuation. A lone `date` or `time` column counts as date and time."""
_DAYS = ("%d-%m-%Y", "%d/%m/%Y", "%d-%b-%Y", "%Y/%m/%d", "%Y%m%d")
_CLOCKS = ("%H:%M:%S", "%H:%M", "%I:%M:%S %p", "%I:%M %p")
FORMATS = ("ISO8601", *(f"{day} {clock}" for day in _DAYS for clock in _CLOCKS))
"""Tried in turn; days come before months, as India writes them."""
FIRST, LAST = np.datetime64("1970-01-01"), np.datetime64("2200-01-01")
"""A time outside is a slip."""
_ZONED = r"(?:Z|[+-]\d\d:?\d\d)$"
_READABLE_SHARE = 0.99
_SAMPLE = 500
"""Rows on which a format is tried first."""


@dataclass(frozen=True, eq=False)
class Read:
    """Good rows of one file, in order of time."""

    times: NDArray[np.int64]
    prices: NDArray[np.float64]
    """(4, T)."""
    rows: int
    duplicates: int
    bad: int
    sha256: str


def merge(paths: dict[str, Path]) -> tuple[Bars, tuple[IndexFile, ...]]:
    """Aligned bars of both indices, and what became of each file's rows.

    Parameters
    ----------
    paths : file of each of `NAMES`, CSV or parquet.

    Raises
    ------
    DataError : a file is missing or unreadable, lacks a column, or the two are one, have no time in common or are no
        minute bars.
    """
    read = {name: read_file(paths[name]) for name in NAMES}
    if len({one.sha256 for one in read.values()}) == 1:
        raise DataError(f"{paths[NAMES[0]]} and {paths[NAMES[1]]} are the same file", "one file of each index")
    times = np.intersect1d(read["nifty"].times, read["banknifty"].times, assume_unique=True)
    if not len(times):
        raise DataError(
            "the two files have no minute in common", "both are to be minute bars of the same years, in IST"
        )
    apart = int(np.median(np.diff(times))) if len(times) > 1 else MINUTE_MS
    if apart != MINUTE_MS:
        raise DataError(f"the rows are no minute bars: they are {apart / MINUTE_MS:g} minutes apart", "bring minutes")
    prices = np.vstack([one.prices[:, np.searchsorted(one.times, times)] for one in read.values()])
    notes = tuple(
        IndexFile(paths[name].name, one.sha256, one.rows, one.duplicates, one.bad, len(one.times) - len(times))
        for name, one in read.items()
    )
    return Bars(times, np.ascontiguousarray(prices)), notes


def read_file(path: Path) -> Read:
    """Good rows of one file.

    Raises
    ------
    DataError : names file and column, or the first row that could not be read.
    """
    table = _table(path)
    when = _times(table, path)
    columns = [
        pd.to_numeric(table[_column(table, name, path)], errors="coerce").to_numpy(np.float64) for name in PRICES
    ]
    prices = np.vstack(columns)
    known = when.notna().to_numpy() & ((when >= FIRST) & (when < LAST)).to_numpy()
    good = known & (np.isfinite(prices) & (prices > 0.0)).all(axis=0)
    if not good.any():
        raise DataError(
            f"{path}: not one row has a time and four prices above 0", "prices like 8285.45, without a comma"
        )
    stamps = when.to_numpy()[good].astype("datetime64[ms]").astype(np.int64)
    kept, first = np.unique(stamps, return_index=True)
    return Read(
        times=kept,
        prices=np.ascontiguousarray(prices[:, good][:, first]),
        rows=len(table),
        duplicates=len(stamps) - len(kept),
        bad=int((~good).sum()),
        sha256=files.sha256_file(path),
    )


def _table(path: Path) -> pd.DataFrame:
    try:
        if path.suffix.lower() in (".parquet", ".pq"):
            table = pd.read_parquet(path)
            if isinstance(table.index, pd.DatetimeIndex):
                table = table.rename_axis(str(table.index.name or "datetime")).reset_index()
            return table
        return pd.read_csv(path, dtype=str, sep=_separator(path))
    except FileNotFoundError:
        raise DataError(f"{path}: no such file", "name a CSV or parquet file of minute bars") from None
    except ImportError:
        raise DataError(f"{path}: reading parquet needs pyarrow", "uv sync --extra parquet, or bring CSV") from None
    except (OSError, EOFError, zlib.error, ValueError) as error:
        line = " ".join(str(error).split())[:160]
        raise DataError(f"{path}: not a table this program reads ({line})", "CSV or parquet") from None


def _separator(path: Path) -> str:
    """What stands between the names of the first line."""
    names = "".join(str(name) for name in pd.read_csv(path, dtype=str, sep=",", nrows=0).columns)
    return next((mark for mark in ";\t|" if mark in names), ",")


def _find(table: pd.DataFrame, meaning: str, path: Path) -> str | None:
    plain = [(re.sub(r"[^a-z]", "", str(name).lower()), name) for name in table.columns]
    found = [name for word, name in plain if word in SPELLINGS[meaning]]
    if len(found) > 1:
        names = " and ".join(repr(str(name)[:30]) for name in found[:3])
        raise DataError(f"{path}: {names} could both be the {meaning}", "leave one of them out")
    return found[0] if found else None


def _column(table: pd.DataFrame, meaning: str, path: Path) -> str:
    found = _find(table, meaning, path)
    if found is None:
        shown = ", ".join(str(name)[:30] for name in table.columns[:12]) or "none"
        raise DataError(
            f"{path}: no column for the {meaning} (columns: {shown})", f"name one {SPELLINGS[meaning][0]!r}"
        )
    return found


def _times(table: pd.DataFrame, path: Path) -> pd.Series:
    """Wall clock of each row without zone; NaT where it cannot be read."""
    single, date, time = (_find(table, meaning, path) for meaning in ("date and time", "date", "time"))
    if single is None and date is not None and time is not None:
        raw = table[date].astype(str).str.strip() + " " + table[time].astype(str).str.strip()
    else:
        raw = table[single or date or time or _column(table, "date and time", path)]
    if pd.api.types.is_datetime64_any_dtype(raw):
        return _local(raw)
    if not len(raw):
        raise DataError(f"{path}: no rows")
    texts = raw.astype(str).str.strip()
    with_zone = texts.str.contains(_ZONED, regex=True)
    zoned = bool(with_zone.any())
    if zoned and not with_zone[raw.notna()].all():
        raise DataError(f"{path}: some times have a zone and some have none", "all in IST, or all with their zone")
    few = texts.iloc[:: max(1, len(texts) // _SAMPLE)]
    for form in FORMATS:
        if _parsed(few, form, zoned=zoned).notna().any():
            parsed = _parsed(texts, form, zoned=zoned)
            if parsed.notna().mean() >= _READABLE_SHARE:
                return _local(parsed)
    raise DataError(
        f"{path}: times like {str(texts.iloc[0])[:40]!r} are not understood",
        "for example 2015-01-09 09:15:00, or 09-01-2015 09:15 with the day first",
    )


def _parsed(texts: pd.Series, form: str, *, zoned: bool) -> pd.Series:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pd.to_datetime(texts, format=form, errors="coerce", utc=zoned)


def _local(times: pd.Series) -> pd.Series:
    return times if times.dt.tz is None else times.dt.tz_convert(ZONE).dt.tz_localize(None)
