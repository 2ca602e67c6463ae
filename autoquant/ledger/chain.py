"""The check of a whole ledger file, from its first byte. Reads only.

One process reads: 40,000 records take under a second of it, and what a second one could take over (the digests and
the form of the lines) would save less than its start costs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from autoquant import bulk
from autoquant.errors import LedgerError
from autoquant.ledger.lines import open_line
from autoquant.ledger.records import GENESIS, Record

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
    return _gather(path, _blocks(path))


def chain_of(content: bytes, name: str) -> Chain:
    """As `read_chain`, of bytes that are no file; `name` is how errors call them."""
    *lines, rest = content.split(b"\n")
    return _gather(Path(name), iter([(lines, rest)]))


_Block = tuple[list[bytes], bytes]
"""The lines that end in a piece of a file, without their newlines, and the beginning of the next one."""


def _gather(path: Path, blocks: Iterator[_Block]) -> Chain:
    """The chain of a file's lines."""
    name, records = str(path), list[Record]()
    head, size, last, tail = GENESIS, 0, b"", b""
    with bulk.uncollected():
        for lines, rest in blocks:
            for line in lines:
                record = open_line(line, len(records) + 1, head, name)
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


def _blocks(path: Path) -> Iterator[_Block]:
    """A file, a block at a time: the lines of a big ledger take more room than its records."""
    try:
        with path.open("rb") as handle:
            rest = b""
            while block := handle.read(_BLOCK):
                *lines, rest = (rest + block).split(b"\n")
                yield lines, rest
    except FileNotFoundError:
        return
    except OSError as error:
        raise LedgerError(f"{path}: {error.strerror or error}", "check that the file can be read") from error
