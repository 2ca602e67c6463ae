"""Round instants for a time axis, in UTC."""

from __future__ import annotations

import datetime as dt
import math

HOUR = 3600.0
DAY = 24 * HOUR
_STEPS = (60, 300, 900, HOUR, 2 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 7 * DAY, 14 * DAY, 28 * DAY)


def seconds(utc: str) -> float:
    """A stored time as seconds since 1970.

    >>> seconds("1970-01-02T00:00:01Z")
    86401.0
    """
    moment = dt.datetime.fromisoformat(utc)
    return (moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)).timestamp()


def day(place: float) -> str:
    """The day of an instant.

    >>> day(36_000.0)
    '1 Jan 1970'
    """
    moment = dt.datetime.fromtimestamp(place, dt.UTC)
    return f"{moment.day} {moment:%b %Y}"


def time_ticks(low: float, high: float, wanted: int) -> tuple[tuple[float, str], ...]:
    """Round instants inside `low … high` (seconds since 1970), at most `wanted` of them, with their words.

    Days as `2 Nov`, hours between them as `06:00`.

    >>> [words for _, words in time_ticks(0.0, 2 * DAY, 5)]
    ['1 Jan', '12:00', '2 Jan', '12:00', '3 Jan']
    """
    span = max(high - low, 1.0)
    whole_days = DAY * math.ceil(span / DAY / max(1, wanted - 1))
    step = next((step for step in _STEPS if span / step <= wanted - 1), whole_days)
    first = -(-low // step)
    places = [(first + index) * step for index in range(wanted + 1)]
    return tuple((place, _words(place)) for place in places if place <= high)


def _words(place: float) -> str:
    moment = dt.datetime.fromtimestamp(place, dt.UTC)
    if place % DAY:
        return f"{moment:%H:%M}"
    return f"{moment.day} {moment:%b}"
