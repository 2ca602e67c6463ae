"""competitors.toml: who races. Read strictly; every complaint names file, line and key."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from autoquant.arena.roster.entry import competitor_of
from autoquant.arena.roster.hints import known_words
from autoquant.arena.roster.names import NAME_RULE, valid_name
from autoquant.arena.roster.replicates import replicas
from autoquant.arena.roster.source import RosterSource
from autoquant.errors import ConfigError, UserError
from autoquant.harness import Competitor


def load_roster(path: Path) -> tuple[Competitor, ...]:
    """All competitors of a roster file, in its order, replicates one by one.

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
    source = RosterSource(where, text.splitlines())
    for key in data:
        if key != "competitor":
            raise source.complaint(None, key, f"unknown key {key!r}", "the file is a list of [[competitor]] tables")
    entries = data.get("competitor", [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise source.complaint(None, "competitor", "competitor is not a list of tables", "write [[competitor]]")
    if not entries:
        raise ConfigError(f"{where}:1: no [[competitor]] in the file", "competitors.toml of the checkout shows some")
    roster: list[Competitor] = []
    taken: dict[str, int] = {}
    for index, entry in enumerate(entries):
        racers = _racers(entry, index, source)
        names = dict.fromkeys((racers[0].group or racers[0].name, *(racer.name for racer in racers)))
        for name in names:
            if name in taken:
                raise _there_twice(name, entry, index, taken[name], source)
        taken |= dict.fromkeys(names, index)
        roster += racers
    return tuple(roster)


def _racers(entry: dict[str, Any], index: int, source: RosterSource) -> tuple[Competitor, ...]:
    def refuse(key: str, problem: str, hint: str = "") -> ConfigError:
        return source.complaint(index, key, problem, hint)

    racers = replicas(competitor_of(entry, refuse), entry.get("replicates", 1))
    if not valid_name(racers[-1].name):
        raise refuse("replicates", f"replicates makes {racers[-1].name!r}, which cannot be used", NAME_RULE)
    return racers


def _there_twice(name: str, entry: dict[str, Any], index: int, other: int, source: RosterSource) -> ConfigError:
    """`name` is the entry's own, or one that its replicates make; entry number `other` has it already."""
    line = source.line(other, "name")
    if name == entry["name"]:
        return source.complaint(index, "name", f"{name!r} is there twice (line {line})", "names must differ")
    hint = "rename one of them: replicates are called NAME-1, NAME-2, …"
    return source.complaint(index, "replicates", f"replicates makes {name!r}, which is there (line {line})", hint)


def choose(roster: Sequence[Competitor], wanted: str, where: str = "competitors.toml") -> tuple[Competitor, ...]:
    """The competitors a command line asks for: `all`, or names separated by commas, in the order asked.

    The name of a replicated entry means all its replicates; one of them may be named too. `where`: the roster's file.

    Raises
    ------
    UserError : a name that is not in the roster, or named twice.
    """
    if wanted == "all":
        return tuple(roster)
    names = [name.strip() for name in wanted.split(",") if name.strip()]
    meant: dict[str, list[Competitor]] = {}
    for competitor in roster:
        for name in filter(None, (competitor.group, competitor.name)):
            meant.setdefault(name, []).append(competitor)
    known = tuple(dict.fromkeys(competitor.group or competitor.name for competitor in roster))
    if not names:
        raise UserError("--competitors names nobody", f"say all, or some of: {', '.join(known)}")
    chosen: dict[str, Competitor] = {}
    for name in names:
        if name not in meant:
            raise UserError(f"--competitors: {name!r} is not in {where}", known_words(name, known))
        for competitor in meant[name]:
            if competitor.name in chosen:
                raise UserError(f"--competitors: {competitor.name!r} is named twice")
            chosen[competitor.name] = competitor
    return tuple(chosen.values())
