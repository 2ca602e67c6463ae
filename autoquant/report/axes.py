"""What the race can be drawn over: attempts, agent time, tokens or cost, and who has a figure for it. Pure."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from autoquant.report.figures import ticks
from autoquant.report.model import Entrant


class Axis(StrEnum):
    """What runs along the bottom of the race."""

    ATTEMPT = "attempt"
    TIME = "time"
    TOKENS = "tokens"
    COST = "cost"


@dataclass(frozen=True)
class Unit:
    """How an axis is written: a tick is `before`, the value divided by `size`, `after`; `words` stands under it."""

    size: float
    words: str
    before: str = ""
    after: str = ""

    def write(self, value: float) -> str:
        """A tick's label.

        >>> Unit(1e6, "tokens", after=" M").write(2.5e6), Unit(3600.0, "hours").write(3600.0)
        ('2.5 M', '1')
        """
        return f"{self.before}{value / self.size:,g}{self.after}"


_TIMES = tuple(
    Unit(size, f"{words} of agent time") for size, words in ((3600.0, "hours"), (60.0, "minutes"), (1.0, "seconds"))
)
_TOKENS = (
    Unit(1e9, "tokens read and written", after=" G"),
    Unit(1e6, "tokens read and written", after=" M"),
    Unit(1e3, "tokens read and written", after=" k"),
    Unit(1.0, "tokens read and written"),
)


def positions(entrant: Entrant, axis: Axis) -> tuple[float | None, ...]:
    """Where each attempt stands on the axis, in the order of attempts: a count, seconds, tokens, US dollars.

    Time is the agent's own up to the moment it handed in the attempt. Tokens and cost are sums over what was put down
    to attempts so far; attempts before the first figure have no place (None), since nobody knows it and 0 is not it.
    A cost is only summed where every figure has one: else a competitor has no place at all on that axis.
    """
    if axis is Axis.ATTEMPT:
        return tuple(float(attempt.number) for attempt in entrant.attempts)
    if axis is Axis.TIME:
        return entrant.seconds_so_far
    return entrant.tokens_so_far if axis is Axis.TOKENS else entrant.cost_so_far


def extent(entrant: Entrant, axis: Axis) -> float:
    """Where the competitor's lines end: at all it used, with what came to no further attempt."""
    last = entrant.last_closed
    if axis is Axis.ATTEMPT:
        return float(last)
    places = [place for place in positions(entrant, axis)[:last] if place is not None]
    return max([0.0, _total(entrant, axis) or 0.0, *places[-1:]])


def present(entrants: Sequence[Entrant], axis: Axis) -> tuple[Entrant, ...]:
    """Competitors with a place on the axis: everybody over attempts, else who has a figure for an attempt."""
    if axis is Axis.ATTEMPT:
        return tuple(entrants)
    return tuple(e for e in entrants if any(place is not None for place in positions(e, axis)) and extent(e, axis) > 0)


def offered(entrants: Sequence[Entrant]) -> tuple[Axis, ...]:
    """Axes that somebody has a place on, attempts first."""
    return tuple(axis for axis in Axis if axis is Axis.ATTEMPT or present(entrants, axis))


@dataclass(frozen=True)
class Placing:
    """Attempts of one competitor on one axis."""

    places: dict[int, float | None]
    """By attempt number; attempt 0, the seed, stands at 0."""
    end: float

    @classmethod
    def of(cls, entrant: Entrant, axis: Axis) -> Placing:
        """Place a competitor's attempts."""
        numbers = [attempt.number for attempt in entrant.attempts]
        placed = dict(zip(numbers, positions(entrant, axis), strict=True))
        return cls({0: 0.0, **placed}, extent(entrant, axis))

    def step(self, attempt: int) -> float:
        """Where a line takes the step of an attempt. One without a place steps at the first place there is: by then
        it had happened.
        """
        place = self.places.get(attempt)
        if place is not None:
            return place
        known = (self.places[number] for number in sorted(self.places) if number > attempt)
        return next((place for place in known if place is not None), self.end)

    @cached_property
    def handed_in(self) -> tuple[float, ...]:
        """Places of attempts in order."""
        return tuple(sorted(place for number, place in self.places.items() if number and place is not None))

    def used_by(self, place: float) -> int:
        """How many attempts had been handed in at a place."""
        return bisect_right(self.handed_in, place)


def last_attempt(entrants: Sequence[Entrant]) -> float:
    """Where an axis of attempts ends: at the largest budget, or beyond it where more were made; at least 1."""
    return float(max((max(entrant.budget, len(entrant.attempts)) for entrant in entrants), default=1) or 1)


def unit(axis: Axis, high: float) -> Unit:
    """The largest unit of which the axis holds two, or the smallest there is."""
    if axis is Axis.ATTEMPT:
        return Unit(1.0, "attempt")
    if axis is Axis.COST:
        return Unit(1.0, "US dollars", before="$")
    units = _TIMES if axis is Axis.TIME else _TOKENS
    return next((unit for unit in units if high >= 2 * unit.size), units[-1])


def marks(axis: Axis, high: float, wanted: int) -> tuple[tuple[float, str], ...]:
    """Places of ticks on an axis from 0 to `high`, and their labels; whole numbers only over attempts.

    >>> marks(Axis.TIME, 9_000.0, 3)
    ((0.0, '0'), (3600.0, '1'), (7200.0, '2'))
    """
    measure = unit(axis, high)
    found = ticks(0.0, high / measure.size, wanted)
    kept = [value for value in found if axis is not Axis.ATTEMPT or value == int(value)]
    return tuple((value * measure.size, "0" if value == 0 else measure.write(value * measure.size)) for value in kept)


def _total(entrant: Entrant, axis: Axis) -> float | None:
    work = entrant.work
    if work is None:
        return None
    if axis is Axis.TIME:
        return work.agent_seconds
    if work.usage is None:
        return None
    return float(work.usage.tokens) if axis is Axis.TOKENS else work.usage.cost_usd
