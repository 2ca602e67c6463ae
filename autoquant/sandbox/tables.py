"""What goes into a table call and what comes out: frames of columns in, one frame of trades out."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autoquant.sandbox import wire
from autoquant.sandbox.frames import CallFrames, open_file, write_call

_MOST = 10**12
"""Rows or columns that a child may claim; a number of thousands of digits would only fill messages."""


@dataclass(frozen=True)
class TableFrames:
    """Frames that a solution is shown, all on the same rows."""

    times: NDArray[np.int64]
    """(T,) milliseconds since 1970 of the rows' local wall clock, increasing."""
    columns: tuple[tuple[str, str], ...]
    """Frame and column name of each row of `values`; the columns of one frame stand together."""
    values: NDArray[np.float64]
    """(C, T)"""

    @property
    def rows(self) -> int:
        """T."""
        return len(self.times)

    def as_call(self, wanted: tuple[str, ...]) -> CallFrames:
        """On the wire every column is a field of one asset, whose name says which columns are wanted."""
        fields = tuple(f"{frame}:{column}" for frame, column in self.columns)
        empty = np.empty((0, 1), np.int64)
        return CallFrames(self.times, ("\t".join(wanted),), fields, self.values[:, :, None], (), empty)


@dataclass(frozen=True)
class TableAnswer:
    """What `generate_trades` returned."""

    columns: tuple[str, ...]
    """Names it has, at most 24 of them."""
    column_count: int
    rows: int
    values: NDArray[np.float64] | None
    """(rows, wanted) in the wanted order, NaN and infinities as they came; None when columns are missing, too many or
    not numeric, or when there are more rows than room."""
    kinds: tuple[str, ...]
    """numpy kind of each wanted column: i, u, f, b."""
    cpu_seconds: float
    wall_seconds: float


def write_tables(frames: TableFrames, source: bytes, wanted: tuple[str, ...], reveal: bool) -> int:
    """Descriptor of a new anonymous file that holds the call's input and nothing else."""
    return write_call(frames.as_call(wanted), source, 0, reveal, kind=wire.TABLES)


def open_table(rows: int, wanted: tuple[str, ...]) -> int:
    """Descriptor of an empty answer file with room for `rows` rows."""
    return open_file(wire.table_bytes(rows, len(wanted)))


def read_table(
    descriptor: int, rows: int, wanted: tuple[str, ...]
) -> tuple[wire.Verdict, dict[str, Any], NDArray[np.float64] | None]:
    """Verdict, note and values of an answer whose child is gone. All of it is hostile claims, checked here.

    A note that is not what a child writes counts as none.
    """
    head = os.pread(descriptor, wire.VALUES_AT + wire.NOTE_BYTES, 0)
    verdict = wire.unpack_verdict(head[: wire.VALUES_AT].ljust(wire.VALUES_AT, b"\0"))
    note = _note(head[wire.VALUES_AT :], rows, wanted)
    if not note.get("numeric"):
        return verdict, note, None
    size = note["rows"] * len(wanted) * 8
    data = bytearray()
    while len(data) < size and (chunk := os.pread(descriptor, size - len(data), len(head) + len(data))):
        data += chunk
    data += bytes(size - len(data))
    return verdict, note, np.frombuffer(data, np.float64).reshape(note["rows"], len(wanted))


def _note(data: bytes, rows: int, wanted: tuple[str, ...]) -> dict[str, Any]:
    try:
        note = json.loads(data.rstrip(b"\0"))
        names, kinds = [str(name)[:40] for name in note["columns"]][:24], [str(kind)[:1] for kind in note["kinds"]]
        told, count = (min(int(note[name]), _MOST) for name in ("rows", "count"))
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return {}
    numeric = note.get("numeric") is True and len(kinds) == len(wanted) and 0 <= told <= rows
    clean = [name if name.isprintable() else ascii(name) for name in names]
    return {"columns": clean, "count": count, "rows": max(0, told), "kinds": kinds, "numeric": numeric}
