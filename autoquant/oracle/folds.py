"""Where the folds lie. Times are open times of bars in milliseconds UTC; windows are half-open."""

from __future__ import annotations

from dataclasses import dataclass

from autoquant.clock import day_ms
from autoquant.protocol import PROTOCOL, Protocol

DAY_MS = 86_400_000


@dataclass(frozen=True)
class Window:
    """One fold: history and embargo before it, the scored bars inside [start_ms, end_ms)."""

    number: int
    """1-based."""
    history_ms: int
    """First bar a strategy is shown."""
    train_end_ms: int
    """Start of the embargo: what the strategy gets as `train_end`."""
    start_ms: int
    end_ms: int

    def shifted(self, days: int) -> Window:
        """The same fold, `days` later."""
        step = days * DAY_MS
        return Window(
            self.number, self.history_ms + step, self.train_end_ms + step, self.start_ms + step, self.end_ms + step
        )


def _blocks(first_ms: int, count: int, protocol: Protocol) -> tuple[Window, ...]:
    calendar = protocol.calendar
    windows = []
    for number in range(count):
        train_end = first_ms + number * calendar.block_days * DAY_MS
        windows.append(
            Window(
                number=number + 1,
                history_ms=train_end - calendar.history_days * DAY_MS,
                train_end_ms=train_end,
                start_ms=train_end + calendar.embargo_days * DAY_MS,
                end_ms=train_end + calendar.block_days * DAY_MS,
            )
        )
    return tuple(windows)


def valid_windows(protocol: Protocol = PROTOCOL) -> tuple[Window, ...]:
    """The six scored folds of VALID.

    >>> from autoquant.clock import ms_iso
    >>> [ms_iso(w.start_ms)[:10] for w in valid_windows()]
    ['2023-01-22', '2023-06-14', '2023-11-04', '2024-03-26', '2024-08-16', '2025-01-06']
    """
    return _blocks(day_ms(protocol.calendar.valid_start), protocol.calendar.folds, protocol)


def train_windows(protocol: Protocol = PROTOCOL) -> tuple[Window, ...]:
    """The last four blocks of TRAIN, for free research."""
    calendar = protocol.calendar
    first = day_ms(calendar.valid_start) - calendar.train_folds * calendar.block_days * DAY_MS
    return _blocks(first, calendar.train_folds, protocol)


def lockbox_window(protocol: Protocol = PROTOCOL) -> Window:
    """The sealed year as one path."""
    calendar = protocol.calendar
    start = day_ms(calendar.lockbox_start)
    train_end = start - calendar.embargo_days * DAY_MS
    return Window(1, train_end - calendar.history_days * DAY_MS, train_end, start, day_ms(calendar.lockbox_end))
