"""Frozen dataclasses to JSON and back, strictly.

Every persisted record goes through here: sorted keys, `null` for missing (never 0, never NaN), unknown keys and wrong
types refused with the field's path. Infinite or NaN floats are refused at encoding time.

A class is looked at once: what reads it is a chain of closures, one per field, since a big race has hundreds of
thousands of records. They know nothing of where a value stands; an error collects its path on the way out.
"""

from __future__ import annotations

import dataclasses
import enum
import json
import math
import re
import types
import typing
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

import orjson

from autoquant.errors import AutoQuantError, ConfigError

T = TypeVar("T")

Reader = Callable[[Any], Any]
"""Plain JSON value to value of a type; raises `_Misfit`."""

_PLAIN = frozenset({str, int, bool, type(None)})


def encode(value: Any) -> Any:
    """Plain JSON values of a record: dataclasses become objects, tuples lists, enums their value.

    Raises
    ------
    AutoQuantError : a float that is not finite, or a type JSON has no word for.
    """
    kind = type(value)
    if kind in _PLAIN:
        return value
    if dataclasses.is_dataclass(kind):
        return {name: encode(getattr(value, name)) for name in _names(kind)}
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
    if isinstance(value, str | int):
        return value
    raise AutoQuantError(f"a record holds a {kind.__name__}, which JSON cannot carry")


def dumps(value: Any, *, indent: int | None = None) -> str:
    """Canonical JSON text: sorted keys, no spaces unless indented, no NaN."""
    if indent is None:
        return canonical(encode(value))
    return json.dumps(encode(value), sort_keys=True, indent=indent, ensure_ascii=False, allow_nan=False)


_COMPACT = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def canonical(plain: Any) -> str:
    """`dumps` of what is plain already: what `encode` or `json.loads` gave.

    Raises
    ------
    ValueError : a float that is not finite.
    """
    return _COMPACT.encode(plain)


def is_surely_canonical(data: bytes, plain: Any) -> bool:
    """Whether `data`, of which `parse` made `plain`, is for sure what `canonical` writes: shown at twice the speed.

    False says nothing. The two writers differ in floats below 1e-4 (`0.00005` and `1e-7`, `5e-05` and `1e-07`), so a
    text with anything like one of the fast writer's is not vouched for.

    Raises
    ------
    TypeError : nested too deeply.
    """
    if not _LARGE_FLOATS_ALIKE or ((b"0.0000" in data or b"e-" in data) and _SMALL_FLOAT.search(data)):
        return False
    return orjson.dumps(plain, option=orjson.OPT_SORT_KEYS) == data


_LARGE_FLOATS_ALIKE = orjson.dumps(1e16) == b"1e+16"
"""An older orjson writes `1e16`: there nothing is vouched for."""
_SMALL_FLOAT = re.compile(rb"(?:^|[:,\[])-?(?:0\.0000|[0-9.]+e-[0-9](?![0-9]))")


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
    return typing.cast(T, decoder(typing.cast(type, cls))(data, where))


@cache
def decoder(cls: type) -> Callable[[Any, str], Any]:
    """`decode` for one class: to be held by who decodes very many."""
    read = _reader(cls)

    def decode_one(data: Any, where: str) -> Any:
        try:
            return read(data)
        except _Misfit as misfit:
            raise ConfigError(f"{where}{misfit.path}: {misfit.problem}", misfit.hint) from None

    return decode_one


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


def parse(data: bytes) -> Any:
    """Plain values of JSON text, several times as fast as `json.loads`: for bulk that is held to a digest as well.

    A whole number beyond 64 bits becomes a float, which no field of whole numbers takes.

    Raises
    ------
    ValueError : not JSON; NaN, infinities and lone surrogates are not.
    """
    return orjson.loads(data)


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


class _Misfit(Exception):
    """A value that does not fit its type. `steps` leads to it, innermost first."""

    def __init__(self, problem: str, hint: str = "") -> None:
        super().__init__(problem)
        self.problem = problem
        self.hint = hint
        self.steps: list[str] = []

    @property
    def path(self) -> str:
        """Of the value, from the record."""
        return "".join(reversed(self.steps))


def _expected(wanted: str, got: Any) -> _Misfit:
    text = repr(got)
    return _Misfit(f"expected {wanted}, got {text if len(text) <= 60 else text[:57] + '...'}")


@cache
def _names(cls: type) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(cls))


def _reader(kind: Any) -> Reader:
    """What reads a value of type `kind`."""
    if dataclasses.is_dataclass(kind):
        return _dataclass_reader(typing.cast(type, kind))
    if kind in _LEAVES:
        return _LEAVES[kind]
    origin = typing.get_origin(kind)
    if origin in (types.UnionType, typing.Union):
        return _union_reader(typing.get_args(kind))
    if origin is tuple:
        return _tuple_reader(typing.get_args(kind))
    if origin is dict:
        return _dict_reader(_reader(typing.get_args(kind)[1]))
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return _enum_reader(kind)
    raise TypeError(f"codec cannot decode {kind}")


def _anything(data: Any) -> Any:
    return data


def _number(data: Any) -> float:
    if type(data) is float and math.isfinite(data):
        return data
    if not isinstance(data, int | float) or isinstance(data, bool):
        raise _expected("a number", data)
    try:
        value = float(data)
    except OverflowError:
        value = math.inf
    if not math.isfinite(value):
        raise _expected("a finite number", data)
    return value


def _whole_number(data: Any) -> Any:
    if type(data) is not int and (not isinstance(data, int) or isinstance(data, bool)):
        raise _expected("a whole number", data)
    return data


def _text(data: Any) -> Any:
    if not isinstance(data, str):
        raise _expected("text", data)
    return data


def _truth(data: Any) -> Any:
    if not isinstance(data, bool):
        raise _expected("true or false", data)
    return data


def _null(data: Any) -> None:
    if data is not None:
        raise _expected("null", data)


_LEAVES: dict[Any, Reader] = {
    Any: _anything,
    float: _number,
    int: _whole_number,
    str: _text,
    bool: _truth,
    type(None): _null,
}


def _enum_reader(kind: type[enum.Enum]) -> Reader:
    def read(data: Any) -> Any:
        try:
            return kind(data)
        except ValueError:
            raise _Misfit(f"{data!r} is not one of {', '.join(str(m.value) for m in kind)}") from None

    return read


def _union_reader(kinds: tuple[Any, ...]) -> Reader:
    """The first type that fits; the last one's complaint when none does."""
    optional = type(None) in kinds
    *others, last = [_reader(kind) for kind in kinds if kind is not type(None)]

    if optional and not others:
        return lambda data: None if data is None else last(data)

    def read(data: Any) -> Any:
        if data is None and optional:
            return None
        for other in others:
            try:
                return other(data)
            except _Misfit:
                continue
        return last(data)

    return read


def _tuple_reader(kinds: tuple[Any, ...]) -> Reader:
    endless = len(kinds) == 2 and kinds[1] is Ellipsis
    readers = [_reader(kind) for kind in (kinds[:1] if endless else kinds)]

    def read(data: Any) -> Any:
        if not isinstance(data, list | tuple):
            raise _expected("a list", data)
        if not endless and len(data) != len(readers):
            raise _expected(f"a list of {len(readers)}", data)
        result = []
        try:
            for item, item_reader in zip(data, readers * len(data) if endless else readers, strict=True):
                result.append(item_reader(item))
        except _Misfit as misfit:
            misfit.steps.append(f"[{len(result)}]")
            raise
        return tuple(result)

    return read


def _dict_reader(item_reader: Reader) -> Reader:
    def read(data: Any) -> Any:
        if not isinstance(data, dict):
            raise _expected("an object", data)
        result = {}
        for key, item in data.items():
            try:
                result[key] = item_reader(item)
            except _Misfit as misfit:
                misfit.steps.append(f".{key}")
                raise
        return result

    return read


@cache
def _dataclass_reader(cls: type) -> Reader:
    specs = {field.name: field for field in dataclasses.fields(cls) if field.init}
    required = [
        name
        for name, spec in specs.items()
        if spec.default is dataclasses.MISSING and spec.default_factory is dataclasses.MISSING
    ]
    version = specs["schema_version"].default if "schema_version" in specs else dataclasses.MISSING
    in_order = not any(spec.kw_only for spec in specs.values())
    readers: dict[str, Reader] | None = None
    at_once: list[tuple[str, type, Reader]] = []

    def read(data: Any) -> Any:
        nonlocal readers, at_once
        if not isinstance(data, dict):
            raise _expected("an object", data)
        if not specs.keys() >= data.keys():
            unknown = min(data.keys() - specs.keys())
            raise _Misfit(f"unknown key {unknown!r}", f"known keys: {', '.join(specs)}")
        if version is not dataclasses.MISSING and data.get("schema_version", version) != version:
            raise _Misfit(
                f"schema version {data['schema_version']!r}, this program reads {version}",
                "use the release of autoquant that wrote it",
            )
        if readers is None:  # now rather than before, since a class may hold itself
            hints = typing.get_type_hints(cls)
            readers = {name: _reader(hints[name]) for name in specs}
            at_once = [(name, _exact(hints[name]), reader) for name, reader in readers.items()]
        if in_order and len(data) == len(at_once):
            try:
                return cls(*[v if type(v := data[name]) is kind else take(v) for name, kind, take in at_once])
            except _Misfit:
                pass  # field by field, to say where
        values = {}
        for name, field_reader in readers.items():
            if name in data:
                try:
                    values[name] = field_reader(data[name])
                except _Misfit as misfit:
                    misfit.steps.append(f".{name}")
                    raise
            elif name in required:
                raise _Misfit(f"key {name!r} is missing", f"needed keys: {', '.join(required)}")
        return cls(**values)

    return read


def _exact(kind: Any) -> type:
    """A type whose very instances need no reader where `kind` is asked for; one that nothing is where there is none."""
    kinds = typing.get_args(kind) if typing.get_origin(kind) in (types.UnionType, typing.Union) else (kind,)
    others = [one for one in kinds if one is not type(None)]
    if len(others) == 1 and others[0] in (str, int, bool):
        return typing.cast(type, others[0])
    return type(None) if len(others) < len(kinds) else _Misfit
