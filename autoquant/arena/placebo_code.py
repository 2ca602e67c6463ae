"""Which code a placebo race depends on."""

from __future__ import annotations

from pathlib import Path

from autoquant import codec, files

ROOMS = ("market/nullify.py", "oracle", "ratchet", "harness/family.py", "harness/searchers.py", "arena/placebo.py")
"""Below `autoquant/`; beside it the members' template."""


def code_digest(package: Path) -> str:
    """sha256 over the code that a placebo race depends on."""
    names = []
    for room in ROOMS:
        path = package / room
        found = path.rglob("*.py") if path.is_dir() else [path]
        names += [str(file.relative_to(package)) for file in found]
    names += [str(file.relative_to(package)) for file in (package / "harness").glob("family*.tmpl")]
    return files.sha256_bytes(codec.dumps(files.tree_digest(package, names)).encode())
