"""Follows what a competitor's programs print and write down, while they run and after a kill.

Everything read here was written by programs of the competitor: it is a hint about the session and evidence of what was
spent, never of what was achieved. Files are opened so that a pipe, link or device in their place does no harm.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Sequence
from pathlib import Path

from autoquant.arena.sessions.metering import Meter
from autoquant.arena.sessions.session import home_of, logs_of
from autoquant.harness import Competitor, harness_of
from autoquant.harness.events import Event, Finished, Hurt, ModelSeen, Named, Reader, Spent
from autoquant.ledger.layout import RaceLayout
from autoquant.ledger.views import CompetitorView

LINE_BYTES = 16 << 20
"""A longer line is passed over."""
_CHUNK = 1 << 20
_MAX_TRANSCRIPTS = 2_000


class FileTail:
    """Complete lines that were added to a file since the last look."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0
        self._rest = b""
        self._skipping = False

    @property
    def size(self) -> int:
        """Bytes read so far."""
        return self._offset

    def lines(self, *, last: bool = False) -> list[str]:
        """New lines without their ends; with `last` also a last one that lacks its end."""
        lines: list[str] = []
        try:
            descriptor = os.open(self._path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return lines
        try:
            facts = os.fstat(descriptor)
            if not stat.S_ISREG(facts.st_mode):
                return lines
            if (
                facts.st_size < self._offset
            ):  # cut in place, as Grok does with its log: what was read before counts once
                self._offset, self._rest, self._skipping = 0, b"", False
            while data := os.pread(descriptor, _CHUNK, self._offset):
                self._offset += len(data)
                *whole, self._rest = (self._rest + data).split(b"\n")
                for line in whole:
                    if self._skipping or len(line) > LINE_BYTES:
                        self._skipping = False
                    else:
                        lines.append(line.decode(errors="replace").rstrip("\r"))
                if len(self._rest) > LINE_BYTES:
                    self._rest, self._skipping = b"", True
        except OSError:
            return lines
        finally:
            os.close(descriptor)
        if last and self._rest and not self._skipping:
            lines.append(self._rest.decode(errors="replace"))
            self._rest = b""
        return lines


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

    def look(self) -> bool:
        """Take in what transcripts have grown by; whether there was anything."""
        news = False
        for pattern in self._patterns:
            for path in sorted(self._home.glob(pattern)):
                if path not in self._tails and len(self._tails) < _MAX_TRANSCRIPTS:
                    self._tails[path] = FileTail(path)
        for tail in self._tails.values():
            for line in tail.lines():
                news = True
                for event in self._reader.transcript(line):
                    self.take(event)
        return news

    def take(self, event: Event) -> None:
        """Note what an event says about spending."""
        if isinstance(event, Spent):
            self.meter.take(event)
        elif isinstance(event, Named):
            self.conversation = event.session


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
        self._streams = tuple(zip(map(FileTail, logs), (reader.stdout, reader.stderr), strict=True))
        self._evidence = evidence
        self._named: str | None = None
        evidence.conversation = None
        self.trouble: Hurt | None = None
        """The last complaint that nothing good followed."""
        self.last_hurt: Hurt | None = None
        self.finished: Finished | None = None
        self.models: list[str] = []
        """Models that answered, in order, each once."""

    @property
    def conversation(self) -> str | None:
        """The program's id of it, from the stream or, where that does not tell, from a transcript."""
        return self._named or self._evidence.conversation

    @property
    def output_bytes(self) -> int:
        """Of the longer stream, as far as it was kept."""
        return max(tail.size for tail, _ in self._streams)

    def look(self, *, last: bool = False) -> bool:
        """Take in what was printed since the last look; whether there was anything."""
        before = self.output_bytes + sum(tail.size for tail, _ in self._streams)
        for tail, read in self._streams:
            for line in tail.lines(last=last):
                self._take(read(line))
        self._evidence.look()
        return self.output_bytes + sum(tail.size for tail, _ in self._streams) != before

    def exit(self, code: int) -> None:
        """The program ended on its own with `code`, which may tell what its streams did not."""
        hurt = self._reader.exit(code)
        if hurt is not None and self.trouble is None:
            self._take((hurt,))

    def _take(self, events: Iterable[Event]) -> None:
        for event in events:
            match event:
                case Hurt():
                    self.trouble = self.last_hurt = event
                case Finished(ok=ok):
                    self.finished = event
                    if ok:
                        self.trouble = None
                    continue
                case Named(session=session):
                    self._named = session
                case ModelSeen(model=model):
                    if model not in self.models:
                        self.models.append(model)
                case Spent():
                    self._evidence.take(event)
                case _:
                    self.trouble = None
            self.finished = None


def read_back(layout: RaceLayout, racer: CompetitorView) -> tuple[Evidence, dict[int, str]]:
    """What a competitor's former sessions left: all they spent, and the conversation each one named."""
    joined, name = racer.joined, racer.name
    competitor = Competitor(name, joined.harness, joined.model or "", joined.effort or "", joined.colour)
    harness = harness_of(competitor)
    home = home_of(layout, name)
    evidence = Evidence(harness.reader(), home, harness.transcripts, Meter(name, competitor.model))
    evidence.look()
    newest, conversations = evidence.conversation, {}
    for session in racer.sessions:
        listener = Listener(harness.reader(), logs_of(layout, name, session.number), evidence)
        listener.look(last=True)
        if listener.conversation is not None:
            conversations[session.number] = listener.conversation
    if racer.sessions and newest is not None:
        conversations.setdefault(racer.sessions[-1].number, newest)
    return evidence, conversations
