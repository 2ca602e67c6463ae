"""Which level of isolation a race gets on this machine, and why not more: strategies and agents together.

A race is *sealed* only when its strategies and every session are; else it is *evident*, as everywhere without
bubblewrap. The level is proved, not assumed: the walls are tried from inside before anything is said.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from autoquant.arena.sessions.confinement import Confinement, pid_namespace
from autoquant.arena.sessions.place import of_no_place
from autoquant.arena.sessions.proof import prove_sessions
from autoquant.arena.sessions.walls import Room, around, session_seal, shows_too_much
from autoquant.errors import AutoQuantError, HarnessFault, UserError
from autoquant.harness import Competitor, SessionRequest, harness_of
from autoquant.harness.agent import AgentHarness
from autoquant.harness.machine import Machine
from autoquant.sealing import Level

RECORDED = {Level.SEALED: "sealed", Level.EVIDENT: "tamper-evident"}
"""A level as the record and every page have it."""


@dataclass(frozen=True)
class Side:
    """One half of the isolation: of strategies, or of agents' sessions."""

    level: Level
    words: str
    """What there is, or why it is not more."""


@dataclass(frozen=True)
class Walls:
    """What this machine gives, before anybody in particular is put behind it."""

    strategy: Side
    agents: Side
    namespace: Confinement
    bubblewrap: str
    """Its path; empty where agents cannot be sealed."""
    note: str = ""
    """What stays open behind a seal."""


@dataclass(frozen=True)
class Isolation:
    """What a race with certain competitors gets here."""

    walls: Walls
    confinement: Confinement
    """For their sessions."""

    @property
    def level(self) -> Level:
        """Sealed only when nothing is missing."""
        return Level.EVIDENT if self.lacks else Level.SEALED

    @property
    def recorded(self) -> str:
        """The level as the record has it."""
        return RECORDED[self.level]

    @property
    def lacks(self) -> tuple[str, ...]:
        """Why it is not sealed, one reason each."""
        walls = self.walls
        lacks = [f"{who}: {side.words}" for who, side in (("strategies", walls.strategy), ("agents", walls.agents))
                 if side.level is not Level.SEALED]  # fmt: skip
        return (*lacks, *(f"{name}: {why}" for name, why in self.weak.items()))

    def told(self, *folders: Path) -> tuple[str, ...]:
        """`lacks` for a record that is published: without the beginnings of paths."""
        return tuple(without_paths(folders, reason) for reason in self.lacks)

    @property
    def weak(self) -> Mapping[str, str]:
        """Competitors that are not wholly sealed although this machine could: why."""
        return {**self.confinement.unsealed, **self.confinement.lending}

    @property
    def remedy(self) -> str:
        """What would make it sealed."""
        if any("bubblewrap is not installed" in reason for reason in self.lacks) and sys.platform == "linux":
            return "install the package bubblewrap"
        return "README.md says under Isolation what a sealed race needs"

    def require(self, level: Level) -> None:
        """Go on only at this level.

        Raises
        ------
        UserError : this race would not be sealed; says why, in one line.
        """
        if not self.level.satisfies(level):
            raise UserError(
                f"--require {level}: this race would be {self.recorded} ({'; '.join(self.lacks)})",
                f"{self.remedy}; without --require it runs, and the record and every page say at which level",
            )


def require_here(level: Level, machine: Machine, secret: tuple[Path, ...]) -> None:
    """Go on only when this machine gives the level, before it is known who races; raises as `Isolation.require`."""
    isolation_of(walls_here(machine, secret), (), machine, secret).require(level)


def without_paths(folders: Iterable[Path], text: str) -> str:
    """The text without these beginnings of paths.

    >>> without_paths((Path("/root"), Path("/root/state")), "/root/state/x and /root/y")
    'x and y'
    """
    for folder in sorted((f"{folder}/" for folder in folders), key=len, reverse=True):
        text = text.replace(folder, "")
    return text


def walls_here(machine: Machine, secret: Iterable[Path]) -> Walls:
    """Look at this machine and try its walls. Takes some tenths of a second.

    Parameters
    ----------
    secret : folders of the arena whose files no session may see.
    """
    strategy = _strategy_side()
    namespace = pid_namespace(machine)
    if not namespace.prefix:
        why = namespace.problem if sys.platform == "linux" else f"{namespace.problem}; it is Linux's alone"
        return Walls(strategy, Side(Level.EVIDENT, why), namespace, "")
    bubblewrap = namespace.prefix[0]
    proof = prove_sessions(bubblewrap, machine, secret)
    if proof.holes:
        return Walls(strategy, Side(Level.EVIDENT, f"the seal does not hold: {'; '.join(proof.holes)}"), namespace, "")
    note = "the kernel has no Landlock scoping: sockets of the host without a file are reachable"
    words = namespace.name.removeprefix("PID namespace (").removesuffix(")")
    return Walls(strategy, Side(Level.SEALED, words), namespace, bubblewrap, note if proof.abstract_sockets else "")


def isolation_of(walls: Walls, racers: Iterable[Competitor], machine: Machine, secret: Iterable[Path]) -> Isolation:
    """Who of these competitors can be sealed here: each CLI is started once behind its seal and asked its version."""
    if not walls.bubblewrap:
        return Isolation(walls, walls.namespace)
    hidden = tuple(_lasting(secret, machine))
    unsealed: dict[str, str] = {}
    lending: dict[str, str] = {}
    answers: dict[tuple[str, ...], str] = {}
    with tempfile.TemporaryDirectory(prefix="autoquant-") as folder:
        room = Room.below(Path(folder).resolve())
        for place in (room.worktree, room.home, room.temporary):
            place.mkdir()
        for racer in racers:
            if why := _cannot(walls.bubblewrap, racer, room, machine, hidden, answers):
                unsealed[racer.name] = why
            elif why := _lends(racer, room, machine):
                lending[racer.name] = why
    confinement = replace(
        walls.namespace, bubblewrap=walls.bubblewrap, unsealed=unsealed, lending=lending, secret=hidden
    )
    return Isolation(walls, confinement)


def secrets_of(home: Path, data_root: Path, state: Path) -> tuple[Path, ...]:
    """What no session may be shown: state and data of this and every race, and the arena's checkout."""
    return (state.absolute(), data_root.absolute(), home.absolute())


def _lasting(secret: Iterable[Path], machine: Machine) -> Iterable[Path]:
    """The arena's places, and the user's home unless it is a folder of the system's, as a service's may be."""
    yield from secret
    if not machine.home.is_relative_to("/usr") and machine.home.is_dir():
        yield machine.home


def _request(room: Room) -> SessionRequest:
    return SessionRequest(room.worktree, room.home / "prompt.md", "", room.home, 1, 0)


def _lends(racer: Competitor, room: Room, machine: Machine) -> str:
    try:
        plan = harness_of(racer).session(racer, _request(room), machine)
    except HarnessFault:
        return ""
    return f"its login is renewed in {plan.writes[0]}, which it is shown" if plan.writes else ""


def _cannot(
    bubblewrap: str,
    racer: Competitor,
    room: Room,
    machine: Machine,
    hidden: tuple[Path, ...],
    answers: dict[tuple[str, ...], str],
) -> str:
    """Why sessions of this competitor cannot be sealed; empty when they can."""
    harness = harness_of(racer)
    try:
        plan = harness.session(racer, _request(room), machine)
    except HarnessFault as error:
        return error.message
    told = of_no_place(racer, plan, machine.env)
    seal = session_seal(bubblewrap, room, replace(plan, cwd=room.worktree), told, machine)
    if shown := shows_too_much(seal, hidden):
        return f"cannot be sealed: {shown}"
    if not isinstance(harness, AgentHarness):
        return ""
    asked = (*around(seal), plan.argv[0], "--version")
    if asked not in answers:
        keeps = {name: str(room.home / path) for name, path in harness.keeps.items()}
        env = {"PATH": machine.env.get("PATH", ""), "HOME": str(room.home), "TMPDIR": str(room.temporary), **keeps}
        answer = machine.ask(asked, env)
        if answer is not None and answer.code == 0:
            answers[asked] = ""
        else:
            said = "no answer" if answer is None else (answer.stderr.strip() or f"exit {answer.code}").splitlines()[-1]
            answers[asked] = f"{plan.argv[0]} does not start behind a seal ({said[:120]})"
    return answers[asked]


def _strategy_side() -> Side:
    """What the sandbox says of strategies, held against its own proof."""
    from autoquant.sandbox import prove_strategy, strategy_level

    level, words = strategy_level()
    if level is not Level.SEALED:
        return Side(level, words)
    try:
        broken = [escape.name for escape in prove_strategy() if not escape.stopped]
    except AutoQuantError as error:
        return Side(Level.EVIDENT, error.message)
    if broken:
        return Side(Level.EVIDENT, f"the seal does not hold: a strategy can {', '.join(broken)}")
    return Side(level, words)
