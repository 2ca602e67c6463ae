"""How the public archive names its files. Paths are relative to the base URL and to `raw/`."""

from __future__ import annotations

import datetime as dt

from autoquant.clock import day_ms
from autoquant.protocol import Calendar

_ROOT = "data/futures/um"


def interval(bar_hours: int) -> str:
    """The archive's word for a bar length.

    >>> interval(4), interval(24)
    ('4h', '1d')
    """
    return "1d" if bar_hours == 24 else f"{bar_hours}h"


def kline_month(symbol: str, month: str, bar_hours: int) -> str:
    """Monthly bars.

    >>> kline_month("BTCUSDT", "2023-01", 4)
    'data/futures/um/monthly/klines/BTCUSDT/4h/BTCUSDT-4h-2023-01.zip'
    """
    word = interval(bar_hours)
    return f"{_ROOT}/monthly/klines/{symbol}/{word}/{symbol}-{word}-{month}.zip"


def kline_day(symbol: str, day: str, bar_hours: int) -> str:
    """One day's bars, for what a monthly file lacks."""
    word = interval(bar_hours)
    return f"{_ROOT}/daily/klines/{symbol}/{word}/{symbol}-{word}-{day}.zip"


def funding_month(symbol: str, month: str) -> str:
    """Monthly funding rates."""
    return f"{_ROOT}/monthly/fundingRate/{symbol}/{symbol}-fundingRate-{month}.zip"


def months(first_day: str, end_day: str) -> tuple[str, ...]:
    """Months from `first_day` up to, not including, `end_day`.

    >>> months("2022-11-01", "2023-02-01")
    ('2022-11', '2022-12', '2023-01')
    """
    result = []
    day = dt.date.fromisoformat(first_day).replace(day=1)
    while day.isoformat() < end_day:
        result.append(day.isoformat()[:7])
        day = (day + dt.timedelta(days=32)).replace(day=1)
    return tuple(result)


def month_bounds(month: str) -> tuple[int, int]:
    """First millisecond of a month and of the next.

    >>> month_bounds("1970-01")
    (0, 2678400000)
    """
    first = dt.date.fromisoformat(f"{month}-01")
    after = (first + dt.timedelta(days=32)).replace(day=1)
    return day_ms(first.isoformat()), day_ms(after.isoformat())


def open_months(calendar: Calendar) -> tuple[str, ...]:
    """Archive months of TRAIN and VALID."""
    return months(calendar.archive_start, calendar.lockbox_start)


def sealed_months(calendar: Calendar) -> tuple[str, ...]:
    """Archive months of LOCKBOX."""
    return months(calendar.lockbox_start, calendar.lockbox_end)
