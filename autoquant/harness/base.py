"""What an adapter gets and gives: one competitor's configuration in, a command line and a reader of its output out.

An adapter knows how one kind of program is found, checked, started and read. It knows nothing of races, budgets or
scores.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Protocol

from autoquant.errors import HarnessFault
from autoquant.harness.events import Reader
from autoquant.harness.machine import Machine


@dataclass(frozen=True)
class Competitor:
    """One entry of competitors.toml, or one replicate of it."""

    name: str
    harness: str
    """Kind of program that drives the agent, a key of `autoquant.harness.ADAPTERS`."""
    model: str
    """What the program is asked to run; for a control, which searcher."""
    effort: str
    colour: str
    """#RRGGBB, used by every page and table."""
    argv: tuple[str, ...] = ()
    """Command line of a `command` competitor, with placeholders."""
    args: tuple[str, ...] = ()
    """Options added to the adapter's own command line."""
    env: Mapping[str, str] = field(default_factory=dict)
    """Variables set for the session, on top of the arena's own few."""
    pass_env: tuple[str, ...] = ()
    """Names of variables copied from the arena's environment."""
    needs: tuple[str, ...] = ()
    """Programs that its own program starts: nobody else can tell that they have to be there."""
    base_url: str = ""
    """Model endpoint in place of the vendor's: a gateway, a server on this machine."""
    api_key_env: str = ""
    """Variable that holds the API key; empty for the CLI's usual one."""
    seed: int | None = None
    """Seed of a control's draws."""
    budget: int | None = None
    """Experiments of its own; None for the race's."""
    group: str = ""
    """Roster name that this is a replicate of; empty when it stands alone."""
    session_minutes: float = 360
    """A session that lasts longer is ended; the next one goes on."""
    quiet_minutes: float = 90
    """A session that opens no attempt for so long is ended."""
    silent_minutes: float = 30
    """A session without any output, CPU use or file change for so long is ended."""


@dataclass(frozen=True)
class Availability:
    """Whether a competitor could start on this machine. Free: nothing that costs money was asked."""

    ok: bool
    version: str | None = None
    """As the program says, for example `codex 0.171.0`."""
    login: str = ""
    """How it is logged in, for example `API key (OPENAI_API_KEY)`; empty when that does not apply."""
    account: str = ""
    """Whom the provider will count this competitor under; racers of one account share its limits. No secret in it."""
    problem: str = ""
    hint: str = ""
    """How to mend the problem."""
    note: str = ""
    """Worth knowing, but nothing that stops a race: an unproved version, a shared login."""


class Refusal(NamedTuple):
    """Why a competitor cannot start here, and how to mend it."""

    problem: str
    hint: str

    def answer(self, version: str | None = None) -> Availability:
        """As the outcome of a check."""
        return Availability(ok=False, version=version, problem=self.problem, hint=self.hint)

    def fault(self, competitor: Competitor) -> HarnessFault:
        """As what stops a session."""
        return HarnessFault(f"{competitor.name}: {self.problem}", self.hint)


_MOVING = re.compile(r"(^|[-/:~])(latest|auto|default)$")


def lasting_name(model: str) -> str:
    """The name, if it means one model for good; empty for an alias that is moved on to the next one.

    >>> lasting_name("gpt-5.6-sol"), lasting_name("gemini-flash-latest")
    ('gpt-5.6-sol', '')
    """
    return "" if _MOVING.search(model) else model


@dataclass(frozen=True)
class SessionRequest:
    """Where and how a session works."""

    workspace: Path
    """The competitor's worktree."""
    prompt_file: Path
    """The kick-off text, in the private home."""
    prompt: str
    """The same text."""
    home: Path
    """A private HOME, the same for all sessions of a competitor's race."""
    number: int
    """1 for the first session of a race, counted on over restarts."""
    attempts_used: int
    """How many experiments stand in the workspace's results.tsv."""
    resume: str | None = None
    """The CLI's own id of the conversation to go on with; None for a fresh one."""


@dataclass(frozen=True)
class SessionPlan:
    """One program start. `env` holds what the adapter adds; the caller sets HOME, PATH, TMPDIR and the run mark."""

    argv: tuple[str, ...]
    cwd: Path
    env: Mapping[str, str] = field(default_factory=dict)
    stdin: bytes = b""
    """Written and closed; empty means that standard input is at its end from the start."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Configuration to write before the start: path below HOME, content."""
    links: Mapping[str, Path] = field(default_factory=dict)
    """Credentials: path below HOME, the user's own file. Linked, never copied: a refresh token works once."""
    reads: tuple[Path, ...] = ()
    """Files and folders it reads beside those that its program is known by: shown to a sealed session, not writable."""
    writes: tuple[Path, ...] = ()
    """Folders of the user's own that it has to write to: where a CLI renews a login by putting a new file in place."""


class Harness(Protocol):
    """One kind of program."""

    @property
    def settings(self) -> tuple[str, ...]:
        """What is set so that the race is fair, each a few words: `no auto-update`, `no web search`."""
        ...

    @property
    def transcripts(self) -> tuple[str, ...]:
        """Glob patterns below HOME of JSON-line files in which the program records its requests."""
        ...

    def asked_model(self, competitor: Competitor) -> str:
        """The model as `ModelSeen` should name it, but for a date behind it; empty where that cannot be compared."""
        ...

    def check(self, competitor: Competitor, machine: Machine) -> Availability:
        """Whether it is installed, logged in and willing to run here; starts nothing that costs money."""
        ...

    def session(self, competitor: Competitor, request: SessionRequest, machine: Machine) -> SessionPlan:
        """How to start the next session.

        Raises
        ------
        HarnessFault : the program or its credentials are gone since they were checked.
        """
        ...

    def reader(self) -> Reader:
        """Somebody new who understands what this program prints."""
        ...
