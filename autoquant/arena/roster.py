"""competitors.toml: who races. Read strictly; every complaint names file, line and key."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autoquant.errors import ConfigError, UserError
from autoquant.harness import ADAPTERS, KINDS, Competitor
from autoquant.harness.command import PLACEHOLDERS, unknown_placeholders

NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,39}")
"""Competitors and races: safe as a file name, a git ref component and a table cell."""
COLOUR = re.compile(r"#[0-9A-Fa-f]{6}")
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
RESERVED_NAMES = frozenset({"all", "seed", "head"})
RESERVED_VARIABLES = frozenset({"HOME", "PATH", "TMPDIR", "AUTOQUANT_RUN"})
_TYPES = {
    "name": str,
    "harness": str,
    "model": str,
    "effort": str,
    "colour": str,
    "argv": list,
    "env": dict,
    "pass_env": list,
    "seed": int,
    "session_minutes": int,
    "quiet_minutes": int,
}
_REQUIRED = ("name", "harness", "model", "colour")
_WORDS = {str: "text", int: "a whole number", list: "a list", dict: "a table"}


def valid_name(name: str) -> bool:
    """Whether a competitor or a race may be called so.

    >>> valid_name("codex-sol-high"), valid_name("../x"), valid_name("a.lock")
    (True, False, False)
    """
    return (
        NAME.fullmatch(name) is not None
        and ".." not in name
        and not name.endswith((".", ".lock"))
        and name not in RESERVED_NAMES
    )


def load_roster(path: Path) -> tuple[Competitor, ...]:
    """All competitors of a roster file, in its order.

    Raises
    ------
    ConfigError : not TOML, an unknown or missing key, a wrong type or value, a name twice; with file and line.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(
            f"{path}: {error.strerror or error}", "the roster is competitors.toml in the checkout"
        ) from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: not UTF-8 text") from None
    return parse_roster(text, str(path))


def parse_roster(text: str, where: str) -> tuple[Competitor, ...]:
    """The competitors in `text`; `where` names it in errors."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"at line (\d+)", str(error))
        raise ConfigError(f"{where}:{line[1] if line else '?'}: not valid TOML ({error})") from None
    source = _Source(where, text.splitlines())
    for key in data:
        if key != "competitor":
            raise source.complaint(None, key, f"unknown key {key!r}", "the file is a list of [[competitor]] tables")
    entries = data.get("competitor", [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise source.complaint(None, "competitor", "competitor is not a list of tables", "write [[competitor]]")
    if not entries:
        raise ConfigError(f"{where}:1: no [[competitor]] in the file")
    roster = [_competitor(entry, index, source) for index, entry in enumerate(entries)]
    seen: set[str] = set()
    for index, competitor in enumerate(roster):
        if competitor.name.lower() in seen:
            raise source.complaint(index, "name", f"{competitor.name!r} is there twice", "names must differ")
        seen.add(competitor.name.lower())
    return tuple(roster)


def choose(roster: Sequence[Competitor], wanted: str) -> tuple[Competitor, ...]:
    """The competitors a command line asks for: `all`, or names separated by commas, in the order asked.

    Raises
    ------
    UserError : a name that is not in the roster, or named twice.
    """
    if wanted == "all":
        return tuple(roster)
    names = [name.strip() for name in wanted.split(",") if name.strip()]
    by_name = {competitor.name: competitor for competitor in roster}
    known = ", ".join(by_name)
    if not names:
        raise UserError("--competitors names nobody", f"say all, or some of: {known}")
    for index, name in enumerate(names):
        if name not in by_name:
            raise UserError(f"--competitors: {name!r} is not in competitors.toml", f"known: {known}")
        if name in names[:index]:
            raise UserError(f"--competitors: {name!r} is named twice")
    return tuple(by_name[name] for name in names)


@dataclass(frozen=True)
class _Source:
    where: str
    lines: list[str]

    def complaint(self, entry: int | None, key: str, problem: str, hint: str = "") -> ConfigError:
        return ConfigError(f"{self.where}:{self.line(entry, key)}: {problem}", hint)

    def line(self, entry: int | None, key: str) -> int:
        """Line of `key` in the entry (or of the entry's header, or 1): tomllib keeps no positions."""
        header = re.compile(r"\s*\[\[\s*competitor\s*\]\]")
        wanted = re.compile(rf"\s*\[?\[?\s*(competitor\s*\.\s*)?[\"']?{re.escape(key)}[\"']?\s*[].=]")
        current, header_line = -1, 1
        for number, line in enumerate(self.lines, start=1):
            if header.match(line):
                current += 1
                if current == entry:
                    header_line = number
            if (entry is None or current == entry) and wanted.match(line):
                return number
        return header_line


def _competitor(entry: dict[str, Any], index: int, source: _Source) -> Competitor:
    def refuse(key: str, problem: str, hint: str = "") -> ConfigError:
        return source.complaint(index, key, problem, hint)

    for key, value in entry.items():
        if key not in _TYPES:
            raise refuse(key, f"unknown key {key!r}", f"known keys: {', '.join(_TYPES)}")
        if not isinstance(value, _TYPES[key]) or isinstance(value, bool):
            raise refuse(key, f"{key} is {value!r}, expected {_WORDS[_TYPES[key]]}")
    for key in _REQUIRED:
        if key not in entry:
            raise refuse(key, f"key {key!r} is missing")
    if not valid_name(entry["name"]):
        raise refuse(
            "name", f"name {entry['name']!r} cannot be used", "lower-case letters, digits, '-', '_', '.', at most 40"
        )
    if entry["harness"] not in KINDS:
        raise refuse("harness", f"unknown harness {entry['harness']!r}", f"known: {', '.join(KINDS)}")
    if not COLOUR.fullmatch(entry["colour"]):
        raise refuse("colour", f"colour {entry['colour']!r} is not like '#1D9BF0'")
    for key in ("model", "effort"):
        if not entry.get(key, "").isprintable() or len(entry.get(key, "")) > 80:
            raise refuse(key, f"{key} must be printable text of at most 80 characters")
    for key in ("session_minutes", "quiet_minutes"):
        if not 1 <= entry.get(key, 1) <= 10_080:
            raise refuse(key, f"{key} is {entry[key]}, expected 1 to 10080")
    _check_argv(entry, refuse)
    _check_environment(entry, refuse)
    if entry["harness"] == "control":
        available = ADAPTERS["control"].check(Competitor(entry["name"], "control", entry["model"], "", entry["colour"]))
        if not available.ok:
            raise refuse("model", available.problem, available.hint)
    return Competitor(
        name=entry["name"],
        harness=entry["harness"],
        model=entry["model"],
        effort=entry.get("effort", ""),
        colour=entry["colour"].upper(),
        argv=tuple(entry.get("argv", ())),
        env=dict(entry.get("env", {})),
        pass_env=tuple(entry.get("pass_env", ())),
        seed=entry.get("seed"),
        **{key: entry[key] for key in ("session_minutes", "quiet_minutes") if key in entry},
    )


def _check_argv(entry: dict[str, Any], refuse: Any) -> None:
    argv = entry.get("argv")
    if entry["harness"] != "command":
        if argv is not None:
            raise refuse("argv", f"argv belongs to harness 'command', not {entry['harness']!r}")
        if "seed" in entry and entry["harness"] != "control":
            raise refuse("seed", f"seed belongs to harness 'control', not {entry['harness']!r}")
        return
    if "seed" in entry:
        raise refuse("seed", "seed belongs to harness 'control', not 'command'")
    if not argv:
        raise refuse("argv", "harness 'command' needs argv", 'for example argv = ["my-agent", "{prompt_file}"]')
    if not all(isinstance(part, str) and "\0" not in part for part in argv) or not argv[0]:
        raise refuse("argv", "argv must be a list of texts, the first one a program")
    if unknown := unknown_placeholders(tuple(argv)):
        known = ", ".join(f"{{{name}}}" for name in PLACEHOLDERS)
        raise refuse("argv", f"argv has an unknown placeholder {{{unknown[0]}}}", f"known: {known}")


def _check_environment(entry: dict[str, Any], refuse: Any) -> None:
    for key in ("env", "pass_env"):
        for name in entry.get(key, ()):
            if not isinstance(name, str) or not VARIABLE.fullmatch(name):
                raise refuse(key, f"{key} has {name!r}, which is not a variable name")
            if name in RESERVED_VARIABLES:
                raise refuse(key, f"{key} has {name}, which the arena sets itself")
    for name, value in entry.get("env", {}).items():
        if not isinstance(value, str) or "\0" in value:
            raise refuse("env", f"env.{name} is {value!r}, expected text", f'write {name} = "{value}"')
