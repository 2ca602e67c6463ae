"""How a worker and its slot talk: pickled plain values over two pipes, each with its length before it."""

from __future__ import annotations

import pickle
import struct
from typing import IO, Any

_LENGTH = struct.Struct("<Q")


def send(pipe: IO[bytes], value: Any) -> None:
    """Write one value."""
    data = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    pipe.write(_LENGTH.pack(len(data)) + data)
    pipe.flush()


def receive(pipe: IO[bytes]) -> Any:
    """Read one value.

    Raises
    ------
    EOFError : the other side is gone.
    """
    length = _LENGTH.unpack(_exactly(pipe, _LENGTH.size))[0]
    return pickle.loads(_exactly(pipe, length))


def _exactly(pipe: IO[bytes], count: int) -> bytes:
    data = pipe.read(count)
    if len(data) != count:
        raise EOFError
    return data
