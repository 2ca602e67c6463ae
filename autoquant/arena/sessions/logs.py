"""A session's output as a person wants to read it: `arena.py logs`, and the newest line for the live tables.

What is shown was printed by a competitor's programs. Every line is cut and made inert; nothing is believed or changed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from autoquant import amounts
from autoquant.arena.plain_text import plain
from autoquant.arena.sessions.listening import FileTail
from autoquant.arena.sessions.metering import Meter
from autoquant.arena.sessions.place import logs_of
from autoquant.arena.show.status import holder, race_view
from autoquant.clock import Clock, SystemClock
from autoquant.errors import UserError
from autoquant.harness import ADAPTERS, jsonl
from autoquant.harness.events import Called, Event, Finished, Hurt, ModelSeen, Reader, Said, Spent
from autoquant.harness.plain_reader import PlainReader
from autoquant.ledger.layout import RaceLayout
from autoquant.ledger.records import CompetitorJoined
from autoquant.ledger.views import CompetitorView, RaceView, SessionView

LINE = 400
"""Characters of a line that are shown."""
BLOCK_LINES = 2_000
TAIL_BYTES = 64 << 10
"""How far back the newest line is looked for."""


def show_logs(
    layout: RaceLayout,
    name: str,
    say: Callable[[str], None],
    *,
    session: int | None = None,
    raw: bool = False,
    follow: bool = False,
    clock: Clock | None = None,
    seconds: float = 0.5,
) -> None:
    """Print one session, by default the newest.

    Parameters
    ----------
    say : prints a line; with `raw` it has to make it inert.
    raw : the lines as they are, with neither header nor end.
    follow : go on until the session is over, and through later ones unless `session` names one, while an arena runs
        the race; looks every `seconds`.

    Raises
    ------
    UserError : no such competitor or session.
    """
    past = _Past(layout, name, clock or SystemClock(), seconds if follow else None)
    count = len(past.racer().sessions)
    if session is not None and not 1 <= session <= count:
        raise UserError(f"{name} has no session {session}", f"sessions so far: {count}")
    number = session or max(1, count)
    while past.has(number):
        log = SessionLog(layout, past.racer().joined, number, raw=raw)
        if not raw:
            say(header(past.racer().sessions[number - 1]))
        past.follow(log, number, say)
        for line in log.lines(last=True):
            say(line)
        if not raw:
            say(ending(past.racer(), number, log.meter, running=holder(layout) is not None))
        if not follow or session is not None:
            return
        number += 1
    if not past.racer().sessions:
        raise UserError(f"{name} has had no session yet", "arena.py status shows who is racing")


class SessionLog:
    """Both streams of a session as lines to print, standard output first; goes on where the last look ended."""

    def __init__(self, layout: RaceLayout, joined: CompetitorJoined, number: int, *, raw: bool) -> None:
        reader = reader_of(joined)
        self._raw = raw
        paths = logs_of(layout, joined.competitor, number)
        reads = (reader.stdout, reader.stderr)
        self._streams = tuple((FileTail(path), Fold(), read) for path, read in zip(paths, reads, strict=True))
        self.meter = Meter(joined.competitor, joined.model or "")
        """Counts what the streams say was spent."""

    def lines(self, *, last: bool = False) -> Iterator[str]:
        """What was added; with `last` all of it, also a line that lacks its end."""
        for tail, fold, read in self._streams:
            while True:
                for line in tail.lines(last=last):
                    if self._raw:
                        yield line
                    elif (folded := fold.take(line)) is not None:
                        yield from self._readable(read(folded))
                if not (last and tail.behind):
                    break

    def _readable(self, events: tuple[Event, ...]) -> Iterator[str]:
        for event in events:
            if isinstance(event, Spent):
                self.meter.take(event)
            elif text := readable(event):
                yield f"  {text}"


class Fold:
    """Makes one line of a verdict that `run.py --json` printed over hundreds: what it says to people."""

    def __init__(self) -> None:
        self._block: list[str] = []

    def take(self, line: str) -> str | None:
        """The next line; None while it is part of a block, or when the block has no words for people."""
        if not self._block and line != "{":
            return line
        self._block.append(line)
        if line != "}" and len(self._block) < BLOCK_LINES:
            return None
        block, self._block = self._block, []
        return jsonl.text(jsonl.parse("".join(block)).get("message")) or None


def reader_of(joined: CompetitorJoined) -> Reader:
    """Somebody who understands the competitor's program; one this version does not know is read as plain text."""
    adapter = ADAPTERS.get(joined.harness)
    return PlainReader() if adapter is None else adapter.reader()


def readable(event: Event) -> str:
    """An event as one short line; empty for what is no news to a person.

    >>> readable(Called("shell", "python run.py -m x")), readable(Said("two\\nlines"))
    ('> shell: python run.py -m x', 'two lines')
    """
    match event:
        case Said(text=text):
            return plain(text, LINE)
        case Called(tool=tool, text=text):
            return plain(f"> {tool}: {text}" if text else f"> {tool}", LINE)
        case ModelSeen(model=model):
            return plain(f"model {model}", LINE)
        case Hurt(trouble=trouble, message=message, gives_up=gives_up):
            return plain(f"! {trouble.value}{', gives up' if gives_up else ''}: {message}", LINE)
        case Finished(ok=ok, text=text):
            return "turn finished" if ok else plain(f"turn failed: {text}", LINE)
        case _:
            return ""


def header(session: SessionView) -> str:
    """Number, start, version, and whether a conversation goes on."""
    parts = [f"session {session.number}", f"started {_moment(session.started_utc)}", plain(session.version, 80)]
    parts.append(f"resumes {plain(session.resumes, 80)}" if session.resumes else "fresh")
    return " · ".join(part for part in parts if part)


def ending(racer: CompetitorView, number: int, heard: Meter, *, running: bool) -> str:
    """How the session ended, how long it took and what it spent: as recorded, else as its own output says."""
    session = racer.sessions[number - 1]
    counted = [part for part in racer.spent if part.session == number]
    usage = racer.usage_of_session(number)
    tokens, cost = usage.tokens if counted else heard.total.input + heard.total.output, usage.cost_usd
    parts = [f"session {number} is still running" if running else f"session {number} has no end on record"]
    if session.reason is not None:
        code = "" if session.exit_code is None else f", exit {session.exit_code}"
        parts = [
            f"session {number} ended {_moment(session.ended_utc or '')}",
            f"{plain(session.outcome or session.reason, 80)}{code}",
            amounts.duration(session.seconds),
        ]
    if tokens:
        parts.append(f"{amounts.tokens(tokens)} tokens" + (f", {amounts.dollars(cost)}" if counted else ""))
    if session.detail:
        parts.append(plain(session.detail, LINE))
    return " · ".join(parts)


def latest_line(layout: RaceLayout, view: RaceView, competitor: str) -> str:
    """The newest readable line of the competitor's running session; empty when there is none."""
    racer = view.competitors.get(competitor)
    if racer is None or not racer.sessions or racer.sessions[-1].reason is not None:
        return ""
    number, reader = racer.sessions[-1].number, reader_of(racer.joined)
    streams = zip(logs_of(layout, competitor, number), (reader.stdout, reader.stderr), strict=True)
    for path, read in sorted(streams, key=lambda stream: _changed(stream[0]), reverse=True):
        fold = Fold()
        lines = [folded for line in _last_lines(path) if (folded := fold.take(line)) is not None]
        for line in reversed(lines):
            for event in reversed(read(line)):
                if text := readable(event):
                    return text
    return ""


def _last_lines(path: Path) -> list[str]:
    """Whole lines at the end of a file, as far as `TAIL_BYTES` reach."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return []
    try:
        start = max(0, os.fstat(descriptor).st_size - TAIL_BYTES)
        lines = os.pread(descriptor, TAIL_BYTES, start).split(b"\n")
    except OSError:
        return []
    finally:
        os.close(descriptor)
    return [line.decode(errors="replace").rstrip("\r") for line in lines[1 if start else 0 : -1]]


def _changed(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def _moment(utc: str) -> str:
    return utc[:16].replace("T", " ")


class _Past:
    """A competitor's sessions as the record tells them, read again when its file has changed.

    Parameters
    ----------
    seconds : between two looks at a race that an arena runs; None waits for nothing.

    Raises
    ------
    UserError : no such competitor, from everything that reads.
    """

    def __init__(self, layout: RaceLayout, name: str, clock: Clock, seconds: float | None) -> None:
        self._layout = layout
        self._name = name
        self._clock = clock
        self._seconds = seconds
        self._size = -1
        self._view: RaceView | None = None

    def racer(self) -> CompetitorView:
        """The competitor as recorded now."""
        size = self._layout.ledger.stat().st_size
        if self._view is None or size != self._size:
            self._view, self._size = race_view(self._layout), size
        if self._name not in self._view.competitors:
            known = ", ".join(self._view.competitors) or "nobody"
            raise UserError(f"{self._name!r} is not in race {self._view.created.race}", f"in it: {known}")
        return self._view.competitors[self._name]

    def has(self, number: int) -> bool:
        """Whether there is such a session, now or as soon as the arena starts it."""
        while True:
            running = self._goes_on()  # asked first: what an arena wrote before it let go is in the view
            racer = self.racer()
            if number <= len(racer.sessions):
                return True
            if not running or racer.ended is not None:
                return False
            self._clock.sleep(self._seconds or 0.0)

    def follow(self, log: SessionLog, number: int, say: Callable[[str], None]) -> None:
        """Print what a session adds, until it is over or the arena is gone."""
        while self._goes_on() and self.racer().sessions[number - 1].reason is None:
            for line in log.lines():
                say(line)
            self._clock.sleep(self._seconds or 0.0)

    def _goes_on(self) -> bool:
        return self._seconds is not None and holder(self._layout) is not None
