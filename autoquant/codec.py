"""Frozen dataclasses to JSON and back, strictly.

Every persisted record goes through here: sorted keys, `null` for missing (never 0, never NaN), unknown keys and wrong
types refused with the field's path. Infinite or NaN floats are refused at encoding time.
"""

from __future__ import annotations

import dataclasses
import enum
import json
import math
import types
import typing
from functools import cache
from typing import Any, TypeVar

from autoquant.errors import AutoQuantError, ConfigError

T = TypeVar("T")


def encode(value: Any) -> Any:
    """Plain JSON values of a record: dataclasses become objects, tuples lists, enums their value.

    Raises
    ------
    AutoQuantError : a float that is not finite, or a type JSON has no word for.
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: encode(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, dict):
        return {str(key): encode(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [encode(item) for item in value]
    if isinstance(value, float):
        if not math.isfinite(value):
            raise AutoQuantError(f"a record holds {value}, which JSON cannot carry", "use None for a missing number")
        return value
    if value is None or isinstance(value, str | int):
        return value
    raise AutoQuantError(f"a record holds a {type(value).__name__}, which JSON cannot carry")


def dumps(value: Any, *, indent: int | None = None) -> str:
    """Canonical JSON text: sorted keys, no spaces unless indented, no NaN."""
    separators = (",", ":") if indent is None else (",", ": ")
    return json.dumps(
        encode(value), sort_keys=True, indent=indent, separators=separators, ensure_ascii=False, allow_nan=False
    )


def decode(cls: type[T], data: Any, where: str = "record") -> T:
    """Build a `cls` from plain JSON values, refusing unknown, missing and ill-typed fields.

    Parameters
    ----------
    cls : a dataclass; fields may be dataclasses, enums, tuples, dicts, unions with None and plain JSON types.
    data : what `json.loads` gave.
    where : how the source is named in an error, for example a file name.

    Raises
    ------
    ConfigError : names the field's path.
    """
    return typing.cast(T, _decode(cls, data, where))


def loads(cls: type[T], text: str | bytes, where: str = "record") -> T:
    """`decode` of JSON text.

    Raises
    ------
    ConfigError : not JSON, or not a `cls`.
    """
    try:
        data = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{where}: not valid JSON ({error})") from None
    return decode(cls, data, where)


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


@cache
def _hints(cls: type) -> dict[str, Any]:
    return typing.get_type_hints(cls)


def _decode(kind: Any, data: Any, where: str) -> Any:
    origin = typing.get_origin(kind)
    if kind is Any:
        return data
    if origin in (types.UnionType, typing.Union):
        return _decode_union(kind, data, where)
    if origin is tuple:
        return _decode_tuple(kind, data, where)
    if origin is dict:
        _require(isinstance(data, dict), where, "an object", data)
        item = typing.get_args(kind)[1]
        return {key: _decode(item, value, f"{where}.{key}") for key, value in data.items()}
    if dataclasses.is_dataclass(kind):
        return _decode_dataclass(typing.cast(type, kind), data, where)
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        try:
            return kind(data)
        except ValueError:
            raise ConfigError(f"{where}: {data!r} is not one of {', '.join(str(m.value) for m in kind)}") from None
    if kind is float:
        _require(isinstance(data, int | float) and not isinstance(data, bool), where, "a number", data)
        _require(math.isfinite(data), where, "a finite number", data)
        return float(data)
    if kind is int:
        _require(isinstance(data, int) and not isinstance(data, bool), where, "a whole number", data)
        return data
    if kind in (str, bool):
        _require(isinstance(data, kind), where, "text" if kind is str else "true or false", data)
        return data
    if kind is type(None):
        _require(data is None, where, "null", data)
        return None
    raise TypeError(f"codec cannot decode {kind}")


def _decode_union(kind: Any, data: Any, where: str) -> Any:
    options = typing.get_args(kind)
    if data is None and type(None) in options:
        return None
    failure: ConfigError | None = None
    for option in options:
        if option is type(None):
            continue
        try:
            return _decode(option, data, where)
        except ConfigError as error:
            failure = error
    raise failure or ConfigError(f"{where}: unexpected {data!r}")


def _decode_tuple(kind: Any, data: Any, where: str) -> Any:
    _require(isinstance(data, list | tuple), where, "a list", data)
    arguments = typing.get_args(kind)
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        return tuple(_decode(arguments[0], item, f"{where}[{i}]") for i, item in enumerate(data))
    _require(len(data) == len(arguments), where, f"a list of {len(arguments)}", data)
    return tuple(_decode(a, item, f"{where}[{i}]") for i, (a, item) in enumerate(zip(arguments, data, strict=True)))


def _decode_dataclass(cls: type, data: Any, where: str) -> Any:
    _require(isinstance(data, dict), where, "an object", data)
    fields = {f.name: f for f in dataclasses.fields(cls) if f.init}
    unknown = sorted(set(data) - set(fields))
    if unknown:
        raise ConfigError(f"{where}: unknown key {unknown[0]!r}", f"known keys: {', '.join(fields)}")
    _check_version(fields.get("schema_version"), data, where)
    hints = _hints(cls)
    values = {}
    for name, spec in fields.items():
        if name in data:
            values[name] = _decode(hints[name], data[name], f"{where}.{name}")
        elif spec.default is dataclasses.MISSING and spec.default_factory is dataclasses.MISSING:
            raise ConfigError(f"{where}: key {name!r} is missing")
    return cls(**values)


def _check_version(spec: dataclasses.Field[Any] | None, data: dict[str, Any], where: str) -> None:
    if spec is None or spec.default is dataclasses.MISSING:
        return
    found = data.get("schema_version", spec.default)
    if found != spec.default:
        raise ConfigError(
            f"{where}: schema version {found!r}, this program reads {spec.default}",
            "use the release of autoquant that wrote it",
        )


def _require(holds: bool, where: str, wanted: str, got: Any) -> None:
    if not holds:
        text = repr(got)
        raise ConfigError(f"{where}: expected {wanted}, got {text if len(text) <= 60 else text[:57] + '...'}")
