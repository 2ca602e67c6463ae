"""What an adapter gets and gives: one competitor's configuration in, a command line out.

An adapter knows how one kind of program is checked and started. It knows nothing of races, budgets or scores.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True)
class Competitor:
    """One entry of competitors.toml."""

    name: str
    harness: str
    """Kind of program that drives the agent, a key of `autoquant.harness.KINDS`."""
    model: str
    """What the program is asked to run; for a control, which searcher."""
    effort: str
    colour: str
    """#RRGGBB, used by every page and table."""
    argv: tuple[str, ...] = ()
    """Command line of a `command` competitor, with placeholders."""
    env: Mapping[str, str] = field(default_factory=dict)
    """Variables set for the session, on top of the arena's own few."""
    pass_env: tuple[str, ...] = ()
    """Names of variables copied from the arena's environment, for example an API key."""
    seed: int | None = None
    """Seed of a control's draws."""
    session_minutes: int = 360
    """A session that lasts longer is ended; the next one goes on."""
    quiet_minutes: int = 90
    """A session that opens no attempt for so long is ended."""


@dataclass(frozen=True)
class Availability:
    """Whether a competitor could start on this machine."""

    ok: bool
    version: str | None = None
    problem: str = ""
    hint: str = ""


@dataclass(frozen=True)
class SessionRequest:
    """Where a session works."""

    workspace: Path
    """The competitor's worktree."""
    prompt_file: Path
    """The kick-off text, in the private home."""
    home: Path
    """A private HOME."""
    number: int
    """1 for the first session of a race, counted on over restarts."""
    attempts_used: int
    """How many experiments stand in the workspace's results.tsv."""


@dataclass(frozen=True)
class SessionPlan:
    """One program start. `env` holds only what the adapter adds; the caller sets HOME, PATH and the run mark."""

    argv: tuple[str, ...]
    cwd: Path
    env: Mapping[str, str] = field(default_factory=dict)
    stdin: bytes = b""
    """Written and closed; empty means that standard input is at its end from the start."""


class Harness(Protocol):
    """One kind of program."""

    def check(self, competitor: Competitor) -> Availability:
        """Whether it is installed and configured; starts nothing that costs money."""
        ...

    def session(self, competitor: Competitor, request: SessionRequest) -> SessionPlan:
        """How to start the next session."""
        ...
