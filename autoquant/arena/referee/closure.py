"""Which modules of the package a command needs: its imports, followed through the package, late ones too."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

STARTED_BY_PATH = ("sandbox",)
"""Rooms whose modules are also started as programs, which no import shows: needed whole, if at all."""


def needed_files(home: Path, commands: Iterable[str], package: str = "autoquant") -> list[str]:
    """Paths (relative to `home`, sorted) of the package files that `commands` import, directly or not.

    Imports inside functions count; names in a string do not. A package's `__init__` comes with each module in it, and
    so do files that are not Python of every folder a needed module stands in.
    """
    pending = list(commands)
    needed: set[str] = set()
    seen: set[str] = set()
    while pending:
        name = pending.pop()
        if name in seen:
            continue
        seen.add(name)
        for module in _imports((home / name).read_bytes(), name, package):
            for path in _module_files(home, module):
                if path not in needed:
                    needed.add(path)
                    pending.append(path)
    folders = {Path(path).parent for path in needed}
    for folder in folders:
        whole = folder.name in STARTED_BY_PATH
        for file in (home / folder).iterdir():
            wanted = file.suffix != ".pyc" if whole else file.suffix not in (".py", ".pyc")
            if file.is_file() and wanted and not file.name.startswith("."):
                needed.add(file.relative_to(home).as_posix())
    return sorted(needed)


@lru_cache(maxsize=512)
def _imports(source: bytes, name: str, package: str) -> set[str]:
    here = Path(name).with_suffix("").parts
    folder = here[:-1]
    modules: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = list(folder[: len(folder) - node.level + 1]) if node.level else []
            origin = ".".join([*base, *([node.module] if node.module else [])])
            modules |= {origin} | {f"{origin}.{alias.name}" for alias in node.names}
    return {module for module in modules if module.split(".")[0] == package}


def _module_files(home: Path, module: str) -> list[str]:
    """Files that importing `module` runs: each package's __init__ on the way, then the module if it is one."""
    parts = module.split(".")
    found = []
    for depth in range(1, len(parts) + 1):
        base = "/".join(parts[:depth])
        if (home / base / "__init__.py").is_file():
            found.append(f"{base}/__init__.py")
        elif (home / f"{base}.py").is_file():
            found.append(f"{base}.py")
    return found
