"""A competitor's private folders before a session: real, the temporary one empty, configuration and logins in place.

A program of an earlier session may have put anything there: links, files and folders in the way are replaced, never
followed.
"""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Iterable
from pathlib import Path

from autoquant import files
from autoquant.arena.sessions.place import home_of, temporary_of
from autoquant.errors import HarnessFault, InfrastructureFault
from autoquant.harness import SessionPlan
from autoquant.ledger.layout import RaceLayout

_LINKED = "links.json"
"""Beside the home: names of the logins that were linked into it, to be taken away again when they are not wanted."""


def furnish(layout: RaceLayout, competitor: str, plan: SessionPlan) -> None:
    """Make the competitor's folders ready for a session.

    A login that was replaced by a file stays replaced: the program has renewed it there.

    Raises
    ------
    HarnessFault : a folder of this competitor cannot be made ready; nobody else is concerned.
    """
    home, temporary = home_of(layout, competitor), temporary_of(layout, competitor)
    try:
        own_folder(home.parent)  # before anything in it is emptied
        own_folder(home)
        own_folder(temporary)
        _clear(temporary)
        _unlink_unwanted(home, plan.links)
        for name, content in plan.files.items():
            path = _inside(home, name)
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            files.atomic_write(path, content, mode=0o600)
        for name, target in plan.links.items():
            path = _inside(home, name)
            if path.is_symlink():
                path.unlink()
            if not path.exists():
                path.symlink_to(target)
    except OSError as error:
        raise HarnessFault(f"{home}: {error.strerror or error}", "check that the folder can be written") from error
    except InfrastructureFault as error:
        raise HarnessFault(error.message, error.hint) from error


def own_folder(path: Path) -> None:
    """`path` is a real folder of ours afterwards, whatever stood there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_symlink() or (path.exists() and not path.is_dir()):
        path.unlink()
    path.mkdir(exist_ok=True)
    path.chmod(0o700)


def _clear(folder: Path) -> None:
    """Remove what is in it. What cannot be removed takes room, no more."""
    for entry in folder.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry, ignore_errors=True)
        else:
            with contextlib.suppress(OSError):
                entry.unlink()


def _unlink_unwanted(home: Path, wanted: Iterable[str]) -> None:
    """Take away logins that a former plan linked and this one does not: the wrong account would pay."""
    note = home.parent / _LINKED
    try:
        before = json.loads(note.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        before = []
    for name in before if isinstance(before, list) else []:
        path = Path(str(name))
        if str(name) in wanted or path.is_absolute() or ".." in path.parts:
            continue
        link = _inside(home, str(name))
        if link.is_symlink():
            link.unlink()
    files.atomic_write(note, json.dumps(sorted(wanted)))


def _inside(home: Path, name: str) -> Path:
    """`home/name` with real folders on the way."""
    folder = home
    for part in Path(name).parts[:-1]:
        folder = folder / part
        own_folder(folder)
    return folder / Path(name).name
