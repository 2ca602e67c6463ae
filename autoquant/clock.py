"""Time, passed in: one way to get it, one way to write it (UTC, ISO-8601, Z)."""

from __future__ import annotations

import datetime as dt
import time
from dataclasses import dataclass
from typing import Protocol


class Clock(Protocol):
    """What the arena needs of time; tests pass their own."""

    def now(self) -> dt.datetime:
        """Wall time, aware, UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds that never go back."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait."""
        ...


@dataclass(frozen=True)
class SystemClock:
    """The machine's clock."""

    def now(self) -> dt.datetime:
        """Wall time, aware, UTC."""
        return dt.datetime.now(dt.UTC)

    def monotonic(self) -> float:
        """Seconds that never go back."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)


def utc_iso(moment: dt.datetime) -> str:
    """`2026-11-30T14:05:00Z`, whole seconds."""
    return moment.astimezone(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def ms_iso(milliseconds: int) -> str:
    """ISO form of milliseconds since 1970.

    >>> ms_iso(1577836800000)
    '2020-01-01T00:00:00Z'
    """
    return utc_iso(dt.datetime.fromtimestamp(milliseconds / 1000, dt.UTC))


def day_ms(day: str) -> int:
    """Milliseconds since 1970 of an ISO day at 00:00 UTC.

    >>> day_ms("2020-01-01")
    1577836800000
    """
    return int(dt.datetime.fromisoformat(day).replace(tzinfo=dt.UTC).timestamp() * 1000)
