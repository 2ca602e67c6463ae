"""Which races there are, from the first line of each ledger: a broken one troubles only its own readers."""

from __future__ import annotations

import json
import stat
from pathlib import Path

from autoquant.errors import UserError

_FIRST_LINE_BYTES = 1 << 20


def race_names(state: Path) -> tuple[str, ...]:
    """Races below `state`, oldest first.

    A ledger without one whole line is no race yet, nor is what is no file. One whose first line cannot be read comes
    first; who opens it is told what is wrong with it.
    """
    found = []
    for ledger in (state / "races").glob("*/ledger.jsonl"):
        created = _created_utc(ledger)
        if created is not None:
            found.append((*created, ledger.parent.name))
    return tuple(name for _, _, name in sorted(found))


def require_races(state: Path) -> None:
    """Refuse a folder of records of the graded track where races are meant: nothing in them ranks or has a lockbox.

    Raises
    ------
    UserError : the newest record below `state` is one of the graded track.
    """
    names = race_names(state)
    if not names:
        return
    try:
        with (state / "races" / names[-1] / "ledger.jsonl").open("rb") as handle:
            graded = json.loads(handle.readline(_FIRST_LINE_BYTES))["body"]["kind"] == "tasks"
    except (OSError, ValueError, KeyError, TypeError):
        return  # its reader says what is wrong with it
    if graded:
        raise UserError(
            f"{state} holds records of the graded track, not races",
            "arena.py tasks status shows them, arena.py tasks race goes on; stop and logs take this --state-dir",
        )


def _created_utc(ledger: Path) -> tuple[str, int] | None:
    """When a race says it was created, and when its ledger was last changed; None for no race."""
    try:
        facts = ledger.stat()
        if not stat.S_ISREG(facts.st_mode):
            return None
        with ledger.open("rb") as handle:
            first = handle.readline(_FIRST_LINE_BYTES)
    except FileNotFoundError:  # removed this moment
        return None
    except OSError:
        return "", 0
    if not first.endswith(b"\n"):
        return None
    try:
        return str(json.loads(first)["utc"]), facts.st_ctime_ns
    except (ValueError, KeyError, TypeError):
        return "", facts.st_ctime_ns
