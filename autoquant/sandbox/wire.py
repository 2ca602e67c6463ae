"""The two files of a call, byte by byte. Standard library only: the warm parent loads it too.

Two kinds of call share them: a panel (`target_weights`, one number per row and asset) and tables (`generate_trades`,
a frame of as many rows as it likes).

In:  header | times int64 (T) | labels int64 (L, A) | cube float64 (F, T, A) | names, one a line | source
Out: header | class name | text | values float64 (T, A) | present uint8 (T)

For tables a field is one column of one frame, named `frame:column`, A is 1, and the one asset's name is the wanted
columns, joined by tabs. The answer's values are (rows, wanted) instead, behind a JSON note of `NOTE_BYTES` bytes.

The answer's file is made at its full size and sealed by the caller; whatever a child writes there is claims, checked
field by field on the other side.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

PANEL, TABLES = 0, 1
"""Kinds of call."""
ANSWERED, RAISED, REFUSED, OUT_OF_MEMORY = 1, 2, 3, 4

NAME_BYTES = 80
TEXT_BYTES = 400
NOTE_BYTES = 4096
_IN = struct.Struct("<8sIIIIIIqII")
_OUT = struct.Struct("<BxxxiHH")
_MAGIC = b"aq-call1"

_END = struct.Struct("<idQ?")
END_BYTES = _END.size


class End(NamedTuple):
    """What the warm parent says when a child is gone."""

    status: int
    """As `os.wait` gives it."""
    cpu_seconds: float
    peak_bytes: int
    """Resident memory."""
    shut_in: bool
    """False: its walls did not stand, and the strategy never ran."""

    def pack(self) -> bytes:
        """Bytes for the call socket."""
        return _END.pack(*self)

    @classmethod
    def unpack(cls, data: bytes) -> End:
        """From the call socket."""
        return cls(*_END.unpack(data))


class CallHeader(NamedTuple):
    """Sizes of a call's input and the two facts beside the arrays."""

    rows: int
    columns: int
    fields: int
    labels: int
    names_bytes: int
    source_bytes: int
    until_ms: int
    """`train_end`, milliseconds UTC."""
    reveal: bool
    kind: int = PANEL

    def pack(self) -> bytes:
        """Bytes at the head of the input file."""
        return _IN.pack(
            _MAGIC, self.rows, self.columns, self.fields, self.labels, self.names_bytes, self.source_bytes,
            self.until_ms, int(self.reveal), self.kind,
        )  # fmt: skip

    @classmethod
    def unpack(cls, data: bytes) -> CallHeader:
        """The header of an input file."""
        magic, rows, columns, fields, labels, names, source, until_ms, reveal, kind = _IN.unpack_from(data)
        if magic != _MAGIC:
            raise ValueError("not a call")
        return cls(rows, columns, fields, labels, names, source, until_ms, bool(reveal), kind)


HEADER_BYTES = _IN.size
VALUES_AT = _OUT.size + NAME_BYTES + TEXT_BYTES


def output_bytes(rows: int, columns: int) -> int:
    """Size of the answer's file."""
    return VALUES_AT + rows * columns * 8 + rows


def table_bytes(rows: int, wanted: int) -> int:
    """Size of the file of an answer that is a table of up to `rows` rows."""
    return VALUES_AT + NOTE_BYTES + rows * wanted * 8


def pack_verdict(status: int, line: int = 0, name: str = "", text: str = "") -> bytes:
    """The answer's head: how the call ended; name and text are cut to size."""
    name_bytes = name.encode("ascii", "replace")[:NAME_BYTES]
    text_bytes = text.encode("utf-8", "replace")[:TEXT_BYTES]
    head = _OUT.pack(status, line, len(name_bytes), len(text_bytes))
    return head + name_bytes.ljust(NAME_BYTES, b"\0") + text_bytes.ljust(TEXT_BYTES, b"\0")


class Verdict(NamedTuple):
    """What a child claims about its end."""

    status: int
    line: int
    name: str
    text: str


def unpack_verdict(data: bytes) -> Verdict:
    """The head of an answer; never raises on hostile content of the right size."""
    status, line, name_length, text_length = _OUT.unpack_from(data)
    name = data[_OUT.size : _OUT.size + min(name_length, NAME_BYTES)].decode("ascii", "replace")
    start = _OUT.size + NAME_BYTES
    text = data[start : start + min(text_length, TEXT_BYTES)].decode("utf-8", "replace")
    return Verdict(status, line, name, "".join(c if c.isprintable() else " " for c in text))
