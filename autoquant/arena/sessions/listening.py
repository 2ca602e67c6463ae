"""Follows what a competitor's programs print and write down, while they run and after a kill.

Everything read here was written by programs of the competitor: it is a hint about the session and evidence of what was
spent, never of what was achieved. Files are opened so that a pipe, link or device in their place does no harm.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from autoquant.arena.sessions.metering import Meter
from autoquant.arena.sessions.place import home_of, logs_of
from autoquant.harness import Competitor, harness_of
from autoquant.harness.events import Event, Finished, Hurt, ModelSeen, Named, Reader, Spent
from autoquant.harness.prices import Prices, shipped_prices
from autoquant.ledger.layout import RaceLayout
from autoquant.ledger.views import CompetitorView

LINE_BYTES = 16 << 20
"""A longer line is passed over."""
FILE_BYTES = 1 << 30
"""A larger file is no transcript."""
LOOK_BYTES = 8 << 20
"""Read of one file at one look; the rest is for the next one, so that nothing an agent writes holds its watch up."""
_CHUNK = 1 << 20
_MAX_TRANSCRIPTS = 2_000
READ_BACK_BYTES = 4 << 30
"""Of transcripts, before a race goes on."""
_CONVERSATION = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}")


def plausible(conversation: str) -> bool:
    """Whether this may be an id to resume with: it goes into a command line, and an agent can write what it likes.

    >>> plausible("01a22d6a-1d17-7260"), plausible("--config=x"), plausible("a b")
    (True, False, False)
    """
    return _CONVERSATION.fullmatch(conversation) is not None


class FileTail:
    """Complete lines that were added to a file since the last look."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0
        self._rest = b""
        self._skipping = False
        self.behind = False
        """Whether the last look left something for the next one."""

    @property
    def size(self) -> int:
        """Bytes read so far."""
        return self._offset

    def lines(self, *, last: bool = False) -> list[str]:
        """New lines without their ends; with `last` also a last one that lacks its end."""
        lines: list[str] = []
        self.behind = False
        try:
            descriptor = os.open(self._path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return lines
        try:
            facts = os.fstat(descriptor)
            if not stat.S_ISREG(facts.st_mode) or facts.st_size > FILE_BYTES:
                return lines
            if facts.st_size < self._offset:  # cut in place, as Grok does with its log; what was read counts once
                self._offset, self._rest, self._skipping = 0, b"", False
            until = min(facts.st_size, self._offset + LOOK_BYTES)
            while data := os.pread(descriptor, min(_CHUNK, until - self._offset), self._offset):
                self._offset += len(data)
                self._split(data, lines)
            self.behind = self._offset < facts.st_size
        except OSError:
            return lines
        finally:
            os.close(descriptor)
        if last and not self.behind and self._rest and not self._skipping:
            lines.append(self._rest.decode(errors="replace"))
            self._rest = b""
        return lines

    def _split(self, data: bytes, lines: list[str]) -> None:
        *whole, self._rest = (self._rest + data).split(b"\n")
        for line in whole:
            if self._skipping or len(line) > LINE_BYTES:
                self._skipping = False
            else:
                lines.append(line.decode(errors="replace").rstrip("\r"))
        if len(self._rest) > LINE_BYTES:
            self._rest, self._skipping = b"", True


class Evidence:
    """What all sessions of one competitor spent: transcripts in its home, and the streams listeners pass on.

    Parameters
    ----------
    reader : understands transcripts; its own, not a session's.
    home : the private HOME.
    patterns : globs below it.
    """

    def __init__(self, reader: Reader, home: Path, patterns: Sequence[str], meter: Meter) -> None:
        self._reader = reader
        self._home = home
        self._patterns = tuple(patterns)
        self._tails: dict[Path, FileTail] = {}
        self.meter = meter
        self.conversation: str | None = None
        """The id the newest transcript line of the present session named."""
        self.models: list[str] = []
        """Models that transcripts of the present session name, each once."""

    @property
    def behind(self) -> bool:
        """Whether the last look left something for the next one."""
        return any(tail.behind for tail in self._tails.values())

    def begin(self) -> None:
        """A session starts: what former ones named is not its own."""
        self.conversation = None
        self.models = []

    def look(self) -> bool:
        """Take in what transcripts have grown by; whether there was anything. At most `LOOK_BYTES` in all."""
        self._find()
        start = sum(tail.size for tail in self._tails.values())
        for tail in self._tails.values():
            for line in tail.lines():
                for event in self._reader.transcript(line):
                    self.take(event)
            if sum(other.size for other in self._tails.values()) - start > LOOK_BYTES:
                break
        return sum(tail.size for tail in self._tails.values()) != start

    def _find(self) -> None:
        """New files that match, behind no link: what stands elsewhere is somebody else's."""
        for pattern in self._patterns:
            for path in sorted(self._home.glob(pattern)):
                if path in self._tails or len(self._tails) >= _MAX_TRANSCRIPTS:
                    continue
                between = path.relative_to(self._home).parts[:-1]
                folders = [self._home.joinpath(*between[:depth]) for depth in range(len(between) + 1)]
                if not any(folder.is_symlink() for folder in folders):
                    self._tails[path] = FileTail(path)

    def take(self, event: Event) -> None:
        """Note what an event says about spending."""
        if isinstance(event, Spent):
            self.meter.take(event)
        elif isinstance(event, Named) and plausible(event.session):
            self.conversation = event.session
        elif isinstance(event, ModelSeen) and event.model not in self.models:
            self.models.append(event.model)


class Listener:
    """One session's two streams, read from its log files.

    Parameters
    ----------
    reader : new for this session.
    logs : of standard output and standard error.
    evidence : of the competitor.
    """

    def __init__(self, reader: Reader, logs: tuple[Path, Path], evidence: Evidence) -> None:
        self._reader = reader
        out, err = map(FileTail, logs)
        # Complaints mostly come on standard error, and the event that settles them on standard output: in one look,
        # where their order in time is lost, it has the last word.
        self._streams = ((err, reader.stderr), (out, reader.stdout))
        self._evidence = evidence
        self._named: str | None = None
        evidence.begin()
        self.trouble: Hurt | None = None
        """The last complaint that nothing good followed."""
        self.last_hurt: Hurt | None = None
        self.finished: Finished | None = None
        self.good = 0
        """Signs of work so far: text, tool calls."""
        self._models: list[str] = []

    @property
    def conversation(self) -> str | None:
        """The program's id of it, from the stream or, where that does not tell, from a transcript."""
        return self._named or self._evidence.conversation

    @property
    def models(self) -> tuple[str, ...]:
        """Models that answered, in order, each once."""
        return tuple(dict.fromkeys([*self._models, *self._evidence.models]))

    @property
    def output_bytes(self) -> int:
        """Of the longer stream, as far as it was kept."""
        return max(tail.size for tail, _ in self._streams)

    def look(self, *, last: bool = False) -> bool:
        """Take in what was printed since the last look; whether there was anything. The last look reads to the end."""
        before = sum(tail.size for tail, _ in self._streams)
        for tail, read in self._streams:
            while True:
                for line in tail.lines(last=last):
                    self._take(read(line))
                if not (last and tail.behind):
                    break
        self._evidence.look()
        return sum(tail.size for tail, _ in self._streams) != before

    def exit(self, code: int) -> None:
        """The program ended on its own with `code`, which may tell what its streams did not."""
        hurt = self._reader.exit(code)
        if hurt is not None and self.trouble is None:
            self._take((hurt,))

    def _take(self, events: Iterable[Event]) -> None:
        for event in events:
            match event:
                case Hurt():
                    self.trouble = self.last_hurt = _joined(self.trouble, event)
                case Finished(ok=ok):
                    self.finished = event
                    if ok:
                        self.trouble = None
                    continue
                case Named(session=session):
                    self._named = session if plausible(session) else self._named
                case ModelSeen(model=model):
                    self._models.append(model)
                case Spent():
                    self._evidence.take(event)
                case _:
                    self.good += 1
                    self.trouble = None
            self.finished = None


def _joined(before: Hurt | None, now: Hurt) -> Hurt:
    """The newer complaint, with what an earlier one of the same kind knew of the wait."""
    if before is None or before.trouble is not now.trouble:
        return now
    waits = [wait for wait in (before.retry_after_seconds, now.retry_after_seconds) if wait is not None]
    return replace(now, retry_after_seconds=max(waits, default=None), gives_up=before.gives_up or now.gives_up)


def read_back(layout: RaceLayout, racer: CompetitorView) -> tuple[Evidence, dict[int, str]]:
    """What a competitor's former sessions left: all they spent, and the conversation each one named."""
    joined, name = racer.joined, racer.name
    competitor = Competitor(name, joined.harness, joined.model or "", joined.effort or "", joined.colour)
    harness = harness_of(competitor)
    # What an endpoint of one's own charges stands in no table.
    meter = Meter(name, competitor.model, Prices(shipped_prices().date, {}) if joined.endpoint else None)
    evidence = Evidence(harness.reader(), home_of(layout, name), harness.transcripts, meter)
    room = READ_BACK_BYTES
    while evidence.look() and evidence.behind and room > 0:
        room -= LOOK_BYTES
    newest, conversations = evidence.conversation, {}
    for session in racer.sessions:
        listener = Listener(harness.reader(), logs_of(layout, name, session.number), evidence)
        listener.look(last=True)
        if listener.conversation is not None:
            conversations[session.number] = listener.conversation
    evidence.meter.settle(racer.spent)
    last = racer.sessions[-1] if racer.sessions else None
    former = {session.conversation for session in racer.sessions}
    if last is not None and newest is not None and (newest not in former or newest == last.resumes):
        conversations.setdefault(last.number, newest)
    return evidence, conversations
