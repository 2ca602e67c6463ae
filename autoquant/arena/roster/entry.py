"""One [[competitor]] of a roster: its keys, who may use them, and what their values must be."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from autoquant.arena.roster.hints import known_words
from autoquant.arena.roster.names import NAME_RULE, valid_name
from autoquant.arena.roster.replicates import MOST
from autoquant.errors import ConfigError
from autoquant.harness import KINDS, Competitor
from autoquant.harness.command import PLACEHOLDERS, unknown_placeholders
from autoquant.harness.searchers import SEARCHERS

COLOUR = re.compile(r"#[0-9A-Fa-f]{6}")
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
RESERVED_VARIABLES = frozenset({"HOME", "PATH", "TMPDIR", "AUTOQUANT_RUN"})
_NUMBER = (int, float)
_TYPES: dict[str, type | tuple[type, ...]] = {
    "name": str,
    "harness": str,
    "model": str,
    "effort": str,
    "colour": str,
    "argv": list,
    "args": list,
    "env": dict,
    "pass_env": list,
    "needs": list,
    "base_url": str,
    "api_key_env": str,
    "seed": int,
    "budget": int,
    "replicates": int,
    "session_minutes": _NUMBER,
    "quiet_minutes": _NUMBER,
    "silent_minutes": _NUMBER,
}
_REQUIRED = ("name", "harness", "model", "colour")
_WORDS: dict[object, str] = {str: "text", int: "a whole number", _NUMBER: "a number", list: "a list", dict: "a table"}
_PROGRAMS = tuple(kind for kind in KINDS if kind != "control")
_USERS: dict[str, tuple[str, ...]] = {
    "argv": ("command",),
    "seed": ("control",),
    "effort": _PROGRAMS,
    "args": _PROGRAMS,
    "env": _PROGRAMS,
    "pass_env": _PROGRAMS,
    "needs": _PROGRAMS,
    "base_url": _PROGRAMS,
    "api_key_env": _PROGRAMS,
}
"""Keys that only some harnesses can use; for any other they would be accepted and ignored."""
_MINUTES = ("session_minutes", "quiet_minutes", "silent_minutes")
_RANGES = {"budget": (1, 10_000), "replicates": (1, MOST), **dict.fromkeys(_MINUTES, (0.1, 10_080))}
_COPIED = ("effort", "base_url", "api_key_env", "seed", "budget", *_MINUTES)

Refuse = Callable[..., ConfigError]
"""Makes the error: key, problem, hint."""


def competitor_of(entry: dict[str, Any], refuse: Refuse) -> Competitor:
    """The competitor an entry describes, before it is replicated.

    Raises
    ------
    ConfigError : an unknown, missing or useless key, a wrong type or value.
    """
    _check_keys(entry, refuse)
    _check_values(entry, refuse)
    _check_argv(entry, refuse)
    _check_environment(entry, refuse)
    _check_endpoint(entry, refuse)
    return Competitor(
        name=entry["name"],
        harness=entry["harness"],
        model=entry["model"],
        colour=entry["colour"].upper(),
        argv=tuple(entry.get("argv", ())),
        args=tuple(entry.get("args", ())),
        env=dict(entry.get("env", {})),
        pass_env=tuple(entry.get("pass_env", ())),
        needs=tuple(entry.get("needs", ())),
        **{"effort": "", **{key: entry[key] for key in _COPIED if key in entry}},
    )


def _check_keys(entry: dict[str, Any], refuse: Refuse) -> None:
    for key, value in entry.items():
        if key not in _TYPES:
            raise refuse(key, f"unknown key {key!r}", known_words(key, _TYPES))
        if not isinstance(value, _TYPES[key]) or isinstance(value, bool):
            raise refuse(key, f"{key} is {value!r}, expected {_WORDS[_TYPES[key]]}")
    for key in _REQUIRED:
        if key not in entry:
            raise refuse(key, f"key {key!r} is missing")
    harness = entry["harness"]
    if harness not in KINDS:
        raise refuse("harness", f"unknown harness {harness!r}", known_words(harness, KINDS))
    for key in entry:
        users = _USERS.get(key, (harness,))
        if harness not in users:
            owner = f"harness {users[0]!r}" if len(users) == 1 else "programs that ask a model"
            raise refuse(key, f"{key} belongs to {owner}, not {harness!r}", "take the line out")


def _check_values(entry: dict[str, Any], refuse: Refuse) -> None:
    if not valid_name(entry["name"]):
        raise refuse("name", f"name {entry['name']!r} cannot be used", NAME_RULE)
    if not COLOUR.fullmatch(entry["colour"]):
        raise refuse("colour", f"colour {entry['colour']!r} is not like '#1D9BF0'")
    for key in ("model", "effort"):
        if not entry.get(key, "").isprintable() or len(entry.get(key, "")) > 80:
            raise refuse(key, f"{key} must be printable text of at most 80 characters")
    for key, (least, most) in _RANGES.items():
        if not least <= entry.get(key, least) <= most:
            raise refuse(key, f"{key} is {entry[key]}, expected {least} to {most}")
    if entry["harness"] == "control" and entry["model"] not in SEARCHERS:
        hint = f"model of a control; {known_words(entry['model'], sorted(SEARCHERS))}"
        raise refuse("model", f"there is no searcher {entry['model']!r}", hint)


def _check_argv(entry: dict[str, Any], refuse: Refuse) -> None:
    argv = entry.get("argv", [])
    for key in ("argv", "args", "needs"):
        if not all(isinstance(part, str) and "\0" not in part for part in entry.get(key, ())):
            raise refuse(key, f"{key} must be a list of texts")
    if not all(entry.get("needs", ())):
        raise refuse("needs", "needs has an empty name", 'name programs, for example needs = ["aider"]')
    if entry["harness"] != "command":
        return
    if not argv:
        raise refuse("argv", "harness 'command' needs argv", 'for example argv = ["my-agent", "{prompt_file}"]')
    if not argv[0]:
        raise refuse("argv", "argv must begin with a program")
    if unknown := unknown_placeholders(tuple(argv)):
        hint = known_words(f"{{{unknown[0]}}}", [f"{{{name}}}" for name in PLACEHOLDERS])
        raise refuse("argv", f"argv has an unknown placeholder {{{unknown[0]}}}", hint)
    takes_url = any("{base_url}" in part for part in argv)
    if "base_url" in entry and not takes_url:
        raise refuse("base_url", "base_url is set, but argv has no {base_url}", "say in argv how the program takes it")
    if takes_url and "base_url" not in entry:
        raise refuse("argv", "argv has {base_url}, but base_url is not set", "set base_url, or write the URL into argv")


def _check_environment(entry: dict[str, Any], refuse: Refuse) -> None:
    for key in ("env", "pass_env"):
        for name in entry.get(key, ()):
            _check_variable(key, name, refuse)
    for name, value in entry.get("env", {}).items():
        if not isinstance(value, str) or "\0" in value:
            raise refuse("env", f"env.{name} is {value!r}, expected text", f'write {name} = "{value}"')


def _check_variable(key: str, name: object, refuse: Refuse) -> None:
    if not isinstance(name, str) or not VARIABLE.fullmatch(name):
        raise refuse(key, f"{key} has {name!r}, which is not a variable name")
    if name in RESERVED_VARIABLES:
        raise refuse(key, f"{key} has {name}, which the arena sets itself")


def _check_endpoint(entry: dict[str, Any], refuse: Refuse) -> None:
    if "base_url" in entry and (problem := endpoint_problem(entry["base_url"])):
        raise refuse("base_url", f"base_url {problem}", 'for example base_url = "http://127.0.0.1:8000/v1"')
    if "api_key_env" in entry:
        _check_variable("api_key_env", entry["api_key_env"], refuse)
    if "api_key_env" in entry and entry["api_key_env"] in entry.get("env", {}):
        raise refuse(
            "api_key_env",
            f"api_key_env names {entry['api_key_env']}, which env sets in the file",
            "set it in the shell that starts the arena: the roster is no place for a key",
        )


def endpoint_problem(url: str) -> str:
    """What is wrong with a model endpoint; empty when nothing is. It stands in the record, so no key may be in it.

    >>> endpoint_problem("http://127.0.0.1:8000/v1"), endpoint_problem("http://me:secret@host/v1")
    ('', 'holds a user or a key, and it will stand in the record')
    """
    try:
        parts = urlsplit(url)
        port_is_valid = parts.port is None or parts.port > 0
    except ValueError:
        return f"{url!r} is not a URL"
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        return "holds a user or a key, and it will stand in the record"
    plain = url.isascii() and url.isprintable() and " " not in url and len(url) <= 300
    if parts.scheme not in ("http", "https") or not parts.hostname or not port_is_valid or not plain:
        return f"{url!r} is not an http or https URL"
    return ""
