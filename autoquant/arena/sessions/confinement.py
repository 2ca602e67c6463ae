"""What is put around an agent's program: a seal where bubblewrap works and the program starts behind it.

A competitor that cannot be sealed here gets a PID namespace over the whole machine, so that nothing of it survives its
session; without bubblewrap a session is ended by its process group, its parentage and its run mark. Who is sealed is
decided when an arena starts and stays so: no session falls back to less.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from autoquant.arena.sessions.walls import around, leads_elsewhere, room_of, session_seal, shows_too_much
from autoquant.errors import HarnessFault
from autoquant.harness import SessionPlan
from autoquant.harness.machine import Machine
from autoquant.ledger.layout import RaceLayout

_OPTIONS = ("--dev-bind", "/", "/", "--proc", "/proc", "--unshare-pid", "--die-with-parent", "--")
Around = Callable[[SessionPlan, Mapping[str, str]], tuple[str, ...]]
"""What goes before a session's command line, from what is started and its environment."""


def unconfined(plan: SessionPlan, env: Mapping[str, str]) -> tuple[str, ...]:
    """Nothing."""
    return ()


@dataclass(frozen=True)
class Confinement:
    """How sessions are started here."""

    name: str = ""
    """For doctor: `PID namespace (bubblewrap 0.8.0)`; empty when there is none."""
    prefix: tuple[str, ...] = ()
    """Put before the command line of a session that is not sealed."""
    problem: str = ""
    """Why there is none."""
    bubblewrap: str = ""
    """Its path, where sessions are sealed."""
    unsealed: Mapping[str, str] = field(default_factory=dict)
    """Why some are not, by competitor: they get `prefix`."""
    lending: Mapping[str, str] = field(default_factory=dict)
    """Who is behind a seal that leaves a folder of the user's own open, by competitor: why."""
    secret: tuple[Path, ...] = ()
    """What no sealed session may be shown."""

    def around(self, layout: RaceLayout, competitor: str, machine: Machine) -> Around:
        """What is put around the sessions of a competitor."""
        if not self.bubblewrap or competitor in self.unsealed:
            return lambda plan, env: self.prefix

        def sealed(plan: SessionPlan, env: Mapping[str, str]) -> tuple[str, ...]:
            room = room_of(layout, competitor)
            if moved := leads_elsewhere(room, layout.root):
                raise HarnessFault(f"{competitor}: cannot be sealed ({moved})", "remove the link, then resume")
            seal = session_seal(self.bubblewrap, room, plan, env, machine)
            if plan.writes and competitor not in self.lending:
                shown = f"it would have to write in {plan.writes[0]}"
                raise HarnessFault(f"{competitor}: cannot be sealed any more ({shown})", "start the arena again")
            if shown := shows_too_much(seal, self.secret):
                raise HarnessFault(f"{competitor}: cannot be sealed any more ({shown})", "start the arena again")
            return around(seal)

        return sealed


def pid_namespace(machine: Machine) -> Confinement:
    """The namespace bubblewrap gives on this machine, tried once; nobody is sealed by it."""
    program = machine.find("bwrap")
    if program is None:
        return Confinement(problem="bubblewrap is not installed")
    prefix = (program, *_OPTIONS)
    true = machine.find("true") or "/bin/true"
    answer = machine.ask((*prefix, true))
    if answer is None or answer.code != 0:
        said = "" if answer is None else answer.stderr.strip().partition("\n")[0]
        return Confinement(problem=f"bubblewrap does not work here ({said or 'no answer'})")
    version = machine.ask((program, "--version"))
    number = version.stdout.strip() if version is not None else "bubblewrap"
    return Confinement(f"PID namespace ({number})", prefix)
