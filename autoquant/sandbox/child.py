"""One call inside the forked child: frames over the mapped input, the strategy, the aligned answer. Then it is gone."""

from __future__ import annotations

import collections
import mmap
import os
import random
import traceback
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
import pandas as pd

from autoquant.sandbox import tables_child, wire
from autoquant.sandbox.refusal import RefusedError

FILE_NAME = "strategy.py"


def run(given: int, answer: int, enter: Callable[[], None]) -> NoReturn:
    """Serve the call whose input and output are the two descriptors; `enter` closes the world behind it."""
    source_map = mmap.mmap(given, 0, mmap.MAP_SHARED, mmap.PROT_READ)
    output_map = mmap.mmap(answer, 0, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)
    try:
        enter()
    except Exception:
        os._exit(1)
    random.seed(os.urandom(32))
    np.random.seed(np.frombuffer(os.urandom(32), np.uint32))
    header = wire.CallHeader.unpack(source_map[: wire.HEADER_BYTES])
    try:
        if header.kind == wire.TABLES:
            tables_child.answer(header, source_map, output_map, FILE_NAME)
        else:
            _store(output_map, *_answer(header, source_map))
        output_map[: wire.VALUES_AT] = wire.pack_verdict(wire.ANSWERED)
    except MemoryError as error:
        output_map[: wire.VALUES_AT] = wire.pack_verdict(wire.OUT_OF_MEMORY, _line(error), "MemoryError")
    except RefusedError as error:
        output_map[: wire.VALUES_AT] = wire.pack_verdict(wire.REFUSED, 0, *error.args)
    except BaseException as error:  # whatever a strategy raises, SystemExit too, is its answer
        text = _text(error) if header.reveal else ""
        output_map[: wire.VALUES_AT] = wire.pack_verdict(wire.RAISED, _line(error), type(error).__name__, text)
    os._exit(0)


def warm_up() -> None:
    """Run what most strategies run, once in the parent, so that no child pays for first use."""
    times = pd.date_range("2020-01-01", periods=120, freq="4h", tz="UTC")
    close = pd.DataFrame(np.linspace(1.0, 2.0, 360).reshape(120, 3), index=times, columns=["a", "b", "c"])
    change = close.diff().pct_change(2, fill_method=None).shift(1).fillna(0.0)
    change.rolling(5, min_periods=2).std().ewm(span=3).mean().rank(axis=1, pct=True)
    change.expanding(3).mean().where(change > 0, 0.0).clip(-1, 1).div(close.abs().sum(axis=1), axis=0)
    change.rolling(5).corr(close["a"]).loc[times[3] : times[9]].reindex(times).ffill()
    change.resample("1D").last().reindex(times, method="ffill").groupby(times.hour).cumsum()
    change.iloc[-1].sort_values().nlargest(2)
    np.linalg.lstsq(close.to_numpy(), close["a"].to_numpy(), rcond=None)


def _answer(header: wire.CallHeader, data: mmap.mmap) -> tuple[Any, Any]:
    rows, columns = header.rows, header.columns
    at = wire.HEADER_BYTES
    times = np.frombuffer(data, np.int64, rows, at)
    at += rows * 8
    labels = np.frombuffer(data, np.int64, header.labels * columns, at).reshape(header.labels, columns)
    at += header.labels * columns * 8
    cube = np.frombuffer(data, np.float64, header.fields * rows * columns, at).reshape(header.fields, rows, columns)
    at += header.fields * rows * columns * 8
    names = data[at : at + header.names_bytes].decode().split("\n")
    source = data[at + header.names_bytes : at + header.names_bytes + header.source_bytes].decode()
    fields, label_names = names[: header.fields], names[header.fields : header.fields + header.labels]
    assets = names[header.fields + header.labels :]

    index = pd.DatetimeIndex(times.astype("datetime64[ms]").astype("datetime64[ns]")).tz_localize("UTC")
    head = pd.Index(assets)
    parts: dict[str, Any] = {name: pd.DataFrame(cube[k], index, head, copy=False) for k, name in enumerate(fields)}
    parts["assets"] = assets
    parts |= {name: pd.Series(labels[k], head, name=name, copy=False) for k, name in enumerate(label_names)}
    panel = collections.namedtuple("Panel", parts)(**parts)

    scope: dict[str, Any] = {"__name__": "strategy", "__file__": FILE_NAME}
    exec(compile(source, FILE_NAME, "exec", dont_inherit=True), scope)
    until = pd.Timestamp(header.until_ms, unit="ms", tz="UTC").as_unit("ns")
    return _align(scope["target_weights"](panel, until), index, head)


def _align(answer: Any, index: pd.DatetimeIndex, head: pd.Index[Any]) -> tuple[Any, Any]:
    """The answer on the panel's rows and columns: missing column 0, extra rows dropped, missing rows marked."""
    if not isinstance(answer, pd.DataFrame):
        raise RefusedError("NotADataFrame", f"target_weights returned a {type(answer).__name__}")
    if not answer.columns.is_unique:
        raise RefusedError("DuplicateColumns", "the answer has two columns of one name")
    if not answer.index.is_unique:
        raise RefusedError("DuplicateRows", "the answer has two rows of one time")
    where = head.get_indexer(answer.columns)
    if (where < 0).any():
        raise RefusedError("UnknownColumn", f"{answer.columns[int(np.argmin(where))]!r} is not one of panel.assets")
    if any(kind.kind in "cmM" for kind in answer.dtypes):  # numpy would drop an imaginary part and count nanoseconds
        raise RefusedError("NotNumeric", "the answer holds complex numbers or times")
    try:
        stated = answer.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError):
        raise RefusedError("NotNumeric", "the answer holds something that is not a number") from None
    taken = np.arange(len(index)) if answer.index.equals(index) else answer.index.get_indexer(index)
    values = np.zeros((len(index), len(head)))
    values[:, where] = stated[taken] if len(stated) else np.nan
    present = taken >= 0
    values[~present] = np.nan
    if np.isinf(values).any():
        raise RefusedError("Infinite", "the answer holds an infinite weight")
    return values, present.astype(np.uint8)


def _store(output: mmap.mmap, values: Any, present: Any) -> None:
    rows, columns = values.shape
    end = wire.VALUES_AT + rows * columns * 8
    output[wire.VALUES_AT : end] = np.ascontiguousarray(values, np.float64).tobytes()
    output[end : end + rows] = present.tobytes()


def _line(error: BaseException) -> int:
    """Line of strategy.py that was running, 0 when none was."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == FILE_NAME]
    return (lines[-1] or 0) if lines else 0


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:
        return ""
