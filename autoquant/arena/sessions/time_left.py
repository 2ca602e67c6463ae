"""How long a competitor's session may still last, for the prompt and for every verdict. Shared between threads."""

from __future__ import annotations

from typing import Self

from autoquant.clock import Clock


class TimeLeft:
    """Moments at which sessions end at the latest.

    Parameters
    ----------
    clock : tells now.
    deadline : monotonic seconds at which the whole arena pauses; None for never.
    """

    def __init__(self, clock: Clock, deadline: float | None = None) -> None:
        self._clock = clock
        self.deadline = deadline
        self._ends: dict[str, float] = {}

    @classmethod
    def within(cls, clock: Clock, hours: float | None) -> Self:
        """Of an arena that pauses so many hours from now; None for never."""
        return cls(clock, None if hours is None else clock.monotonic() + hours * 3600)

    def begin(self, competitor: str, seconds: float) -> None:
        """A session starts that may last `seconds`."""
        self._ends[competitor] = self._clock.monotonic() + seconds

    def end(self, competitor: str) -> None:
        """Its session is over."""
        self._ends.pop(competitor, None)

    def of(self, competitor: str) -> float | None:
        """Seconds left; None when nothing limits them."""
        ends = [end for end in (self._ends.get(competitor), self.deadline) if end is not None]
        return max(0.0, min(ends) - self._clock.monotonic()) if ends else None
