"""Whom a start runs: the roster, what the command line makes of it, and who of them can run on this machine."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from autoquant.arena.available import availabilities
from autoquant.arena.roster.load import choose, load_roster
from autoquant.arena.roster.replicates import with_replicates
from autoquant.arena.show.voice import Voice
from autoquant.errors import UserError
from autoquant.harness import Availability, Competitor
from autoquant.harness.machine import Machine

Answers = dict[str, Availability]
"""What the check of each competitor said, by name."""


def wanted(path: Path, names: str, replicates: int | None = None) -> tuple[Competitor, ...]:
    """Competitors of the roster at `path`: `all`, or names separated by commas, each so many times.

    Raises
    ------
    ConfigError : the roster is wrong; names file and line.
    UserError : an unknown name, or replicates that cannot be.
    """
    roster = load_roster(path)
    return with_replicates(choose(roster, names, str(path)), replicates, roster, str(path))


def who_can_run(
    asked: Sequence[Competitor], machine: Machine, skip_missing: bool, voice: Voice
) -> tuple[Answers, Answers]:
    """Who can run here and who cannot, by name; those are named, and without `skip_missing` refused.

    Raises
    ------
    UserError : names who cannot run and why, in one line.
    """
    answers = availabilities(asked, machine)
    missing: dict[str, list[str]] = {}
    for name, answer in answers.items():
        if not answer.ok:
            missing.setdefault(answer.problem, []).append(name)
    if not missing:
        return answers, {}
    named = "; ".join(f"{', '.join(names)}: {problem}" for problem, names in missing.items())
    fit = {name: answer for name, answer in answers.items() if answer.ok}
    unfit = {name: answer for name, answer in answers.items() if not answer.ok}
    mend = next(answer.hint for answer in unfit.values())
    if not skip_missing:
        entries = dict.fromkeys(competitor.group or competitor.name for competitor in asked if competitor.name in fit)
        hint = f"--skip-missing, or --competitors {','.join(entries)}" if fit else mend
        raise UserError(f"cannot run {named}", hint)
    if not fit:
        raise UserError(f"nobody is left to race: {named}", mend)
    voice.say(f"left out: {named}")
    return fit, unfit
