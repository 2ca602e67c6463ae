"""What a program needs of the machine's files to run: itself, the package it belongs to, its interpreter.

Found by looking, not by a list of programs: the script's first line, a Python environment's or an npm package's folder,
the folder behind a version manager's shims. A folder that holds more than programs (`~/.local`, a home) is never taken.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from autoquant.harness.machine import Machine

_MOST = 64
_FIRST_LINE = 512


def program_files(program: str, machine: Machine) -> tuple[Path, ...]:
    """Files and folders to show to a process so that it can start `program`, an absolute path.

    A path through links is named as it was asked for; what it leads to comes with it.
    """
    found: dict[Path, None] = {}
    seen: set[Path] = set()
    waiting = [Path(program)]
    while waiting and len(seen) < _MOST:
        path = waiting.pop()
        if path in seen:
            continue
        seen.add(path)
        found[path] = None
        for step in _steps(path):
            found |= dict.fromkeys(_folders(step))
        waiting += _interpreters(path, machine)
    return tuple(found)


def _steps(path: Path) -> Iterator[Path]:
    """The path and, link by link, what it leads to: an environment is known by where its own link stands."""
    for _ in range(_MOST):
        yield path
        if not path.is_symlink():
            break
        path = path.parent / path.readlink()
    yield path.resolve()


def _folders(path: Path) -> Iterator[Path]:
    """Folders of programs that `path` stands in and cannot do without."""
    modules = [folder for folder in path.parents if folder.name == "node_modules"]
    if modules:
        yield modules[-1]
    above = path.parent.parent
    is_python = path.parent.name == "bin" and ((above / "pyvenv.cfg").is_file() or _is_python(above))
    if is_python or path.parent.name == "shims":
        yield above


def _is_python(folder: Path) -> bool:
    """Whether an interpreter of its own is installed there, and not among other things.

    The root, without a name, is no such place, although its `/lib` holds the system's Python.
    """
    return folder.name not in ("", ".local", "usr", "local") and any(folder.glob("lib/python3.*/os.py"))


def _interpreters(path: Path, machine: Machine) -> list[Path]:
    """What the first line of a script names; for a Python environment also what it was made from."""
    named = [*_named(path, machine)]
    settings = path.parent.parent / "pyvenv.cfg"
    if path.name.startswith("python") and path.parent.name == "bin" and settings.is_file():
        named.append(str(path.resolve()))
    return [Path(name) for name in named]


def _named(path: Path, machine: Machine) -> Iterator[str]:
    try:
        with path.open("rb") as file:
            line = file.readline(_FIRST_LINE)
    except OSError:
        return
    if not line.startswith(b"#!"):
        return
    words = line[2:].decode(errors="replace").split()
    if not words:
        return
    yield words[0]
    if Path(words[0]).name == "env":
        for word in words[1:]:
            if not word.startswith("-") and "=" not in word:
                if found := machine.find(word):
                    yield found
                return
