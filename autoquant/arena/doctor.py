"""Is this machine ready to race? Looks, changes nothing, and says for each thing: ok, a warning, or a problem."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from autoquant.arena import protected
from autoquant.arena.race import CALIBRATE, CALIBRATION, ISOLATION, calibration_problem, read_noise_floor, read_seed
from autoquant.errors import AutoQuantError, DataError
from autoquant.harness import Competitor, harness_of
from autoquant.market.manifest import Manifest, data_directory, load_manifest, panel_problems
from autoquant.protocol import PROTOCOL, SCHEMA_VERSION

RACE_BYTES = 2 * 10**9
"""What a race needs on disk: worktrees with TRAIN, homes, logs, evaluations."""


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


@dataclass(frozen=True)
class Diagnosis:
    """The whole answer. `can_start`: some race could start with these data on this machine."""

    checks: tuple[Check, ...]
    can_start: bool
    problems: int
    warnings: int
    summary: str
    schema_version: int = SCHEMA_VERSION


def diagnose(
    home: Path, data_root: Path, state: Path, competitors: Sequence[Competitor], *, skip_harnesses: bool
) -> Diagnosis:
    """Check checkout, data, calibration, isolation, disk and (unless skipped) every competitor."""
    data, manifest, data_dir = _data(data_root)
    checks = [_checkout(home), *data]
    if manifest is not None and data_dir is not None:
        checks.append(_calibration(home, manifest, data_dir))
    checks += [_isolation(), _disk(state)]
    racers = [] if skip_harnesses else [_competitor(racer) for racer in competitors]
    return _sum_up([*checks, *racers], manifest, skip_harnesses)


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
        problems = panel_problems(data_dir, manifest)
    except DataError as error:
        return [Check("data", Health.PROBLEM, error.message, error.hint)], None, None
    if problems:
        hint = f"remove {data_dir} by hand and run setup_data.py again"
        return [Check("data", Health.PROBLEM, problems[0], hint)], manifest, data_dir
    sealed = "made when it opens" if manifest.is_synthetic else "pinned, not fetched"
    text = f"{manifest.source}, set up {manifest.created[:10]}, TRAIN + VALID as pinned, lockbox {sealed}"
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


def _isolation() -> Check:
    from autoquant.sandbox import WarmParent

    try:
        with WarmParent() as parent:
            walls = parent.isolation
    except AutoQuantError as error:
        return Check("isolation", Health.PROBLEM, error.message, error.hint)
    return Check("isolation", Health.OK, f"{ISOLATION}; strategy code: {', '.join(walls) or 'limits only'}")


def _disk(state: Path) -> Check:
    folder = next(path for path in (state, *state.absolute().parents) if path.exists())
    free = shutil.disk_usage(folder).free
    text = f"{free / 1e9:.0f} GB free, a race needs about {RACE_BYTES / 1e9:.0f}"
    if free < RACE_BYTES:
        return Check("disk", Health.PROBLEM, text, f"free some space where {folder} is")
    return Check("disk", Health.OK, text)


def _competitor(racer: Competitor) -> Check:
    answer = harness_of(racer).check(racer)
    if not answer.ok:
        return Check(racer.name, Health.PROBLEM, answer.problem, answer.hint, competitor=True)
    effort = f", effort {racer.effort}" if racer.effort else ""
    version = answer.version or f"{racer.argv[0]} found"
    return Check(racer.name, Health.OK, f"{version}{effort}", competitor=True)


def _sum_up(checks: list[Check], manifest: Manifest | None, skip_harnesses: bool) -> Diagnosis:
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
    return Diagnosis(tuple(checks), can_start, problems, warnings, f"{counted}. {what}" if counted else what)


def show(diagnosis: Diagnosis) -> str:
    """The answer as a table of plain lines."""
    names = max(len(check.name) for check in diagnosis.checks)
    lines = []
    for check in diagnosis.checks:
        text = check.text + (f" → {check.hint}" if check.hint else "")
        lines.append(f"{check.name.ljust(names)}  {check.health.value.ljust(7)}  {text}")
    return "\n".join([*lines, diagnosis.summary])
