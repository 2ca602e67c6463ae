"""What can be learnt from a CLI while it runs: every adapter's reader speaks these words.

A stream is a hint, never a verdict: the record decides what was done, the stream says what was spent and what hurt.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Usage:
    """Tokens of one request or of many. None: not reported, which is not 0."""

    input: int = 0
    """Prompt tokens, those read from a cache included."""
    cached: int = 0
    """The part of `input` that came from a cache."""
    output: int = 0
    """Generated tokens, reasoning included."""
    reasoning: int = 0
    """The part of `output` nobody sees; 0 where the CLI does not say."""
    requests: int = 0
    cost_usd: float | None = None
    """The CLI's own figure; None where it gives none."""


class Trouble(enum.Enum):
    """What a provider or a CLI complained about."""

    RATE_LIMIT = "rate limit"
    QUOTA = "quota"
    AUTH = "auth"
    CONTEXT_FULL = "context full"
    SERVER = "server error"
    """5xx, an overloaded or unreachable provider, a cut connection."""
    SETUP = "setup"
    """The CLI refuses to run so: as root, with this model, with these options."""


@dataclass(frozen=True)
class Named:
    """The CLI's id of this conversation, with which it can be resumed."""

    session: str


@dataclass(frozen=True)
class Said:
    """Text for people: what the model wrote, or thought aloud."""

    text: str


@dataclass(frozen=True)
class Called:
    """A tool call began: its name, and what it was asked in a few words (a shell command)."""

    tool: str
    text: str = ""


@dataclass(frozen=True)
class ModelSeen:
    """The model that answered the main conversation, as the CLI or the provider names it."""

    model: str


@dataclass(frozen=True)
class Spent:
    """Tokens. The same `request` of a conversation again replaces what was said before, it does not add.

    `request` None is a running total of the conversation. Where both kinds are known the larger one counts.
    """

    conversation: str
    request: str | None
    usage: Usage
    model: str | None = None


@dataclass(frozen=True)
class Hurt:
    """A complaint. `gives_up`: the CLI will not try again by itself."""

    trouble: Trouble
    message: str
    gives_up: bool = False
    retry_after_seconds: float | None = None


@dataclass(frozen=True)
class Finished:
    """The final event of a turn: the program has nothing more to do, though it may fail to exit."""

    ok: bool
    text: str = ""


Event = Named | Said | Called | ModelSeen | Spent | Hurt | Finished


class Reader(Protocol):
    """Understands one CLI's output. One per session; lines come in order, without their line end.

    Nothing a line holds may raise: half a line, foreign text, JSON of another shape give no event.
    """

    def stdout(self, line: str) -> tuple[Event, ...]:
        """Events of one line of standard output."""
        ...

    def stderr(self, line: str) -> tuple[Event, ...]:
        """Events of one line of standard error."""
        ...

    def transcript(self, line: str) -> tuple[Event, ...]:
        """Events of one line of a transcript file; `Spent`, `Named` and `ModelSeen` only."""
        ...

    def exit(self, code: int) -> Hurt | None:
        """What an exit code alone tells; asked only when the program ended on its own."""
        ...
