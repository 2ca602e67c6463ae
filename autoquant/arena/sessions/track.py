"""What all competitors of a running race share: the record, the referee, the machine, and how patient to be."""

from __future__ import annotations

import random
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from autoquant import process
from autoquant.arena.sessions.accounts import Accounts
from autoquant.arena.sessions.confinement import Confinement
from autoquant.arena.sessions.prompts import Prompt, prompt_for
from autoquant.arena.sessions.time_left import TimeLeft
from autoquant.clock import Clock, utc_iso
from autoquant.harness.machine import Machine
from autoquant.ledger import records as r
from autoquant.ledger.layout import RaceLayout
from autoquant.ledger.ledger import Ledger


class RefereeDuties(Protocol):
    """What a race asks of the referee."""

    def prepare(self, competitor: str) -> Path:
        """Make or mend the worktree."""
        ...

    def recover(self) -> None:
        """Finish what a former arena left open."""
        ...

    def poll(self, competitor: str) -> bool:
        """Answer one request; False when there was none."""
        ...

    def audit(self, competitor: str, attempt: int | None, *, owned: bool = True) -> object:
        """Restore and record changed protected files; `owned`: whether the competitor's programs ran meanwhile."""
        ...


@dataclass(frozen=True)
class Pace:
    """How often to look, how long to wait. Seconds."""

    poll: float = 0.05
    tick: float = 0.25
    farewell: float = 30.0
    """What a session may go on for after its last attempt, or after its program's final event."""
    hopeless: float = 20.0
    """How long a program may go on after a complaint that its own retries do not mend."""
    first_output: float = 900.0
    """How long a session may show no sign of life at all after its start."""
    waits: float = 1.0
    """Factor on the waits of the policy table."""
    listen: float = 0.5
    """Between two looks at what a session printed."""
    sample: float = 5.0
    """Between two looks at the processor time of a session; four times that between two looks at its files."""
    give_back: float = 60.0
    """Between two times that the arena's free memory goes back to the system."""


@dataclass(frozen=True)
class Track:
    """What all lanes of a race share."""

    layout: RaceLayout
    ledger: Ledger
    referee: RefereeDuties
    clock: Clock
    surroundings: Mapping[str, str]
    machine: Machine
    confinement: Confinement
    accounts: Accounts
    seats: Accounts
    """Sessions at a time in all: one account that everybody shares."""
    time_left: TimeLeft
    pace: Pace
    launcher: process.Launcher
    stopping: threading.Event
    draw: random.Random = field(default_factory=random.Random)
    marks: set[str] = field(default_factory=set)
    """Run marks of the sessions that are going on."""
    prompt: Prompt = prompt_for
    """What an agent is told at the start of a session."""

    def append(self, body: r.RecordBody) -> None:
        """Record `body` now."""
        self.ledger.append(body, utc_iso(self.clock.now()))
