"""Agent CLIs that are not there: programs that only tell a version, and what the real ones once printed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from autoquant.harness import ADAPTERS, Availability, Competitor, SessionPlan, SessionRequest
from autoquant.harness.events import Event, Reader, Spent, Usage
from autoquant.harness.machine import Machine

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
KEY = "sk-not-a-real-key-5d1f"
PROMPT = "--go on – ü\n"
"""It begins like an option, and is not plain ASCII."""
_E = TypeVar("_E", bound=Event)


@dataclass(frozen=True)
class Cli:
    """One of them."""

    program: str
    model: str
    says: str
    """What --version prints."""
    key: str
    """Variable with its usual key."""
    golden: Path

    @property
    def version(self) -> str:
        return f"{self.program} {next(part for part in self.says.split() if part[0].isdigit())}"


CLIS = {
    "antigravity": Cli(
        "agy", "gemini-3.6-flash", "agy version 1.2.17", "GEMINI_API_KEY", GOLDEN / "antigravity-documented"
    ),
    "claude": Cli("claude", "claude-opus-4-5", "2.1.332 (Claude Code)", "ANTHROPIC_API_KEY", GOLDEN / "claude-2.1.332"),
    "codex": Cli("codex", "gpt-5.6-luna", "codex-cli 0.171.0", "OPENAI_API_KEY", GOLDEN / "codex-0.171.0"),
    "gemini": Cli("gemini", "gemini-3.6-flash", "0.61.0", "GEMINI_API_KEY", GOLDEN / "gemini-0.61.0"),
    "grok": Cli("grok", "grok-4.5", "grok 1.0.41 (4220f3b224a6)", "XAI_API_KEY", GOLDEN / "grok-1.0.41"),
    "opencode": Cli("opencode", "some-model", "1.18.33", "OPENAI_API_KEY", GOLDEN / "opencode-1.18.33"),
}


@dataclass(frozen=True)
class Stand:
    """One kind of CLI, installed below `root`, and competitors that use it."""

    kind: str
    root: Path
    facts: dict[str, object] = field(default_factory=dict)
    """Of its competitors, unless a test says otherwise."""

    @property
    def cli(self) -> Cli:
        return CLIS[self.kind]

    def competitor(self, **changes: object) -> Competitor:
        usual = {"name": self.kind, "harness": self.kind, "model": self.cli.model, "effort": "high"}
        return Competitor(**{**usual, "colour": "#112233", **self.facts, **changes})  # type: ignore[arg-type]

    def machine(self, *, script: str = "", is_root: bool = False, **env: str) -> Machine:
        """With the program, and with the variables given; `script` in place of its telling the version."""
        program = self.root / "bin" / self.cli.program
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text("#!/bin/sh\n" + (script or f"echo '{self.cli.says}'\n"))
        program.chmod(0o755)
        (self.root / "user").mkdir(exist_ok=True)
        return Machine({"PATH": f"{program.parent}:/usr/bin:/bin", **env}, self.root / "user", is_root)

    def with_key(self, *, script: str = "", is_root: bool = False) -> Machine:
        return self.machine(script=script, is_root=is_root, **{self.cli.key: KEY})

    def log_in(self, file: str) -> Path:
        """Make the user's login file."""
        path = self.root / "user" / file
        path.parent.mkdir(parents=True)
        path.write_text("{}")
        return path

    def check(self, competitor: Competitor | None = None, machine: Machine | None = None) -> Availability:
        return ADAPTERS[self.kind].check(competitor or self.competitor(), machine or self.with_key())

    def plan(
        self, competitor: Competitor | None = None, machine: Machine | None = None, resume: str | None = None
    ) -> SessionPlan:
        home, worktree = self.root / "home", self.root / "work tree"
        request = SessionRequest(worktree, home / "prompt.md", PROMPT, home, 1, 0, resume)
        return ADAPTERS[self.kind].session(competitor or self.competitor(), request, machine or self.with_key())


def read(kind: str, *names: str, reader: Reader | None = None) -> list[Event]:
    """What one reader makes of recorded files, one after the other."""
    reader = reader or ADAPTERS[kind].reader()
    take = {"stdout": reader.stdout, "stderr": reader.stderr, "transcript": reader.transcript}
    return [event for name in names for line in lines(kind, name) for event in take[name.split(".")[1]](line)]


def lines(kind: str, name: str) -> list[str]:
    return (CLIS[kind].golden / name).read_text(encoding="utf-8").split("\n")


def of(kind: type[_E], events: Iterable[Event]) -> list[_E]:
    return [event for event in events if isinstance(event, kind)]


def requests(events: Iterable[Event]) -> dict[tuple[str, str | None], Usage]:
    """Usage per conversation and request, as the arena keeps it: the same one again replaces."""
    return {(event.conversation, event.request): event.usage for event in of(Spent, events) if event.request}


def total(events: Iterable[Event]) -> Usage:
    """The last running total."""
    return [event.usage for event in of(Spent, events) if event.request is None][-1]
