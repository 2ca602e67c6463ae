"""Commands a reader can copy to check a number, with the places of the race that is shown."""

from __future__ import annotations

import shlex
from functools import cache
from pathlib import Path

from autoquant.ledger.layout import RaceLayout
from autoquant.report.model import Race

DEMO = Path("demo")
"""Where `arena.py demo` keeps its race and its market."""


def data_option(race: Race) -> str:
    """How a command is pointed at the race's market; empty for the checkout's own."""
    return f" --data-dir {DEMO / 'data'}" if race.demo else ""


def state_option(race: Race) -> str:
    """How a command is pointed at the race's record; empty for the checkout's own."""
    return f" --state-dir {DEMO / 'state'}" if race.demo else ""


def race_option(race: Race) -> str:
    """The race by name."""
    return f" --race {shlex.quote(race.name)}"


def score_again(race: Race, strategy: str, *, whole: bool = True) -> str:
    """Score a strategy of the race again, outside it.

    Where bytes count (`whole` is False) twelve digits name the blob; the shell finds the rest.
    """
    blob = _blob(race, strategy) if whole else f"{_blob(race, strategy[:12])}*"
    return f"uv run evaluate.py {blob}{data_option(race)}"


def compare_texts(race: Race, before: str, after: str) -> str:
    """Show what one strategy changed against another. Twelve digits name a blob; the shell finds the rest."""
    pair = ",".join(shlex.quote(digest[:12]) for digest in (before, after))
    return f"git diff --no-index {_blobs(race.name, race.demo)}/{{{pair}}}*"


def _blob(race: Race, digest: str) -> str:
    return f"{_blobs(race.name, race.demo)}/{shlex.quote(digest)}"


@cache
def _blobs(race: str, demo: bool) -> str:
    state = DEMO / "state" if demo else Path("state")
    return RaceLayout(state, shlex.quote(race)).blob("").as_posix()
