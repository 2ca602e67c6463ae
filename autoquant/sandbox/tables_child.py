"""A table call inside the forked child: frames over the mapped input, `generate_trades`, the stated columns."""

from __future__ import annotations

import json
import mmap
from typing import Any

import numpy as np
import pandas as pd

from autoquant.sandbox import wire
from autoquant.sandbox.refusal import RefusedError

_SHOWN, _NAME = 24, 30
"""Column names that are told, and characters of each: what fits into `wire.NOTE_BYTES` whatever they are."""


def answer(header: wire.CallHeader, data: mmap.mmap, output: mmap.mmap, file_name: str) -> None:
    """Run the source's `generate_trades` and store what it returned.

    Raises
    ------
    RefusedError : not a DataFrame.
    """
    frames, wanted, source = _input(header, data)
    scope: dict[str, Any] = {"__name__": "solution", "__file__": file_name}
    exec(compile(source, file_name, "exec", dont_inherit=True), scope)
    trades = scope["generate_trades"](*frames)
    if not isinstance(trades, pd.DataFrame):
        raise RefusedError("NotADataFrame", f"generate_trades returned a {type(trades).__name__}")
    room = (len(output) - wire.VALUES_AT - wire.NOTE_BYTES) // (8 * len(wanted))
    columns = [str(name) for name in trades.columns]
    values = _values(trades, wanted) if sorted(columns) == sorted(wanted) and len(trades) <= room else None
    kinds = [] if values is None else [trades[name].dtype.kind if len(trades) else "f" for name in wanted]
    shown = [(name if name.isprintable() else ascii(name))[:_NAME] for name in columns[:_SHOWN]]
    note = {"columns": shown, "count": len(columns), "rows": len(trades), "kinds": kinds, "numeric": values is not None}
    text = json.dumps(note, ensure_ascii=False).encode()
    output[wire.VALUES_AT : wire.VALUES_AT + len(text)] = text
    if values is not None:
        at = wire.VALUES_AT + wire.NOTE_BYTES
        output[at : at + values.nbytes] = values.tobytes()


def _input(header: wire.CallHeader, data: mmap.mmap) -> tuple[list[pd.DataFrame], list[str], str]:
    rows, at = header.rows, wire.HEADER_BYTES
    times = np.frombuffer(data, np.int64, rows, at)
    at += rows * 8
    # A copy: frames that may be written to, as a reader of files gives them.
    columns = np.frombuffer(data, np.float64, header.fields * rows, at).reshape(header.fields, rows).copy()
    at += header.fields * rows * 8
    names = data[at : at + header.names_bytes].decode().split("\n")
    source = data[at + header.names_bytes : at + header.names_bytes + header.source_bytes].decode()
    index = pd.DatetimeIndex(times.astype("datetime64[ms]").astype("datetime64[ns]"), name="datetime")
    heads = [name.split(":") for name in names[: header.fields]]
    frames = []
    for frame in dict.fromkeys(frame for frame, _ in heads):
        places = [place for place, (owner, _) in enumerate(heads) if owner == frame]
        block = columns[places[0] : places[-1] + 1].T
        frames.append(pd.DataFrame(block, index, [heads[place][1] for place in places], copy=False))
    return frames, names[header.fields].split("\t"), source


def _values(trades: pd.DataFrame, wanted: list[str]) -> np.ndarray[Any, np.dtype[np.float64]] | None:
    """(rows, wanted) floats; None when a column holds something that is not a number.

    Without rows there is nothing in a column, whatever its type: pandas makes it `object`.
    """
    if not len(trades):
        return np.empty((0, len(wanted)))
    if any(trades[name].dtype.kind not in "iufb" for name in wanted):
        return None
    return np.ascontiguousarray(trades[wanted].to_numpy(dtype=np.float64, na_value=np.nan))
