"""The price table: what a million tokens cost by a vendor's list, as of the day the table was made.

It is used where a program does not say itself what it spent. A model that is not in it has no price, and a cost that
cannot be known is None, never a guess.
"""

from __future__ import annotations

import datetime as dt
import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from autoquant.errors import ConfigError
from autoquant.harness.events import Usage

TABLE = Path(__file__).with_name("prices.toml")
_RATES = ("input", "cached", "output")
_KEYS = ("id", "vendor", *_RATES, "long", "source")
_HINT = "see the head of the shipped prices.toml for what each key means"


@dataclass(frozen=True)
class Rates:
    """US dollars per million tokens."""

    input: float
    cached: float
    output: float

    def cost(self, usage: Usage) -> float:
        """What the tokens cost: those from a cache at their own price, reasoning as part of the output.

        >>> Rates(2.0, 0.5, 6.0).cost(Usage(input=1_000_000, cached=400_000, output=500_000, reasoning=300_000))
        4.4
        """
        cached = min(usage.cached, usage.input)
        return ((usage.input - cached) * self.input + cached * self.cached + usage.output * self.output) / 1e6


@dataclass(frozen=True)
class Price:
    """One model's list price."""

    model: str
    rates: Rates
    long: Rates | None
    """For a request with more than `long_above` prompt tokens, all of it."""
    long_above: int
    source: str

    def cost(self, usage: Usage) -> float:
        """What `usage` costs. Many requests told as one sum are taken for short: how long each was is not known."""
        is_long = self.long is not None and usage.requests == 1 and usage.input > self.long_above
        return (self.long if self.long is not None and is_long else self.rates).cost(usage)


@dataclass(frozen=True)
class Prices:
    """The table."""

    date: str
    """Day of the table, ISO."""
    models: Mapping[str, Price]
    """By id, and by `vendor/id`."""

    def of(self, model: str | None) -> Price | None:
        """The price of a model, by its exact id or that id behind its vendor's name; None when it is not known."""
        return None if model is None else self.models.get(model)


@cache
def shipped_prices() -> Prices:
    """The table of this version."""
    return load_prices(TABLE)


def load_prices(path: Path) -> Prices:
    """Read a table, strictly.

    Raises
    ------
    ConfigError : not there, not TOML, an unknown or missing key, a wrong value, a model twice; with file and line.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read ({error})", "git checkout restores it") from None
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"at line (\d+)", str(error))
        raise ConfigError(f"{path}:{line[1] if line else '?'}: not valid TOML ({error})") from None
    source = _Source(str(path), text.splitlines())
    for key in data:
        if key not in ("date", "model"):
            raise source.complaint(None, key, f"unknown key {key!r}")
    entries = data.get("model", [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise source.complaint(None, "model", "model is not a list of tables", "write [[model]]")
    models: dict[str, Price] = {}
    for number, entry in enumerate(entries):
        price = _price(entry, number, source)
        for name in (price.model, f"{entry['vendor']}/{price.model}"):
            if name in models:
                raise source.complaint(number, "id", f"{price.model!r} is there twice", "one price per model")
            models[name] = price
    return Prices(_date(data.get("date"), source), models)


@dataclass(frozen=True)
class _Source:
    """Finds the line of a key again, since tomllib keeps no positions."""

    where: str
    lines: list[str]

    def complaint(self, entry: int | None, key: str, problem: str, hint: str = _HINT) -> ConfigError:
        return ConfigError(f"{self.where}:{self._line(entry, key)}: {problem}", hint)

    def _line(self, entry: int | None, key: str) -> int:
        current, header = -1, 1
        for number, line in enumerate(self.lines, start=1):
            if re.match(r"\s*\[\[\s*model\s*\]\]", line):
                current += 1
                header = number if current == entry else header
            if (entry is None or current == entry) and re.match(rf"\s*\[*\s*[\"']?{re.escape(key)}\b", line):
                return number
        return header


def _date(value: object, source: _Source) -> str:
    try:
        if not isinstance(value, str):
            raise ValueError
        return dt.date.fromisoformat(value).isoformat()
    except ValueError:
        raise source.complaint(None, "date", f"date is {value!r}, expected a day like '2026-11-30'") from None


def _price(entry: Mapping[str, Any], number: int, source: _Source) -> Price:
    for key in entry:
        if key not in _KEYS:
            raise source.complaint(number, key, f"unknown key {key!r}", f"known keys: {', '.join(_KEYS)}")
    for key in ("id", "vendor", "source"):
        value = entry.get(key)
        if not isinstance(value, str) or not value.strip():
            raise source.complaint(number, key, f"{key} is {value!r}, expected text")
    long = entry.get("long")
    if long is None:
        return Price(entry["id"], _rates(entry, number, source, ""), None, 0, entry["source"])
    if not isinstance(long, dict) or set(long) != {"above", *_RATES}:
        raise source.complaint(number, "long", f"long is {long!r}, expected a table of above, {', '.join(_RATES)}")
    above = long["above"]
    if not isinstance(above, int) or isinstance(above, bool) or above < 1:
        raise source.complaint(number, "long", f"long.above is {above!r}, expected a number of tokens")
    dear = _rates(long, number, source, "long.")
    return Price(entry["id"], _rates(entry, number, source, ""), dear, above, entry["source"])


def _rates(table: Mapping[str, Any], number: int, source: _Source, prefix: str) -> Rates:
    for key in _RATES:
        value = table.get(key)
        sound = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value >= 0
        if not sound:
            where = "long" if prefix else key
            raise source.complaint(number, where, f"{prefix}{key} is {value!r}, expected US dollars per million tokens")
    return Rates(float(table["input"]), float(table["cached"]), float(table["output"]))
