"""One record to one line of canonical JSON and back, and the check of a whole file's chain. Reads only."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autoquant import bulk, codec
from autoquant.errors import AutoQuantError, LedgerError
from autoquant.ledger.records import GENESIS, KINDS, Record, RecordBody, kind_of
from autoquant.protocol import SCHEMA_VERSION

_RESTORE = "restore the ledger from an export or a backup; it is never repaired in place"
_KEYS = {"schema_version", "seq", "utc", "kind", "body", "previous", "digest"}


def seal(body: RecordBody, *, seq: int, utc: str, previous: str) -> tuple[Record, str]:
    """The record of `body` behind the one whose digest is `previous`, and its line without the newline.

    The body goes through JSON and back, so that what is held in memory is what a reader gets; a lone surrogate (a
    JSON escape can smuggle one in) becomes U+FFFD, since UTF-8 has no word for it.

    Raises
    ------
    LedgerError : a kind the ledger does not know, or a field of the wrong type.
    """
    kind = kind_of(type(body))
    if KINDS.get(kind) is not type(body):
        raise LedgerError(f"ledger: {type(body).__name__} is not a kind of record")
    try:
        plain = _writable(codec.encode(body))
        checked: RecordBody = codec.decode(KINDS[kind], plain, kind)
        plain = codec.encode(checked)
    except AutoQuantError as error:
        raise LedgerError(f"ledger: record {seq} is not written: {error.message}", error.hint) from error
    fields = {
        "schema_version": SCHEMA_VERSION,
        "seq": seq,
        "utc": utc,
        "kind": kind,
        "body": plain,
        "previous": previous,
    }
    digest = _digest(fields)
    record = Record(seq, utc, kind, checked, previous, digest)
    return record, codec.canonical(fields | {"digest": digest})


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
    records: list[Record] = []
    name = str(path)
    head, size, last, tail = GENESIS, 0, b"", b""
    with bulk.uncollected():
        for number, line in enumerate(_lines(path), start=1):
            if not line.endswith(b"\n"):
                tail = line
                break
            size, last = size + len(line), line[:-1]
            record = _open_line(last, number, head, f"{name}:{number}")
            records.append(record)
            head = record.digest
    if not tail:
        return Chain(tuple(records), size, last, lacks_newline=False, torn_bytes=0)
    try:
        record = _open_line(tail, len(records) + 1, head, name)
    except LedgerError:
        return Chain(tuple(records), size, last, lacks_newline=False, torn_bytes=len(tail))
    return Chain((*records, record), size + len(tail), tail, lacks_newline=True, torn_bytes=0)


def _lines(path: Path) -> Iterator[bytes]:
    """Lines with their newline, one at a time: a big race's ledger is larger than what its records take."""
    try:
        with path.open("rb") as handle:
            yield from handle
    except FileNotFoundError:
        return
    except OSError as error:
        raise LedgerError(f"{path}: {error.strerror or error}", "check that the file can be read") from error


def _open_line(line: bytes, number: int, previous: str, where: str) -> Record:
    try:
        text = line.decode()
        fields = json.loads(text)
    except (ValueError, RecursionError):
        raise LedgerError(f"{where}: not a line of JSON", _RESTORE) from None
    if not isinstance(fields, dict) or fields.keys() != _KEYS:
        raise LedgerError(f"{where}: not a ledger record (keys differ)", _RESTORE)
    if fields["schema_version"] != SCHEMA_VERSION:
        raise LedgerError(
            f"{where}: schema version {fields['schema_version']!r}, this program reads {SCHEMA_VERSION}",
            "use the release of autoquant that wrote it",
        )
    digest = fields["digest"]
    if not _sound(text, fields, digest):
        raise LedgerError(f"{where}: the line was altered (its digest does not match)", _RESTORE)
    if fields["seq"] != number or fields["previous"] != previous:
        raise LedgerError(f"{where}: record {fields['seq']} does not follow the line before", _RESTORE)
    kind = fields["kind"]
    if not isinstance(kind, str) or kind not in KINDS:
        raise LedgerError(f"{where}: unknown kind {kind!r}", "use the release of autoquant that wrote it")
    try:
        body: RecordBody = codec.decode(KINDS[kind], fields["body"], kind)
    except AutoQuantError as error:
        raise LedgerError(f"{where}: {error.message}", error.hint or _RESTORE) from error
    return Record(number, str(fields["utc"]), kind, body, previous, digest)


def _sound(text: str, fields: dict[str, Any], digest: Any) -> bool:
    """Whether a line is in canonical form and carries its digest.

    In canonical form, what the digest covers is the line itself with the digest's own key cut out: the only place where
    the line can hold its own sha256. So one writing shows both.
    """
    before, key, after = text.rpartition(f'"digest":"{digest}",')
    try:
        return bool(key) and digest == _sha256(before + after) and codec.canonical(fields) == text
    except (ValueError, RecursionError):
        return False


def _digest(fields: dict[str, Any]) -> str:
    return _sha256(codec.canonical(fields))


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _writable(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {_writable(key): _writable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_writable(item) for item in value]
    return value
