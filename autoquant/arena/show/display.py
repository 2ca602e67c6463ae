"""What `start` and `status --watch` show: a live table on a terminal, one line per event elsewhere. Always stderr."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Protocol, Self

from autoquant.amounts import duration
from autoquant.arena.show.status import RaceStatus
from autoquant.arena.show.table import (
    AMOUNTS,
    attempt_text,
    cost_lines,
    counted,
    counts,
    fault_lines,
    fault_text,
    headings,
    lockbox_lines,
    pause_text,
    provenance,
    table_rows,
    violation_lines,
)
from autoquant.arena.show.voice import Voice

if TYPE_CHECKING:
    from rich.console import Group


class Display(Protocol):
    """Takes every new status of a race."""

    def show(self, status: RaceStatus, seconds: float) -> None:
        """The race as it is, `seconds` after this arena started."""
        ...

    def pausing(self) -> None:
        """Say that a pause was asked for. Called from a signal handler: nothing buffered is touched."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


PAUSES = "Ctrl-C pauses cleanly, the same command resumes"
PAUSING = (
    "pausing: sessions end, the running evaluation is finished; Ctrl-C once more leaves at once "
    "(an evaluation cut off three times is a crash, whoever cut it)"
)
LEAVES = "Ctrl-C ends the watching, not the race"


Hear = Callable[[str], str]
"""The newest thing a competitor's running session said; empty for nothing."""


def display(voice: Voice, *, watching: bool = False, hear: Hear = lambda name: "") -> Display:
    """A live table where there is a terminal, lines otherwise.

    Parameters
    ----------
    watching : another process runs the race.
    hear : asked for each racing competitor with every drawing of the live table.
    """
    return LiveTable(watching=watching, hear=hear) if voice.live else Lines(voice.say)


class Lines:
    """One line for each verdict, end and fault, as it happens."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._before: RaceStatus | None = None

    def show(self, status: RaceStatus, seconds: float) -> None:
        """Print what is new since the last call; the first call only remembers."""
        before, self._before = self._before, status
        if before is None:
            left = sum(c.budget - c.attempts for c in status.competitors if c.state == "racing")
            racers = counted(len(status.competitors), "competitor")
            self._say(f"race {status.race}: {racers}, {counted(left, 'experiment')} left")
            return
        former = {competitor.name: competitor for competitor in before.competitors}
        for racer in status.competitors:
            old = former.get(racer.name)
            if racer.last is not None and (old is None or old.last != racer.last):
                self._say(f"{racer.name} {attempt_text(racer.last)} ({racer.attempts}/{racer.budget})")
            if racer.state not in ("racing", "left") and (old is None or old.state != racer.state):
                self._say(f"{racer.name} {racer.state}, {racer.attempts} of {racer.budget} attempts")
            elif (text := pause_text(racer, status)) and (old is None or old.pause != racer.pause):
                self._say(f"{racer.name} {text}")
        for fault in status.newest_faults[max(0, len(status.newest_faults) - (status.faults - before.faults)) :]:
            self._say(f"fault {fault_text(fault)}")
        if counts(status) != counts(before):
            self._say(f"race {status.race}: {' · '.join(counts(status))}")

    def pausing(self) -> None:
        """At once, straight to stderr."""
        _tell(f"{PAUSING}\n")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None


class LiveTable:
    """A table that is redrawn in place; time spent is shown by the arena that spends it."""

    def __init__(self, *, watching: bool = False, hear: Hear = lambda name: "") -> None:
        from rich.console import Console
        from rich.live import Live

        self._live = Live(console=Console(stderr=True), auto_refresh=False)
        self._watching = watching
        self._hear = hear
        self._pausing = False
        self._done_at_start: int | None = None
        self._last: tuple[RaceStatus, float] | None = None

    def show(self, status: RaceStatus, seconds: float) -> None:
        """Redraw."""
        self._last = status, seconds
        done = sum(c.attempts for c in status.competitors)
        going = [c for c in status.competitors if c.state == "racing" and not (c.pause and c.pause.left)]
        left = sum(c.budget - c.attempts for c in going)
        if self._done_at_start is None:
            self._done_at_start = done
        extra = [] if self._watching else [duration(seconds)]
        tip = ""
        if status.state == "running":
            tip = PAUSING if self._pausing else LEAVES if self._watching else PAUSES
            if left and done > self._done_at_start:
                extra.append(f"about {duration(seconds / (done - self._done_at_start) * left)} left")
        heard = {c.name: self._hear(c.name) for c in status.competitors if c.state == "racing"}
        self._live.update(render(status, extra, tip, heard if status.state == "running" else {}), refresh=True)

    def pausing(self) -> None:
        """With the next drawing: a line written now would tear the table."""
        self._pausing = True

    def __enter__(self) -> Self:
        self._live.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(OSError):  # the terminal may be gone, and the race has its own end
            if self._last is not None and self._last[0].state == "running" and not self._watching:
                status, seconds = self._last  # what stays on the terminal tells of a race that this arena has left
                self.show(replace(status, state="paused", arena=None), seconds)
            self._live.__exit__(kind, error, trace)


def render(status: RaceStatus, extra: list[str], tip: str = "", heard: Mapping[str, str] | None = None) -> Group:
    """The table, a dot in each competitor's colour, what sessions say, and the footer: state, what to press, sources.

    On a narrow terminal only the column of the last attempt gives way.
    """
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="dim")
    titles, rows = headings(status), table_rows(status)
    for column, title in enumerate(titles):
        if column == AMOUNTS - 1:
            table.add_column(title)
            continue
        dot = 2 if column == 0 else 0
        widest = max(len(title), *(len(row[column]) for row in rows)) if rows else len(title)
        justify: Literal["right", "left"] = "right" if column >= AMOUNTS else "left"
        table.add_column(" " * dot + title, no_wrap=True, min_width=dot + widest, justify=justify)
    for racer, cells in zip(status.competitors, rows, strict=True):
        shown = [Text(_inert(cell), no_wrap=True, overflow="ellipsis") for cell in cells[1:]]
        table.add_row(Text.assemble(("● ", racer.colour), _inert(cells[0])), *shown)
    said = [
        Text(_inert(f"{name}: {line}"), style="dim", no_wrap=True, overflow="ellipsis")
        for name, line in (heard or {}).items()
        if line
    ]
    above = [" · ".join([status.state, *counts(status), *extra]), tip, *provenance(status), *cost_lines(status)]
    return Group(
        table,
        *said,
        *(Text(_inert(line), style="dim") for line in above if line),
        *(Text(_inert(line), style="dim", no_wrap=True, overflow="ellipsis") for line in fault_lines(status)),
        *(Text(_inert(line), style="dim", no_wrap=True, overflow="ellipsis") for line in violation_lines(status)),
        *(Text(_inert(line), style="dim") for line in lockbox_lines(status)),
    )


def show_cursor() -> None:
    """Bring the cursor back and begin a new line, where a live table may have left neither: for a process that is
    about to leave without tidying up.
    """
    if os.isatty(2):
        _tell("\x1b[?25h\n")


def _tell(text: str) -> None:
    """Straight to stderr, from a signal handler; a terminal that has hung up hears nothing."""
    with contextlib.suppress(OSError):
        os.write(2, text.encode())


def _inert(text: str) -> str:
    """`text` without anything that could steer a terminal; its alignment stays."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
