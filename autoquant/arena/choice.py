"""Which race a `start` means: one to go on with, one to extend, or a new one. Reads only."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from autoquant.arena.roster.names import NAME_RULE, valid_name
from autoquant.arena.show.status import read_view
from autoquant.errors import UserError
from autoquant.harness import Competitor
from autoquant.ledger.layout import RaceLayout
from autoquant.ledger.races import race_names
from autoquant.ledger.views import RaceView


@dataclass(frozen=True)
class Choice:
    """The race, what to do with it, and who takes part."""

    layout: RaceLayout
    action: Literal["create", "resume", "extend"]
    joining: tuple[Competitor, ...]
    """Not yet in the race."""
    running: tuple[Competitor, ...]
    """Everybody asked for who has not ended, those who join included."""


def choose_race(
    state: Path, asked: Sequence[Competitor], race: str | None, now: dt.datetime, roster: str = "competitors.toml"
) -> Choice:
    """Find the race that `asked` competitors, who stand in the file `roster`, are to run in.

    Without a name: the one unfinished race; else the newest, if its lockbox is open and everybody asked is new to it;
    else a new one.

    Raises
    ------
    UserError : several races are unfinished, a name cannot be used, a competitor would race twice or under a name that
        means replicates, nothing is left.
    """
    if race is not None:
        if not valid_name(race):
            raise UserError(f"--race {race!r} cannot be used", NAME_RULE)
        view = read_view(RaceLayout(state, race))
        return _new(state, race, asked) if view is None else _in_race(state, view, asked, roster)
    views = {name: view for name in race_names(state) if (view := read_view(RaceLayout(state, name))) is not None}
    unfinished = [name for name, view in views.items() if not view.is_terminal]
    if len(unfinished) > 1:
        raise UserError(f"races {', '.join(unfinished)} are unfinished", "say which one to resume: --race NAME")
    if unfinished:
        return _in_race(state, views[unfinished[0]], asked, roster)
    newest = list(views.values())[-1] if views else None
    if newest is not None and newest.lockbox.is_closed and not any(_known(newest, c) for c in asked):
        return _in_race(state, newest, asked, roster)
    return _new(state, _fresh_name(state, now), asked)


def _new(state: Path, race: str, asked: Sequence[Competitor]) -> Choice:
    return Choice(RaceLayout(state, race), "create", tuple(asked), tuple(asked))


def _fresh_name(state: Path, now: dt.datetime) -> str:
    """race-20261130-1, counted on past every folder that is there."""
    day = now.strftime("%Y%m%d")
    number = 1
    while (state / "races" / f"race-{day}-{number}" / "ledger.jsonl").exists():
        number += 1
    return f"race-{day}-{number}"


def _known(view: RaceView, competitor: Competitor) -> bool:
    """Whether it, or its entry in another number of replicates, has raced here."""
    raced = {name for racer in view.competitors.values() for name in (racer.name, racer.joined.group)}
    return not raced.isdisjoint((competitor.name, competitor.group or competitor.name))


def _in_race(state: Path, view: RaceView, asked: Sequence[Competitor], roster: str) -> Choice:
    race = view.created.race
    for competitor in asked:
        _require_unchanged(view, competitor, roster)
        _require_one_meaning(view, competitor)
    joining = tuple(c for c in asked if c.name not in view.competitors)
    ended = [c.name for c in asked if c.name in view.competitors and view.competitors[c.name].ended is not None]
    running = tuple(c for c in asked if c.name not in ended)
    if view.lockbox.is_reserved and not view.lockbox.is_closed:
        raise UserError(f"the lockbox of race {race} is being opened", "finish it first: arena.py lockbox")
    if view.lockbox.is_reserved and ended and joining:
        raise UserError(
            f"{', '.join(ended)} cannot race twice: race {race} has their final record",
            "an extension takes new competitors only",
        )
    if not running:
        raise UserError(*_nothing_left(view, ended))
    action: Literal["resume", "extend"] = "extend" if view.lockbox.is_reserved and joining else "resume"
    return Choice(RaceLayout(state, race), action, joining, running)


def _nothing_left(view: RaceView, ended: Sequence[str]) -> tuple[str, str]:
    """Error and hint where everybody asked for has ended; a record of the graded track has no lockbox to open."""
    race, have = view.created.race, "has" if len(ended) == 1 else "have"
    open_ones = [racer for racer in view.competitors.values() if racer.ended is None]
    if view.created.kind == "tasks":
        left = ", ".join(dict.fromkeys(racer.joined.group or racer.name for racer in open_ones))
        hint = f"go on with {left}" if left else f"see its grades (arena.py tasks status --race {race})"
        return (
            f"{', '.join(ended)} {have} ended in record {race}; a task is handed in once",
            f"{hint}, or begin another record: --race NAME",
        )
    left = ", ".join(racer.name for racer in open_ones)
    hint = f"go on with {left}" if left else "open its lockbox (arena.py lockbox)"
    return (
        f"{', '.join(ended)} {have} already raced in race {race}; nobody races twice",
        "start another race: --race NAME" if view.lockbox.is_closed else f"{hint}, or start another race: --race NAME",
    )


def _require_one_meaning(view: RaceView, competitor: Competitor) -> None:
    """A name is one racer or a group of replicates, not both in one race."""
    race = view.created.race
    replicates = [racer.name for racer in view.competitors.values() if racer.joined.group == competitor.name]
    if replicates:
        raise UserError(
            f"{competitor.name} races as {', '.join(replicates)} in race {race}",
            f"--replicates {len(replicates)} goes on with them; another race: --race NAME",
        )
    if competitor.group in view.competitors:
        raise UserError(
            f"{competitor.group} races alone in race {race}, not as replicates",
            "leave --replicates out, or start another race: --race NAME",
        )


def _require_unchanged(view: RaceView, competitor: Competitor, roster: str) -> None:
    """A competitor that joined must still be the same one."""
    racer = view.competitors.get(competitor.name)
    if racer is None:
        return
    joined = racer.joined
    for word, before, now in (
        ("harness", joined.harness, competitor.harness),
        ("model", joined.model, competitor.model),
        ("effort", joined.effort, competitor.effort),
        ("seed", joined.seed, competitor.seed),
        ("base_url", joined.endpoint, competitor.base_url),
        ("args", list(joined.args), list(competitor.args)),
        ("group", joined.group, competitor.group),
    ):
        if (before or None) != (now or None):
            raise UserError(
                f"{roster}: {competitor.name} joined race {view.created.race} with {word} {before!r}, "
                f"now it is {now!r}",
                "put it back, or give the changed competitor a new name",
            )
