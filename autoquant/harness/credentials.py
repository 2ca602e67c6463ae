"""How a CLI is logged in: an API key in a variable, or the user's own login file, linked into the private home.

Never a copy: a subscription's refresh token works once, and a copy per racer would log the others out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from autoquant.harness.base import Competitor, Refusal
from autoquant.harness.machine import Machine


@dataclass(frozen=True)
class Credential:
    """One way to be logged in that was found."""

    login: str
    """For people, without a secret: `API key (OPENAI_API_KEY)`, `login of the user (~/.codex/auth.json)`."""
    account: str
    """Equal for racers that the provider counts together; a digest where a secret tells them apart."""
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    links: Mapping[str, Path] = field(default_factory=dict)
    """Path below the private HOME, the user's file."""


def from_key(machine: Machine, names: Sequence[str], target: str | None = None) -> Credential | None:
    """The first variable of `names` that is set, handed on under `target` or its own name. One key is one account,
    whichever programs use it.

    >>> machine = Machine({"OPENAI_API_KEY": "sk-1"}, Path("/"), False)
    >>> from_key(machine, ("CODEX_API_KEY", "OPENAI_API_KEY")).login
    'API key (OPENAI_API_KEY)'
    """
    for name in names:
        if value := machine.env.get(name, ""):
            digest = hashlib.sha256(value.encode()).hexdigest()[:8]
            return Credential(f"API key ({name})", f"key/{digest}", {target or name: value})
    return None


def from_file(machine: Machine, harness: str, below_home: str, target: str) -> Credential | None:
    """The user's login file `~/below_home`, to be linked to `target` below the private home; None if not there."""
    path = machine.home / below_home
    if not path.is_file():
        return None
    return Credential(f"login of the user (~/{below_home})", f"{harness}/login", links={target: path})


def missing_variable(name: str, key: str, otherwise: str = "") -> Refusal:
    """A variable that the roster names in `key` and that is not set.

    >>> missing_variable("MY_KEY", "api_key_env").hint
    'set MY_KEY, or take it out of api_key_env'
    """
    return Refusal(f"environment variable {name} is not set", f"set {name}{otherwise or f', or take it out of {key}'}")


def no_login(competitor: Competitor, hint: str) -> Refusal:
    """Nothing was found with which this competitor could log in; `hint`: how its CLI is logged in."""
    any_text = "any text will do for a local server"
    if name := competitor.api_key_env:
        return missing_variable(name, "api_key_env", f"; {any_text}" if competitor.base_url else "")
    if competitor.base_url:
        return Refusal("no key for base_url", f"set api_key_env to a variable with the key; {any_text}")
    return Refusal("not logged in", hint)
