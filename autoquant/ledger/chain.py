"""The check of a whole ledger file, from its first byte. Reads only.

A big file is read by two processes where there are two cores: this one makes records of the lines and follows their
chain, the other looks at form and digest of most lines, nearly half of the work. Both must have seen the same bytes.
When anything is not in order, one alone reads again and says what.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from autoquant import bulk
from autoquant.errors import LedgerError
from autoquant.executor import LocalPool, default_jobs
from autoquant.ledger.lines import is_sound, open_line
from autoquant.ledger.records import GENESIS, Record

BIG = 16 << 20
"""Bytes from which a second process pays for its start: the lines of some 28,000 records."""
_SHARE = 0.9
"""Of the bytes, that the second process looks at: it starts later."""
_BLOCK = 1 << 20


@dataclass(frozen=True)
class Chain:
    """A verified file: its records, the bytes they cover, and what follows them."""

    records: tuple[Record, ...]
    size: int
    """Bytes up to and with the last good line (its newline counted only if there)."""
    last_line: bytes
    """The last good line without its newline; empty for an empty ledger."""
    lacks_newline: bool
    """The last good line is whole but for its newline."""
    torn_bytes: int
    """Bytes of a half-written line behind it."""


def read_chain(path: Path) -> Chain:
    """Verify a ledger file from its first byte; nothing is changed. A missing file is an empty ledger.

    Only the last line may be torn, and only by lacking its newline: a line that has one was once whole, so whatever
    is wrong with it was done to it.

    Raises
    ------
    LedgerError : names file and line: not JSON, not in canonical form, an unknown kind, key or version, a wrong
        digest, or a line that does not follow the one before (edited, removed, moved, repeated).
    """
    together = _read_together(path) if default_jobs() > 1 else None
    return _gather(path, _blocks(path)) if together is None else together


def chain_of(content: bytes, name: str) -> Chain:
    """As `read_chain`, of bytes that are no file; `name` is how errors call them."""
    *lines, rest = content.split(b"\n")
    return _gather(Path(name), iter([(content, lines, rest)]))


def _read_together(path: Path) -> Chain | None:
    """None for a file that is not big, or when anything is wrong, also with the second process."""
    seen = hashlib.sha256()
    try:
        size = path.stat().st_size
        if size < BIG:
            return None
        part = int(_SHARE * size / _BLOCK)
        with ThreadPoolExecutor(1) as waiting, LocalPool("processes", jobs=1) as pool:
            examined = waiting.submit(pool.map, _examine, [(path, part * _BLOCK)])
            chain = _gather(path, _blocks(path, size), seen, part)
            [theirs] = examined.result()
    except Exception:  # nobody vouches for these lines yet: whatever they run into, one alone finds the words
        return None
    return chain if theirs == (True, seen.hexdigest()) else None


def _examine(part: tuple[Path, int]) -> tuple[bool, str]:
    """In the second process: whether the whole lines of so many bytes are sound, and sha256 of these bytes."""
    path, size = part
    seen = hashlib.sha256()
    unsound = 0
    for block, lines, _ in _blocks(path, size):
        seen.update(block)
        unsound += sum(not is_sound(line) for line in lines)
    return not unsound, seen.hexdigest()


class _Hash(Protocol):
    def update(self, data: bytes, /) -> None: ...


_Block = tuple[bytes, list[bytes], bytes]
"""A piece of a file, the lines that end in it without their newlines, and the beginning of the next one."""


def _gather(path: Path, blocks: Iterator[_Block], seen: _Hash | None = None, vouched: int = 0) -> Chain:
    """The chain of a file's lines; somebody else looks at those of so many blocks, which go into `seen`."""
    name, records = str(path), list[Record]()
    head, size, last, tail = GENESIS, 0, b"", b""
    with bulk.uncollected():
        for place, (block, lines, rest) in enumerate(blocks):
            if seen is not None and place < vouched:
                seen.update(block)
            for line in lines:
                record = open_line(line, len(records) + 1, head, name, vouched=place < vouched)
                records.append(record)
                head, last, size = record.digest, line, size + len(line) + 1
            tail = rest
    if not tail:
        return Chain(tuple(records), size, last, lacks_newline=False, torn_bytes=0)
    try:
        record = open_line(tail, len(records) + 1, head, name)
    except LedgerError:
        return Chain(tuple(records), size, last, lacks_newline=False, torn_bytes=len(tail))
    return Chain((*records, record), size + len(tail), tail, lacks_newline=True, torn_bytes=0)


def _blocks(path: Path, size: int | None = None) -> Iterator[_Block]:
    """The first `size` bytes, a block at a time: the lines of a big ledger take more room than its records."""
    try:
        with path.open("rb") as handle:
            rest = b""
            while block := handle.read(_BLOCK if size is None else min(_BLOCK, size)):
                if size is not None:
                    size -= len(block)
                *lines, rest = (rest + block).split(b"\n")
                yield block, lines, rest
    except FileNotFoundError:
        return
    except OSError as error:
        raise LedgerError(f"{path}: {error.strerror or error}", "check that the file can be read") from error
