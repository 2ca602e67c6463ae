"""The mailbox of a worktree: a request is one file moved into place, and so is its reply.

    .autoquant/requests/ID.json     written by run.py, taken by the referee
    .autoquant/replies/ID.json      written by the referee, read by run.py
    .autoquant/heartbeat.json       rewritten every few seconds while an arena serves this worktree

Plain files only, so it works inside every agent program's own sandbox. An agent can write anything here: a request
that is not exactly one is taken away unread, and replies are only ever written by this side.
"""

from __future__ import annotations

import contextlib
import os
import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from autoquant import codec, files
from autoquant.arena.referee.agent_files import AgentFolder
from autoquant.errors import ConfigError
from autoquant.protocol import SCHEMA_VERSION

FOLDER = ".autoquant"
REQUESTS = f"{FOLDER}/requests"
REPLIES = f"{FOLDER}/replies"
HEARTBEAT = f"{FOLDER}/heartbeat.json"
PENDING = f"{FOLDER}/pending.json"
LINEAGES = ("best", "stable", "cost_robust", "distinct")
DESCRIPTION_LIMIT = 500
REQUEST_LIMIT = 16 << 10
REPLY_LIMIT = 1 << 20

_ID = re.compile(r"[0-9a-f]{32}")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_SCAN_LIMIT = 64


class RequestKind(StrEnum):
    """What is asked for."""

    SUBMIT = "submit"
    RESTORE = "restore"


@dataclass(frozen=True)
class Request:
    """One question to the referee.

    A submission names the digest of strategy.py as run.py read it; a restore names an archive lineage.
    """

    id: str
    kind: RequestKind
    strategy: str = ""
    description: str = ""
    lineage: str | None = None
    final: bool = False
    """Of the graded track: graded on the hidden bars too, once."""
    schema_version: int = SCHEMA_VERSION


class ReplyKind(StrEnum):
    """What kind of answer it is. Only a verdict was charged."""

    VERDICT = "verdict"
    RECORD = "record"
    BUDGET = "budget"
    RESTORED = "restored"
    REFUSED = "refused"


@dataclass(frozen=True)
class Reply:
    """The referee's answer: a sentence, how much budget is left, and for a judged strategy its score file."""

    id: str
    kind: ReplyKind
    message: str
    attempts: int
    """Attempts charged so far."""
    budget: int | None
    """Attempts granted; None outside a race."""
    working: int
    """Attempt whose text is the working parent; 0 is the seed."""
    working_strategy: str
    """Digest of that text."""
    archive: dict[str, int | None]
    score: dict[str, Any] | None = None
    """A `ratchet.score_file.ScoreFile` as plain values: run.py prints it without importing the ratchet. In the graded
    track an observation."""
    seconds_left: int | None = None
    """How long the session may still last; None when nothing limits it."""
    schema_version: int = SCHEMA_VERSION


@dataclass(frozen=True)
class Heartbeat:
    """A sign of life. `beat` grows while an arena serves; `state` says in words what it is doing."""

    beat: int
    state: str
    schema_version: int = SCHEMA_VERSION


@dataclass(frozen=True)
class Refused:
    """A file among the requests that is not one. `digest` is empty for what cannot be read as a plain file."""

    name: str
    reason: str
    digest: str


def new_id() -> str:
    """An id nobody can guess or repeat."""
    return os.urandom(16).hex()


def check_request(request: Request, name: str) -> None:
    """Refuse a request whose parts do not fit.

    Raises
    ------
    ConfigError : names the field.
    """
    if request.schema_version != SCHEMA_VERSION:
        raise ConfigError(f"schema_version: {request.schema_version} is not {SCHEMA_VERSION}")
    if not _ID.fullmatch(request.id) or name != f"{request.id}.json":
        raise ConfigError("id: not 32 hex digits equal to the file's name")
    if request.kind is RequestKind.SUBMIT and not (request.strategy == "" or _DIGEST.fullmatch(request.strategy)):
        raise ConfigError("strategy: not a sha256 in hex")
    if request.kind is RequestKind.RESTORE and request.lineage not in LINEAGES:
        raise ConfigError(f"lineage: not one of {', '.join(LINEAGES)}")
    if len(request.description) > DESCRIPTION_LIMIT:
        raise ConfigError(f"description: longer than {DESCRIPTION_LIMIT} characters")


class RefereeMailbox:
    """The arena's end."""

    def __init__(self, folder: AgentFolder) -> None:
        self._folder = folder

    @property
    def competitor(self) -> str:
        """Whose mailbox it is."""
        return self._folder.name

    def has_reply(self, request: str) -> bool:
        """True when a reply to that request id lies there."""
        return self._folder.digest(f"{REPLIES}/{request}.json", REPLY_LIMIT) != ""

    def next_request(self) -> Request | Refused | None:
        """The next thing that lies among the requests, in order of names; it stays there until `take`."""
        for name in self._folder.names(REQUESTS, _SCAN_LIMIT):
            if name.endswith((".tmp", ".aside")):
                continue
            return self._read(name)
        return None

    def take(self, item: Request | Refused) -> None:
        """Remove it; what cannot be removed is moved aside."""
        name = item.name if isinstance(item, Refused) else f"{item.id}.json"
        self._folder.remove(f"{REQUESTS}/{name}")

    def reply(self, reply: Reply) -> None:
        """Move a reply into place, over whatever an agent may have put there."""
        self._folder.write(f"{REPLIES}/{reply.id}.json", (codec.dumps(reply) + "\n").encode())

    def beat(self, beat: int, state: str) -> None:
        """Show that an arena serves this worktree."""
        self._folder.write(HEARTBEAT, (codec.dumps(Heartbeat(beat, state)) + "\n").encode())

    def _read(self, name: str) -> Request | Refused:
        data = b""
        try:
            data = self._folder.read(f"{REQUESTS}/{name}", REQUEST_LIMIT)
            request = codec.loads(Request, data, "request")
            check_request(request, name)
        except (OSError, ConfigError, files.NotRegularFile, UnicodeDecodeError) as error:
            reason = getattr(error, "message", None) or str(error)
            return Refused(name, reason[:200], files.sha256_bytes(data) if data else "")
        return request


class ClientMailbox:
    """run.py's end, in the worktree at `home`."""

    def __init__(self, home: Path) -> None:
        self._home = home

    def send(self, request: Request) -> None:
        """Remember the request, then move it into place: interrupted between the two, `pending` resends it."""
        files.atomic_write(self._home / PENDING, codec.dumps(request) + "\n")
        self.resend(request)

    def resend(self, request: Request) -> None:
        """Move the request into place (again); the referee answers a repeated id from its record."""
        files.atomic_write(self._home / REQUESTS / f"{request.id}.json", codec.dumps(request) + "\n")

    def pending(self) -> Request | None:
        """The request that was sent and not answered yet, if any."""
        try:
            return codec.loads(Request, files.read_regular(self._home, PENDING, REQUEST_LIMIT), PENDING)
        except (OSError, ConfigError, files.NotRegularFile, UnicodeDecodeError):
            return None

    def is_waiting(self, request: Request) -> bool:
        """True while the referee has not taken the request."""
        return (self._home / REQUESTS / f"{request.id}.json").is_file()

    def reply(self, request: Request) -> Reply | None:
        """The reply, once it is there."""
        try:
            data = files.read_regular(self._home, f"{REPLIES}/{request.id}.json", REPLY_LIMIT)
        except FileNotFoundError:
            return None
        return codec.loads(Reply, data, "reply")

    def finish(self) -> None:
        """Forget the pending request."""
        with contextlib.suppress(OSError):
            (self._home / PENDING).unlink()

    def heartbeat(self) -> Heartbeat | None:
        """The last sign of life."""
        try:
            return codec.loads(Heartbeat, files.read_regular(self._home, HEARTBEAT, 4096), HEARTBEAT)
        except (OSError, ConfigError, files.NotRegularFile):
            return None
