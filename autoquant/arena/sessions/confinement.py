"""What is put around an agent's program so that nothing of it survives its session: a PID namespace where there is one.

The walls that hide files belong to another room's work; this one only makes the end of a session certain. Without it a
session is ended by its process group, its parentage and its run mark.
"""

from __future__ import annotations

from dataclasses import dataclass

from autoquant.harness.machine import Machine

_OPTIONS = ("--dev-bind", "/", "/", "--proc", "/proc", "--unshare-pid", "--die-with-parent", "--")


@dataclass(frozen=True)
class Confinement:
    """How sessions are started here."""

    name: str = ""
    """For doctor: `PID namespace (bubblewrap 0.8.0)`; empty when there is none."""
    prefix: tuple[str, ...] = ()
    """Put before a session's command line."""
    problem: str = ""
    """Why there is none."""


def pid_namespace(machine: Machine) -> Confinement:
    """The namespace bubblewrap gives on this machine, tried once."""
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
