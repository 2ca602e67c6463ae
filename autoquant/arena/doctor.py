"""Is this machine ready to race? Looks, changes nothing, and says for each thing: ok, a warning, or a problem."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from autoquant.arena import protected
from autoquant.arena.available import availabilities
from autoquant.arena.isolation import RECORDED, Isolation, isolation_of, secrets_of, walls_here, without_paths
from autoquant.arena.race import CALIBRATE, CALIBRATION, calibration_problem, read_noise_floor, read_seed
from autoquant.errors import AutoQuantError, DataError
from autoquant.harness import Availability, Competitor
from autoquant.harness.machine import Machine
from autoquant.ledger import records as r
from autoquant.market.manifest import Manifest, data_directory, load_manifest, verify
from autoquant.protocol import PROTOCOL, SCHEMA_VERSION
from autoquant.sealing import Level

RACE_BYTES = 2 * 10**9
"""What a race needs on disk: worktrees with TRAIN, homes, logs, evaluations."""

SEAL_HINT = f"a race here is {RECORDED[Level.EVIDENT]}: what an agent changes shows, that it cannot is not promised"


class Health(StrEnum):
    """How a thing stands."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True)
class Check:
    """One line of the doctor's answer."""

    name: str
    health: Health
    text: str
    hint: str = ""
    competitor: bool = False
    version: str | None = None
    """Of a competitor's program, as it says itself."""
    login: str = ""
    """How a competitor is logged in."""
    note: str = ""
    """Worth knowing of a competitor, although it can run."""


@dataclass(frozen=True)
class IsolationFacts:
    """The level of a race with the competitors that can run here, and what it is made of."""

    level: Level
    recorded: str
    """The level in the words of records and pages."""
    strategies: Level
    agents: Level
    lacks: tuple[str, ...]
    """Why it is not sealed."""
    note: str
    """What stays open behind a seal."""


@dataclass(frozen=True)
class Diagnosis:
    """The whole answer. `can_start`: some race could start with these data on this machine."""

    checks: tuple[Check, ...]
    can_start: bool
    problems: int
    warnings: int
    summary: str
    isolation: IsolationFacts
    schema_version: int = SCHEMA_VERSION


def diagnose(
    home: Path,
    data_root: Path,
    state: Path,
    competitors: Sequence[Competitor],
    machine: Machine,
    *,
    skip_harnesses: bool,
    require: Level = Level.EVIDENT,
) -> Diagnosis:
    """Check checkout, data, calibration, isolation, disk and (unless skipped) every competitor.

    Parameters
    ----------
    require : a level below it is a problem.
    """
    data, manifest, data_dir = _data(data_root)
    checks = [_checkout(home), *data]
    if manifest is not None and data_dir is not None:
        checks.append(_calibration(home, manifest, data_dir))
    found = {} if skip_harnesses else availabilities(competitors, machine)
    answers = [(racer, found[racer.name]) for racer in competitors if racer.name in found]
    secret = secrets_of(home, data_root, state)
    isolation = isolation_of(
        walls_here(machine, secret), [racer for racer, answer in answers if answer.ok], machine, secret
    )
    checks += [_isolation(isolation, require), _disk(state)]
    checks += [_competitor(racer, answer) for racer, answer in answers]
    return _sum_up([*checks, *_shared_accounts(answers)], manifest, isolation, skip_harnesses)


def readiness(
    home: Path,
    data_root: Path,
    state: Path,
    machine: Machine,
    isolation: Isolation,
    notes: Mapping[str, str],
    left_out: Mapping[str, str],
    data: Check | None = None,
) -> r.ReadinessChecked:
    """The checks that every start of a race makes, for its record. The noise floor is in the race's first record.

    Parameters
    ----------
    notes : what is worth knowing of competitors that can run, by name.
    left_out : why others cannot, by name.
    data : of the graded track, whose bars its start has looked at; None looks at the market data.
    """
    found = _data(data_root)[0] if data is None else [data]
    checks = [_checkout(home), *found, _disk(state)]

    folders = (home, data_root, state, machine.home)

    def told(words: Iterable[tuple[str, str]]) -> tuple[str, ...]:
        """The record is published: it tells no path of this machine."""
        return tuple(without_paths(folders, f"{name}: {text}") for name, text in words)

    open_behind = [("isolation", note)] if (note := isolation.walls.note) else []
    return r.ReadinessChecked(
        manifest_verified=found[0].health is Health.OK,
        problems=told((c.name, c.text) for c in checks if c.health is Health.PROBLEM),
        warnings=told(
            [*((c.name, c.text) for c in checks if c.health is Health.WARNING), *open_behind, *notes.items()]
        ),
        left_out=told(left_out.items()),
        isolation=isolation.recorded,
        unsealed=isolation.told(*folders),
    )


def _checkout(home: Path) -> Check:
    try:
        differences = protected.verify(home)
    except AutoQuantError as error:
        return Check("code", Health.PROBLEM, error.message, error.hint)
    if differences:
        first = differences[0]
        more = f" and {len(differences) - 1} more" if len(differences) > 1 else ""
        return Check("code", Health.PROBLEM, f"{first.path} is {first.kind}{more}", protected.WRITE_HINT)
    return Check("code", Health.OK, f"protected files as recorded, protocol {PROTOCOL.digest[:8]}…")


def _data(data_root: Path) -> tuple[list[Check], Manifest | None, Path | None]:
    try:
        data_dir = data_directory(data_root)
        manifest = load_manifest(data_dir)
        problems = verify(data_dir)
    except DataError as error:
        return [Check("data", Health.PROBLEM, error.message, error.hint)], None, None
    if problems:
        hint = f"remove {data_dir} by hand and run setup_data.py again"
        return [Check("data", Health.PROBLEM, problems[0], hint)], manifest, data_dir
    sealed = "made when it opens" if manifest.is_synthetic else "pinned, not fetched"
    text = f"{manifest.source}, set up {manifest.created[:10]}, verified, TRAIN + VALID as pinned, lockbox {sealed}"
    checks = [Check("data", Health.OK, text)]
    if manifest.is_synthetic:
        hint = "arena.py demo can run on them"
        checks.append(Check("source", Health.WARNING, "synthetic data: no real race will start on them", hint))
    elif not manifest.is_real:
        hint = f"start … --allow-source {manifest.source}; the record and every page will say so"
        checks.append(Check("source", Health.WARNING, "not the public archive", hint))
    return checks, manifest, data_dir


def _calibration(home: Path, manifest: Manifest, data_dir: Path) -> Check:
    try:
        floor, seed = read_noise_floor(data_dir), read_seed(home)
    except AutoQuantError as error:
        return Check("calibration", Health.PROBLEM, error.message, error.hint)
    if problem := calibration_problem(floor, manifest, seed):
        return Check("calibration", Health.PROBLEM, f"{data_dir / CALIBRATION}: {problem}", CALIBRATE)
    text = f"noise floor {floor.value:.3f} ({floor.samples:,} samples), protocol {floor.digests.protocol[:8]}…"
    if floor.samples < PROTOCOL.calibration.samples:
        hint = f"evaluate.py --calibrate takes {PROTOCOL.calibration.samples:,}"
        return Check("calibration", Health.WARNING, text, hint)
    return Check("calibration", Health.OK, text)


def _isolation(isolation: Isolation, require: Level) -> Check:
    """Proved a moment ago, from inside."""
    walls = isolation.walls
    agents = walls.agents.words
    if walls.agents.level is not Level.SEALED and walls.namespace.name:
        agents = f"{walls.namespace.name}; {agents}"
    text = f"{isolation.recorded}; agents: {agents}; strategy code: {walls.strategy.words}"
    text += "".join(f"; {name}: {why}" for name, why in isolation.weak.items()) + (
        f"; {walls.note}" if walls.note else ""
    )
    if not isolation.level.satisfies(require):
        return Check("isolation", Health.PROBLEM, f"{text}; --require {require} is not met", isolation.remedy)
    if isolation.level is Level.SEALED:
        return Check("isolation", Health.OK, text)
    return Check("isolation", Health.WARNING, text, f"{isolation.remedy}; until then {SEAL_HINT}")


def _disk(state: Path) -> Check:
    folder = next(path for path in (state, *state.absolute().parents) if path.exists())
    if not os.access(folder, os.W_OK | os.X_OK):
        return Check(
            "disk", Health.PROBLEM, f"{folder}: no race can be kept there, it may not be written", "--state-dir DIR"
        )
    free = shutil.disk_usage(folder).free
    text = f"{free / 1e9:.0f} GB free, a race needs about {RACE_BYTES / 1e9:.0f}"
    if free < RACE_BYTES:
        return Check("disk", Health.PROBLEM, text, f"free some space where {folder} is")
    return Check("disk", Health.OK, text)


def _competitor(racer: Competitor, answer: Availability) -> Check:
    health = Health.OK if answer.ok and not answer.note else Health.WARNING if answer.ok else Health.PROBLEM
    parts = [
        answer.version or f"{racer.argv[0] if racer.argv else racer.harness} found",
        answer.login,
        f"effort {racer.effort}" if racer.effort else "",
        f"endpoint {racer.base_url}" if racer.base_url else "",
        answer.note,
    ]
    return Check(
        racer.name,
        health,
        ", ".join(filter(None, parts)) if answer.ok else answer.problem,
        answer.hint,
        competitor=True,
        version=answer.version,
        login=answer.login,
        note=answer.note,
    )


def _shared_accounts(answers: Sequence[tuple[Competitor, Availability]]) -> list[Check]:
    """One line for each provider account that several of those who can run are counted under."""
    sharers: dict[str, list[tuple[Competitor, Availability]]] = {}
    for racer, answer in answers:
        if answer.ok and answer.account:
            sharers.setdefault(answer.account, []).append((racer, answer))
    return [
        Check(
            "account",
            Health.OK,
            f"{', '.join(racer.name for racer, _ in shared)} share one and its limits: {shared[0][1].login}",
            "start … --parallel-per-account N limits their sessions at a time",
        )
        for shared in sharers.values()
        if len(shared) > 1
    ]


def _sum_up(checks: list[Check], manifest: Manifest | None, isolation: Isolation, skip_harnesses: bool) -> Diagnosis:
    """A race can start when nothing but competitors is in the way, and one of those is left."""
    blocking = [c for c in checks if c.health is Health.PROBLEM and not c.competitor]
    racers = [c for c in checks if c.competitor]
    fit = sum(c.health is not Health.PROBLEM for c in racers)
    problems = sum(c.health is Health.PROBLEM for c in checks)
    warnings = sum(c.health is Health.WARNING for c in checks)
    can_start = not blocking and (skip_harnesses or fit > 0)
    counted = ", ".join(
        f"{count} {word}{'' if count == 1 else 's'}"
        for count, word in ((problems, "problem"), (warnings, "warning"))
        if count
    )
    if blocking:
        what = "No race can start."
    elif not can_start:
        what = "No race can start: not one of these competitors can run."
    elif manifest is not None and manifest.is_synthetic:
        what = "A demo can start; a real race cannot, these data are synthetic."
    elif len(racers) > fit:
        what = f"A race with the other {fit} can start."
    else:
        what = "A race can start."
    walls = isolation.walls
    facts = IsolationFacts(
        isolation.level, isolation.recorded, walls.strategy.level, walls.agents.level, isolation.lacks, walls.note
    )
    return Diagnosis(tuple(checks), can_start, problems, warnings, f"{counted}. {what}" if counted else what, facts)


def show(diagnosis: Diagnosis) -> str:
    """The answer as a table of plain lines."""
    names = max(len(check.name) for check in diagnosis.checks)
    lines = []
    for check in diagnosis.checks:
        text = check.text + (f" → {check.hint}" if check.hint else "")
        lines.append(f"{check.name.ljust(names)}  {check.health.value.ljust(7)}  {text}")
    return "\n".join([*lines, diagnosis.summary])
