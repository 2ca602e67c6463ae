"""Files of minute bars that a user brings: read, cleaned row by row with every loss counted, merged on equal times."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from autoquant import files
from autoquant.errors import DataError
from autoquant.market.indices import NAMES, PRICES, Bars, IndexFile

ZONE = "Asia/Kolkata"
SPELLINGS = {
    "when": ("datetime", "timestamp", "dateandtime", "datetimeist"),
    "date": ("date", "day", "tradedate"),
    "time": ("time", "clock", "tradetime"),
    "open": ("open", "o", "openprice"),
    "high": ("high", "h", "highprice"),
    "low": ("low", "l", "lowprice"),
    "close": ("close", "c", "closeprice", "ltp"),
}
"""Column names without case and punctuation. A lone `date` column that holds times counts as date-time."""
FORMATS = (
    "ISO8601", "%d-%m-%Y %H:%M:%S", "%d-%m-%Y %H:%M", "%d/%m/%Y %H:%M:%S", "%d/%m/%Y %H:%M", "%Y%m%d %H:%M:%S",
    "%Y%m%d %H:%M",
)  # fmt: skip
"""Tried in turn; days come before months, as India writes them."""
_READABLE_SHARE = 0.99


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
    DataError : a file is missing or unreadable, lacks a column, or the two have no time in common.
    """
    read = {name: read_file(paths[name]) for name in NAMES}
    times = np.intersect1d(read["nifty"].times, read["banknifty"].times, assume_unique=True)
    if not len(times):
        raise DataError(
            "the two files have no minute in common", "both are to be minute bars of the same years, in IST"
        )
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
    known = when.notna().to_numpy()
    good = known & (np.isfinite(prices) & (prices > 0.0)).all(axis=0)
    if not good.any():
        raise DataError(f"{path}: not one row has a time and four prices above 0")
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
            return pd.read_parquet(path)
        return pd.read_csv(path, dtype=str, sep=None, engine="python") if _odd(path) else pd.read_csv(path, dtype=str)
    except FileNotFoundError:
        raise DataError(f"{path}: no such file") from None
    except ImportError:
        raise DataError(f"{path}: reading parquet needs pyarrow", "uv sync --extra parquet, or bring CSV") from None
    except (OSError, ValueError, pd.errors.ParserError) as error:
        line = " ".join(str(error).split())[:160]
        raise DataError(f"{path}: not a table this program reads ({line})", "CSV or parquet") from None


def _odd(path: Path) -> bool:
    """Whether the first line is separated by something other than commas."""
    with path.open(encoding="utf-8", errors="replace") as handle:
        return "," not in handle.readline(4096)


def _find(table: pd.DataFrame, meaning: str) -> str | None:
    plain = {re.sub(r"[^a-z]", "", str(name).lower()): str(name) for name in table.columns}
    return next((plain[word] for word in SPELLINGS[meaning] if word in plain), None)


def _column(table: pd.DataFrame, meaning: str, path: Path) -> str:
    found = _find(table, meaning)
    if found is None:
        shown = ", ".join(str(name)[:30] for name in table.columns[:12])
        raise DataError(f"{path}: no column for {meaning!r} (columns: {shown})", f"name one {SPELLINGS[meaning][0]!r}")
    return found


def _times(table: pd.DataFrame, path: Path) -> pd.Series:
    """Wall clock of each row without zone; NaT where it cannot be read."""
    single, date, time = _find(table, "when"), _find(table, "date"), _find(table, "time")
    name = single or (date if time is None else None)
    if name is None and (date is None or time is None):
        _column(table, "when", path)
    raw = table[name] if name else table[date].astype(str).str.strip() + " " + table[time].astype(str).str.strip()
    if pd.api.types.is_datetime64_any_dtype(raw):
        return _local(raw)
    texts = raw.astype(str).str.strip()
    for form in FORMATS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            parsed = pd.to_datetime(texts, format=form, errors="coerce")
        if pd.api.types.is_datetime64_any_dtype(parsed) and parsed.notna().mean() >= _READABLE_SHARE:
            return _local(parsed)
    raise DataError(
        f"{path}: times like {texts.iloc[0][:40]!r} are not understood" if len(texts) else f"{path}: no rows",
        "for example 2015-01-09 09:15:00, or 09-01-2015 09:15",
    )


def _local(times: pd.Series) -> pd.Series:
    return times if times.dt.tz is None else times.dt.tz_convert(ZONE).dt.tz_localize(None)
