"""What a verification says: one `Check` per question, and the whole answer."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from autoquant.protocol import SCHEMA_VERSION

SHOWN = 20
"""Problems of one check that are told as text; the JSON answer has all."""


class State(StrEnum):
    """How a check came out."""

    OK = "ok"
    FAILED = "failed"
    NOT_DONE = "not done"


@dataclass(frozen=True)
class Check:
    """One question put to the evidence."""

    name: str
    state: State
    text: str
    """What was looked at, or why it could not be."""
    problems: tuple[str, ...] = ()
    """What is false, one line each, with file and line or attempt."""


@dataclass(frozen=True)
class Verification:
    """The whole answer."""

    race: str | None
    """None where not even the first record could be read."""
    where: str
    """`bundle`, or `state` for a race on this machine."""
    digest: str | None
    """sha256 of the bundle file."""
    head: str | None
    """Digest of the record's last line, and how many lines it has: to be held against a published page."""
    length: int | None
    full: bool
    checks: tuple[Check, ...]
    environment: dict[str, str]
    """Of the machine that verified."""
    schema_version: int = SCHEMA_VERSION

    @property
    def exit_code(self) -> int:
        """0 all verified, 1 something is false, 2 not everything could be checked."""
        states = {check.state for check in self.checks}
        return 1 if State.FAILED in states else 2 if State.NOT_DONE in states else 0

    @property
    def verdict(self) -> str:
        """`verified`, `false` or `incomplete`."""
        return ("verified", "false", "incomplete")[self.exit_code]


def outcome(name: str, problems: Iterable[str], text: str, undone: str = "") -> Check:
    """The check of a name: failed with problems, not done with a reason, else ok."""
    found = tuple(problems)
    if found:
        return Check(name, State.FAILED, found[0] if len(found) == 1 else f"{len(found)} problems", found)
    return Check(name, State.NOT_DONE, undone) if undone else Check(name, State.OK, text)


def as_text(answer: Verification) -> str:
    """One line per check, then the verdict."""
    lines = []
    width = max((len(check.name) for check in answer.checks), default=0)
    for check in answer.checks:
        lines.append(f"{check.state:<8}  {check.name:<{width}}  {check.text}")
        if len(check.problems) > 1:
            lines += [f"{'':<8}  {'':<{width}}  - {problem}" for problem in check.problems[:SHOWN]]
            more = len(check.problems) - SHOWN
            lines += [f"{'':<8}  {'':<{width}}  and {more} more (--json has all)"] if more > 0 else []
    words = {
        0: "verified: every check holds",
        1: "FALSE: " + ", ".join(c.name for c in answer.checks if c.state is State.FAILED),
        2: "incomplete: nothing is false, but not done: "
        + ", ".join(c.name for c in answer.checks if c.state is State.NOT_DONE),
    }
    return "\n".join([*lines, words[answer.exit_code]])
