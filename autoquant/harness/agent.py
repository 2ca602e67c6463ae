"""What the adapters of all agent CLIs do alike: find the program, ask its version, look at login and wishes, refuse.

An adapter of one CLI says what is its own: which credentials it takes, which models and efforts, how it is started.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import ClassVar

from autoquant.harness.base import Availability, Competitor, Refusal, SessionPlan, SessionRequest, lasting_name
from autoquant.harness.credentials import Credential
from autoquant.harness.events import Reader
from autoquant.harness.machine import Machine

_REDIRECTS = ("*_API_KEY", "*_AUTH_TOKEN", "*_BASE_URL", "AUTOQUANT_*")
"""Variables that lead many a program to another endpoint or account."""
_OWN = ("-m", "--model", "--effort", "--reasoning-effort", "--variant", "--thinking", "--resume", "--session")
"""Options that every adapter sets itself."""
_SECRET = re.compile(r"\bsk-[A-Za-z0-9]|api[-_]?key=|token=", re.IGNORECASE)
_NUMBER = re.compile(r"\d+\.\d+\.\d+")


class AgentHarness(ABC):
    """One agent CLI."""

    program: ClassVar[str]
    """What it is called on PATH; with the number, how its version is shown."""
    proved: ClassVar[str]
    """The version that was run against the scripted server."""
    install: ClassVar[str]
    """How one gets it."""
    redirects: ClassVar[tuple[str, ...]] = ()
    """Patterns of its own variables that lead it to another endpoint, account, model or configuration."""

    keeps: ClassVar[Mapping[str, str]] = {}
    """Variables that say where it keeps files, each with a path below a folder: asked for its version, it must leave
    nothing in the user's home.
    """
    overrides: ClassVar[tuple[str, ...]] = ()
    """Beginnings of arguments that would change its model, effort or configuration behind the record's back."""

    @property
    @abstractmethod
    def settings(self) -> tuple[str, ...]:
        """See `Harness.settings`."""

    @property
    def transcripts(self) -> tuple[str, ...]:
        """None; see `Harness.transcripts`."""
        return ()

    @abstractmethod
    def reader(self) -> Reader:
        """See `Harness.reader`."""

    def asked_model(self, competitor: Competitor) -> str:
        """See `Harness.asked_model`."""
        return lasting_name(competitor.model)

    def check(self, competitor: Competitor, machine: Machine) -> Availability:
        """Whether it is installed, logged in, and takes what the competitor asks for; no request is made."""
        path = self._path(machine)
        if isinstance(path, Refusal):
            return path.answer()
        answer = machine.ask((path, "--version"), scratch=self.keeps)
        number = _NUMBER.search(answer.stdout) if answer else None
        if number is None:
            return Refusal(f"{path} --version gives no version", self.install).answer()
        version = f"{self.program} {number[0]}"
        found = self._redirected(competitor) or self._overridden(competitor) or self._credential(competitor, machine)
        if isinstance(found, Refusal):
            return found.answer(version)
        if refusal := self._objection(competitor, machine, path):
            return refusal.answer(version)
        note = "; ".join(self._notes(competitor, machine, number[0]))
        account = f"{competitor.base_url} {found.account}" if competitor.base_url else found.account
        return Availability(True, version, found.login, account, note=note)

    def session(self, competitor: Competitor, request: SessionRequest, machine: Machine) -> SessionPlan:
        """How to start the next session.

        Raises
        ------
        HarnessFault : the program or its credentials are gone since they were checked.
        """
        path = self._path(machine)
        if isinstance(path, Refusal):
            raise path.fault(competitor)
        found = self._credential(competitor, machine)
        if isinstance(found, Refusal):
            raise found.fault(competitor)
        return self._plan(path, competitor, request, found, machine)

    @abstractmethod
    def _credential(self, competitor: Competitor, machine: Machine) -> Credential | Refusal:
        """The login it will use."""

    @abstractmethod
    def _objection(self, competitor: Competitor, machine: Machine, path: str) -> Refusal | None:
        """What it would not take of the competitor's model, effort or endpoint."""

    @abstractmethod
    def _plan(
        self, path: str, competitor: Competitor, request: SessionRequest, found: Credential, machine: Machine
    ) -> SessionPlan:
        """The start of a session with the program at `path` and the login that was found."""

    def _notes(self, competitor: Competitor, machine: Machine, number: str) -> Iterable[str]:
        """What is worth knowing before a race with this version."""
        return () if number == self.proved else (f"proved with {self.proved}",)

    def _path(self, machine: Machine) -> str | Refusal:
        return machine.find(self.program) or Refusal(f"{self.program} not found", self.install)

    def _redirected(self, competitor: Competitor) -> Refusal | None:
        """A variable of the roster that would make the record's endpoint, account or model untrue."""
        for key, names in (("env", competitor.env), ("pass_env", competitor.pass_env)):
            for name in names:
                if any(fnmatchcase(name, pattern) for pattern in (*_REDIRECTS, *self.redirects)):
                    problem = f"{key} has {name}, which can change endpoint, account or model"
                    return Refusal(problem, "take it out: base_url, api_key_env and model are for that")
        return None

    def _overridden(self, competitor: Competitor) -> Refusal | None:
        """An argument of the roster that would make the record's model or effort untrue, or put a key into it."""
        for arg in competitor.args:
            name = arg.partition("=")[0]
            if name in _OWN or any(arg.startswith(start) for start in self.overrides):
                return Refusal(f"args has {arg!r}, which the adapter sets itself", "model and effort are for that")
            if _SECRET.search(arg):
                return Refusal("args holds what looks like a key, and args stand in the record", "use api_key_env")
        return None


def unknown_effort(competitor: Competitor, known: Iterable[str], whom: str) -> Refusal | None:
    """A refusal unless the effort is one of those known, with which an empty one means that none is asked for."""
    names = tuple(known)
    if competitor.effort in names:
        return None
    return Refusal(f"effort {competitor.effort!r} unknown to {whom}", f"one of {', '.join(filter(None, names))}")
