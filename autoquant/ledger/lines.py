"""One record to one line of canonical JSON and back. Nothing is read from disk or written."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from autoquant import codec
from autoquant.errors import AutoQuantError, LedgerError
from autoquant.ledger.records import KINDS, Record, RecordBody, kind_of
from autoquant.protocol import SCHEMA_VERSION

_RESTORE = "restore it from a backup, or where the race had ended from an export; it is never repaired in place"
_BODIES = {kind: codec.decoder(body) for kind, body in KINDS.items()}
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


def open_line(line: bytes, number: int, previous: str, file: str) -> Record:
    """The record of one line without its newline.

    Parameters
    ----------
    line : of the file.
    number, previous : which line it is, and the digest of the one before.
    file : how the file is named in an error.

    Raises
    ------
    LedgerError : not JSON, not in canonical form, an unknown kind, key or version, a wrong digest, or a line that does
        not follow the one before.
    """
    fields = _read_at_once(line)
    sound = fields is not None
    if not sound:
        try:
            fields = json.loads(line.decode())
        except (ValueError, RecursionError):
            raise LedgerError(f"{file}:{number}: not a line of JSON", _RESTORE) from None
    if not isinstance(fields, dict) or fields.keys() != _KEYS:
        raise LedgerError(f"{file}:{number}: not a ledger record (keys differ)", _RESTORE)
    if fields["schema_version"] != SCHEMA_VERSION:
        raise LedgerError(
            f"{file}:{number}: schema version {fields['schema_version']!r}, this program reads {SCHEMA_VERSION}",
            "use the release of autoquant that wrote it",
        )
    if not sound and not (_carries_its_digest(line, fields) and _is_canonical(line, fields)):
        raise LedgerError(f"{file}:{number}: the line was altered (its digest does not match)", _RESTORE)
    if fields["seq"] != number or fields["previous"] != previous:
        raise LedgerError(f"{file}:{number}: record {fields['seq']} does not follow the line before", _RESTORE)
    kind = fields["kind"]
    if not isinstance(kind, str) or kind not in _BODIES:
        raise LedgerError(f"{file}:{number}: unknown kind {kind!r}", "use the release of autoquant that wrote it")
    try:
        body: RecordBody = _BODIES[kind](fields["body"], kind)
    except AutoQuantError as error:
        raise LedgerError(f"{file}:{number}: {error.message}", error.hint or _RESTORE) from error
    return Record(number, str(fields["utc"]), kind, body, previous, fields["digest"])


def _read_at_once(line: bytes) -> dict[str, Any] | None:
    """What a line says, if it is in canonical form, carries its digest and the fast parser can show both.

    None leaves it open what is wrong, or whether anything is: the slow way finds out.
    """
    try:
        fields = codec.parse(line)
        is_plain = codec.is_surely_canonical(line, fields) and _carries_its_digest(line, fields)
    except (KeyError, TypeError, ValueError):
        return None
    return fields if is_plain else None


def _carries_its_digest(line: bytes, fields: dict[str, Any]) -> bool:
    """Whether a line in canonical form, which is for others to show, holds its own sha256.

    In this form, what the digest covers is the line itself with the digest's own key cut out: the only place where the
    line can hold its own sha256.
    """
    digest = str(fields["digest"])
    before, key, after = line.rpartition(f'"digest":"{digest}",'.encode(errors="replace"))
    return bool(key) and digest == hashlib.sha256(before + after).hexdigest()


def _is_canonical(line: bytes, fields: dict[str, Any]) -> bool:
    try:
        return codec.canonical(fields).encode() == line
    except (ValueError, RecursionError):
        return False


def _digest(fields: dict[str, Any]) -> str:
    return hashlib.sha256(codec.canonical(fields).encode()).hexdigest()


def _writable(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {_writable(key): _writable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_writable(item) for item in value]
    return value
