"""What goes into a call and what comes out, as arrays, and the anonymous files that carry them."""

from __future__ import annotations

import fcntl
import os
import sys
import tempfile
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from autoquant.sandbox import wire


@dataclass(frozen=True)
class CallFrames:
    """Everything a strategy is shown: `fields` as frames of rows × assets, `labels` as one number per asset.

    Rows are the whole history of the call: the file a child gets is cut from these and ends where they end.
    """

    times: NDArray[np.int64]
    """(T,) open times, milliseconds UTC, increasing."""
    assets: tuple[str, ...]
    fields: tuple[str, ...]
    cube: NDArray[np.float64]
    """(F, T, A)"""
    labels: tuple[str, ...]
    label_values: NDArray[np.int64]
    """(L, A)"""

    def rows(self, start: int, stop: int) -> CallFrames:
        """The same frames between two rows, half-open; no copy."""
        return CallFrames(
            self.times[start:stop], self.assets, self.fields, self.cube[:, start:stop], self.labels, self.label_values
        )


@dataclass(frozen=True)
class Answer:
    """A strategy's weights on the frames' rows and assets."""

    values: NDArray[np.float64]
    """(T, A), finite or NaN; NaN on absent rows, 0 for a column that was not answered."""
    present: NDArray[np.bool_]
    """(T,) rows that were answered."""
    cpu_seconds: float
    wall_seconds: float


def write_call(frames: CallFrames, source: bytes, until_ms: int, reveal: bool, *, kind: int = wire.PANEL) -> int:
    """Descriptor of a new anonymous file that holds the call's input and nothing else."""
    fields, rows, columns = frames.cube.shape
    names = "\n".join((*frames.fields, *frames.labels, *frames.assets)).encode()
    header = wire.CallHeader(rows, columns, fields, len(frames.labels), len(names), len(source), until_ms, reveal, kind)
    pieces: list[bytes | memoryview] = [header.pack(), _bytes(frames.times, np.int64)]
    pieces.append(_bytes(frames.label_values, np.int64))
    pieces += [_bytes(field, np.float64) for field in frames.cube]
    pieces += [names, source]
    descriptor = _anonymous("input")
    try:
        for piece in pieces:
            view = memoryview(piece)
            while view:
                view = view[os.write(descriptor, view) :]
        _seal(descriptor, writable=False)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def open_answer(rows: int, columns: int) -> int:
    """Descriptor of an empty answer file at its full, fixed size."""
    return open_file(wire.output_bytes(rows, columns))


def open_file(size: int) -> int:
    """Descriptor of an empty file of a fixed size that a child may write."""
    descriptor = _anonymous("answer")
    try:
        os.ftruncate(descriptor, size)
        _seal(descriptor, writable=True)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def read_answer(
    descriptor: int, rows: int, columns: int
) -> tuple[wire.Verdict, NDArray[np.float64], NDArray[np.uint8]]:
    """Verdict, values (T, A) and presence bytes (T,) of an answer whose child is gone. All of it is hostile claims."""
    size = wire.output_bytes(rows, columns)
    data = bytearray()
    while len(data) < size and (chunk := os.pread(descriptor, size - len(data), len(data))):
        data += chunk
    data += bytes(size - len(data))
    values = np.frombuffer(data, np.float64, rows * columns, wire.VALUES_AT).reshape(rows, columns)
    present = np.frombuffer(data, np.uint8, rows, wire.VALUES_AT + rows * columns * 8)
    return wire.unpack_verdict(bytes(data[: wire.VALUES_AT])), values, present


def _bytes(array: NDArray[np.generic], kind: type[np.generic]) -> memoryview:
    return np.ascontiguousarray(array, kind).reshape(-1).view(np.uint8).data


def _anonymous(name: str) -> int:
    if sys.platform == "linux":
        return os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    with tempfile.TemporaryFile() as handle:
        return os.dup(handle.fileno())


def _seal(descriptor: int, *, writable: bool) -> None:
    """Fix the size, and the content unless writable: a child cannot turn its files into a store of its own."""
    if sys.platform == "linux":
        seals = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, seals if writable else seals | fcntl.F_SEAL_WRITE)
