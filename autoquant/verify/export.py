"""Pack a finished race into one file that a stranger can check.

What the rule keeps back: nothing leaves before every competitor has ended and the lockbox is closed, since the secret
unmasks the markets that others would still be judged on, and evaluations hold daily returns. Afterwards nobody joins.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from autoquant import files
from autoquant.clock import Clock, SystemClock, utc_iso
from autoquant.errors import UserError
from autoquant.ledger.layout import RaceLayout
from autoquant.ledger.views import RaceView
from autoquant.verify.bundle import Writer
from autoquant.verify.commit_checks import check_commits
from autoquant.verify.evidence import StateEvidence, named_files
from autoquant.verify.private import Leak, Private
from autoquant.verify.record_checks import TASKS, check_chain
from autoquant.verify.records import State
from autoquant.verify.verify import record_checks

SHOWN = 5
"""Leaks that are named in an error."""


@dataclass(frozen=True)
class Exported:
    """What was packed."""

    path: str
    race: str
    sha256: str
    bytes: int
    pieces: int
    head: str
    """Digest of the record's last line."""
    notices: tuple[str, ...] = ()
    """What a verifier will not be able to check, one line each."""


def export(
    layout: RaceLayout,
    out: Path,
    *,
    home: Path,
    data_root: Path,
    private: Private,
    with_places: bool = False,
    clock: Clock | None = None,
) -> Exported:
    """Check a race, look for what must stay, and write the bundle.

    Parameters
    ----------
    private : what must not leave.
    with_places : let folders and logins of this machine out, which a record's texts may name. Keys never leave.

    Raises
    ------
    UserError : the race goes on, something of it is damaged, a text holds what must stay, or `out` is a folder.
    """
    if out.is_dir():
        raise UserError(f"{out}: is a folder", "name the file to write, race.zip for example")
    holder = f"arena.py export since {utc_iso((clock or SystemClock()).now())}"
    with files.exclusive_lock(layout.lock, holder):
        evidence = StateEvidence(layout, home, data_root)
        *broken, unfinished = check_chain(evidence)
        if unfinished is None:
            raise _refusal(layout, next(one.text for one in broken if one.state is State.FAILED))
        require_exportable(unfinished.view)
        story, checks = record_checks(evidence, ended=True)
        assert story is not None
        checks = (*checks, check_commits(evidence, story.view)[0])
        false = next((check for check in checks if check.state is State.FAILED), None)
        if false is not None:
            raise _refusal(layout, false.problems[0])
        names = sorted({*evidence.names(), *(name for name, _ in named_files(story.view))})
        leaks = list[Leak]()
        with (
            files.replacing(out) as descriptor,
            os.fdopen(descriptor, "w+b", closefd=False) as handle,
            Writer(layout.race, handle) as writer,
        ):
            for name in names:
                content = evidence.read(name)
                if content is not None:
                    leaks += private.leaks(name, content)
                    writer.add(name, content)
            _require_clean(leaks, with_places)
            writer.finish()
            files.atomic_write(layout.exported, "")
    undone = tuple(f"{check.name}: {check.text}" for check in checks if check.state is State.NOT_DONE)
    return Exported(
        str(out), layout.race, files.sha256_file(out), out.stat().st_size, len(names), story.view.head, undone
    )


def require_exportable(view: RaceView) -> None:
    """Refuse while a bundle could still help somebody who races.

    Raises
    ------
    UserError : says who has not ended, or that the lockbox is not closed.
    """
    race = view.created.race
    racing = [name for name, racer in view.competitors.items() if racer.ended is None]
    if racing or not view.competitors:
        who = f"{', '.join(racing)} may still race" if racing else "nobody has raced"
        raise UserError(
            f"race {race} is not exported: {who}, and the bundle holds the secret and every answer",
            f"arena.py status --race {race} says what it waits for; the same start command goes on",
        )
    if view.created.kind != TASKS and not view.lockbox.is_closed:
        raise UserError(
            f"race {race} is not exported: its lockbox is not closed, so others may still join",
            f"open it first: arena.py lockbox --race {race}",
        )


def _refusal(layout: RaceLayout, problem: str) -> UserError:
    hint = f"arena.py verify {layout.race} says all of it; nothing was written"
    return UserError(f"race {layout.race} is not exported: {problem}", hint)


def _require_clean(leaks: list[Leak], with_places: bool) -> None:
    keys = [leak for leak in leaks if leak.is_key]
    held = keys or ([] if with_places else leaks)
    if not held:
        return
    named = "; ".join(f"{leak.where} holds {leak.what}" for leak in held[:SHOWN])
    more = f"; and {len(held) - SHOWN} more" if len(held) > SHOWN else ""
    hint = (
        "a key in a race's files has leaked to its agents: withdraw it; the race cannot be exported from here"
        if keys
        else "--with-places lets them out; the record is chained, so they cannot be taken out of it"
    )
    raise UserError(f"not exported: {named}{more}", hint)
