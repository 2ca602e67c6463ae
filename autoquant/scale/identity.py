"""What two machines must have in common, so that equal work gives equal numbers to the last digit."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from autoquant import codec, files
from autoquant.environment import DECISIVE, environment_here, version_of
from autoquant.protocol import PROTOCOL

PACKAGE = Path(__file__).resolve().parent.parent


@cache
def identity() -> dict[str, str]:
    """Code, protocol, and the environment as far as it decides a last digit."""
    here = environment_here()
    return {
        "code": code_digest(),
        "protocol": PROTOCOL.digest,
        "distributed": version_of("distributed"),
        **{name: here[name] for name in DECISIVE},
    }


def code_digest(package: Path = PACKAGE) -> str:
    """sha256 over every file of the package but bytecode."""
    names = sorted(
        str(path.relative_to(package))
        for path in package.rglob("*")
        if path.is_file() and path.suffix != ".pyc" and not any(part.startswith(".") for part in path.parts)
    )
    return files.sha256_bytes(codec.dumps(files.tree_digest(package, names)).encode())


def differing(here: Mapping[str, str], there: Mapping[str, str]) -> str:
    """What differs, in one line; empty when nothing does.

    >>> differing({"numpy": "2.3.4", "code": "ab"}, {"numpy": "2.3.5", "code": "ab"})
    'numpy 2.3.5, here 2.3.4'
    """
    return "; ".join(
        f"{name} {_short(there.get(name, ''))}, here {_short(here.get(name, ''))}"
        for name in sorted({*here, *there})
        if here.get(name) != there.get(name)
    )


def _short(text: str) -> str:
    return text[:12] if len(text) == 64 else text or "none"
