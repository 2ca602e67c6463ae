"""Download a contract's monthly archives, verify and keep them, and make one clean life of them.

`raw/` mirrors the archive's own layout: each zip beside its `.CHECKSUM`, put in place in one step once it is verified.
A zip that is there and fits its checksum is never asked for again, which is all that resuming needs.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np

from autoquant import files
from autoquant.clock import day_ms
from autoquant.errors import AutoQuantError, DataError
from autoquant.executor import LocalPool
from autoquant.market import names
from autoquant.market.fetch import CONTINUE, Fetcher, Stopped
from autoquant.market.grid import FIELDS, HOUR_MS, Floats, Ints
from autoquant.market.life import (
    Life,
    cut_bars,
    cut_funding,
    find_life,
    funding_gaps,
    gaps,
    missing_days,
)
from autoquant.market.manifest import FilePin, FundingGap, Gap, LockboxPin, Repair
from autoquant.market.parse import Funding, Klines, join_funding, join_klines, parse_funding, parse_klines, unzip
from autoquant.protocol import Calendar

Item = TypeVar("Item")
Result = TypeVar("Result")
Progress = Callable[[int, int], None]
Get = Callable[[str], tuple[bytes, str] | None]


@dataclass(frozen=True)
class Month:
    """What the archive has of one contract and month; None where it answers 404."""

    month: str
    bars: Klines | None
    funding: Funding | None
    pins: tuple[FilePin, ...]


@dataclass(frozen=True)
class History:
    """One contract, clean: bars and funding of its life only."""

    symbol: str
    life: Life
    bars: Klines
    funding: Funding
    pins: tuple[FilePin, ...]
    gaps: tuple[Gap, ...]
    repairs: tuple[Repair, ...]
    funding_gaps: tuple[FundingGap, ...]
    cut_bars: int
    cut_funding: int


class Store:
    """Verified archives under `raw/`.

    Parameters
    ----------
    root : the `raw` folder.
    fetcher : where absent ones come from.
    """

    def __init__(self, root: Path, fetcher: Fetcher) -> None:
        self.root = root
        self.fetcher = fetcher

    def get(self, path: str) -> tuple[bytes, str] | None:
        """Bytes and sha256 of an archive, from disk or fetched; None when the archive has no such file."""
        local = self.stored(path)
        if local is not None:
            return local
        sha256 = self.fetcher.checksum(path)
        if sha256 is None:
            return None
        body = self.fetcher.archive(path, sha256)
        self.put(path, body, sha256)
        return body, sha256

    def stored(self, path: str) -> tuple[bytes, str] | None:
        """Bytes and sha256 of an archive on disk that fits the checksum kept beside it."""
        try:
            said = self.checksum_file(path).read_text(errors="replace").split()[:1]
            body = (self.root / path).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise files.disk_fault(self.root / path, error) from None
        digest = files.sha256_bytes(body)
        return (body, digest) if said == [digest] else None

    def put(self, path: str, body: bytes, sha256: str) -> None:
        """Keep a verified archive."""
        line = f"{sha256}  {Path(path).name}\n"
        files.atomic_write(self.checksum_file(path), line, durable=False)
        files.atomic_write(self.root / path, body, durable=False)

    def checksum_file(self, path: str) -> Path:
        """Where an archive's published checksum is kept."""
        return self.root / f"{path}.CHECKSUM"


def fan_out(
    work: Callable[[Item], Result], items: list[Item], fetcher: Fetcher, jobs: int, on_progress: Progress | None
) -> list[Result]:
    """Run `work` over `items` on `jobs` threads; the first failure stops all others and is the one raised."""
    first: list[AutoQuantError] = []
    lock = threading.Lock()

    def guarded(item: Item) -> Result:
        try:
            return work(item)
        except Stopped:
            raise
        except AutoQuantError as error:
            with lock:
                first.append(error)
            fetcher.stop()
            raise

    with LocalPool("threads", jobs) as pool:
        try:
            return pool.map(guarded, items, on_result=on_progress)
        except Stopped:
            raise first[0] from None
        except BaseException:
            fetcher.stop()
            raise


def read_month(get: Get, fetcher: Fetcher, symbol: str, month: str, calendar: Calendar, *, keep: bool) -> Month:
    """Bars and funding of one contract and month; funding is only looked for where bars are.

    Parameters
    ----------
    get : bytes and sha256 of an archive path, None when there is no such file.
    keep : whether the raw archives stay on disk after packing.
    """
    start, end = names.month_bounds(month)
    path = names.kline_month(symbol, month, calendar.bar_hours)
    got = get(path)
    if got is None:
        return Month(month, None, None, ())
    where, bar_ms = fetcher.url(path), calendar.bar_hours * HOUR_MS
    bars = parse_klines(unzip(got[0], where), where, start_ms=start, end_ms=end, bar_ms=bar_ms)
    pins = [FilePin(path, where, len(got[0]), got[1], len(bars), keep)]
    path = names.funding_month(symbol, month)
    got = get(path)
    if got is None:
        return Month(month, bars, None, tuple(pins))
    where = fetcher.url(path)
    funding = parse_funding(unzip(got[0], where), where, start_ms=start, end_ms=end)
    pins.append(FilePin(path, where, len(got[0]), got[1], len(funding), keep))
    return Month(month, bars, funding, tuple(pins))


def assemble(
    store: Store,
    symbol: str,
    found: list[Month],
    *,
    calendar: Calendar,
    lives_on: bool,
    keep: Callable[[str], bool],
) -> History:
    """One clean life of a contract's months in TRAIN and VALID.

    Parameters
    ----------
    found : every month asked for, in order.
    lives_on : the archive has files of this contract after VALID.
    keep : whether the raw archive of a day (ISO) stays on disk.

    Raises
    ------
    DataError : names contract, month and URL; see the data rules.
    """
    bar_ms = calendar.bar_hours * HOUR_MS
    present = [month for month in found if month.bars is not None]
    if not present:
        url = store.fetcher.url(names.kline_month(symbol, found[0].month, calendar.bar_hours))
        raise DataError(f"{symbol}: the archive has no bars at all ({url} and later)", "check the base URL")
    run, reused = unbroken(store.fetcher, symbol, found, calendar, lives_on=lives_on)
    pins = [pin for month in run for pin in month.pins]
    bars = join_klines([month.bars for month in run if month.bars is not None], symbol)
    if not len(bars):
        raise DataError(f"{symbol}: its archives hold no bars")
    end_ms = min(names.month_bounds(run[-1].month)[1], day_ms(calendar.lockbox_start))
    bars, repairs, repair_pins = _repair(store, symbol, bars, end_ms, calendar, keep)
    files_end = reused or (run[-1].month != found[-1].month) or not lives_on
    life = find_life(bars, symbol, files_end=files_end, bar_ms=bar_ms)
    if reused:
        life = Life(life.first_ms, life.last_ms, f"{life.ended}; later files are a re-used ticker, not joined")
    clean = cut_bars(bars, life)
    stop_ms = end_ms if life.last_ms is None else life.last_ms + bar_ms
    rows = joined_funding(store.fetcher, symbol, run, life.first_ms, stop_ms)
    held = cut_funding(rows, life, bar_ms)
    return History(
        symbol=symbol,
        life=life,
        bars=clean,
        funding=held,
        pins=(*pins, *repair_pins),
        gaps=gaps(symbol, clean.times, stop_ms, bar_ms),
        repairs=repairs,
        funding_gaps=funding_gaps(symbol, held, life.first_ms, stop_ms),
        cut_bars=len(bars) - len(clean),
        cut_funding=len(rows) - len(held),
    )


def unbroken(
    fetcher: Fetcher,
    symbol: str,
    found: list[Month],
    calendar: Calendar,
    *,
    lives_on: bool,
    before: Klines | None = None,
) -> tuple[list[Month], bool]:
    """The months from listing to the first absent one, and whether files come back after an end (a re-used ticker).

    Parameters
    ----------
    lives_on : there are files after the last month asked for.
    before : bars that came earlier, so that an end in the first days is seen.

    Raises
    ------
    DataError : months are absent in the middle of a life; names contract, month and URL.
    """
    have = [month.bars is not None for month in found]
    start = have.index(True)
    stop = next((i for i in range(start, len(found)) if not have[i]), len(found))
    run = found[start:stop]
    if stop == len(found) or not (any(have[stop:]) or lives_on):
        return run, False
    parts = [month.bars for month in run if month.bars is not None]
    bars = join_klines(parts if before is None else [before, *parts], symbol)
    try:
        find_life(bars, symbol, files_end=True, bar_ms=calendar.bar_hours * HOUR_MS)
    except DataError:
        month = found[stop].month
        url = fetcher.url(names.kline_month(symbol, month, calendar.bar_hours))
        raise DataError(f"{symbol} {month}: 404 in the middle of its life: {url}", CONTINUE) from None
    return run, True


def _repair(
    store: Store, symbol: str, bars: Klines, end_ms: int, calendar: Calendar, keep: Callable[[str], bool]
) -> tuple[Klines, tuple[Repair, ...], list[FilePin]]:
    """Fill days that lack bars from their daily archives; a day without one stays a gap."""
    bar_ms = calendar.bar_hours * HOUR_MS
    repairs, pins = [], []
    for day in missing_days(bars.times, end_ms, bar_ms):
        path = names.kline_day(symbol, day, calendar.bar_hours)
        got = store.get(path)
        if got is None:
            continue
        where, start = store.fetcher.url(path), day_ms(day)
        daily = parse_klines(unzip(got[0], where), where, start_ms=start, end_ms=start + 24 * HOUR_MS, bar_ms=bar_ms)
        new = ~np.isin(daily.times, bars.times) & (daily.times > bars.times[0])
        pins.append(FilePin(path, where, len(got[0]), got[1], len(daily), keep(day)))
        if new.any():
            bars = join_klines([bars, Klines(daily.times[new], daily.values[new])], symbol)
            repairs.append(Repair(symbol, day, int(new.sum())))
    return bars, tuple(repairs), pins


def joined_funding(fetcher: Fetcher, symbol: str, run: list[Month], first_ms: int, stop_ms: int) -> Funding:
    """All funding rows of the run.

    Raises
    ------
    DataError : a month with bars inside [first_ms, stop_ms) has no row; names contract, month and URL.
    """
    parts = []
    for month in run:
        start, end = names.month_bounds(month.month)
        rows, bars = month.funding, month.bars
        trades = bars is not None and bool(((bars.times >= first_ms) & (bars.times < stop_ms)).any())
        if trades and (rows is None or not ((rows.times >= start) & (rows.times < end)).any()):
            url = fetcher.url(names.funding_month(symbol, month.month))
            said = "404" if rows is None else "no row"
            raise DataError(f"{symbol} {month.month}: funding missing while it trades ({said}): {url}", CONTINUE)
        if rows is not None:
            parts.append(rows)
    if not parts:
        return Funding(np.empty(0, dtype=np.int64), np.empty(0), np.empty(0))
    return join_funding(parts, symbol)


def on_grid(times: Ints, bars: Klines) -> Floats:
    """Bars (T, 6) on a time grid, NaN where there is none; bars outside it are left out."""
    values = np.full((len(times), len(FIELDS)), np.nan)
    inside = (bars.times >= times[0]) & (bars.times <= times[-1])
    values[np.searchsorted(times, bars.times[inside])] = bars.values[inside]
    return values


def pin_lockbox(fetcher: Fetcher, symbol: str, month: str, bar_hours: int) -> tuple[LockboxPin, LockboxPin]:
    """The published checksums of a sealed month's bars and funding; the archives themselves are not fetched."""
    kline, funding = names.kline_month(symbol, month, bar_hours), names.funding_month(symbol, month)
    bars = fetcher.checksum(kline)
    return LockboxPin(kline, bars), LockboxPin(funding, None if bars is None else fetcher.checksum(funding))
