"""What two machines must have in common, so that equal work gives equal numbers to the last digit."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from autoquant import codec, files
from autoquant.protocol import PROTOCOL

LIBRARIES = ("numpy", "pandas", "scipy", "distributed")
PACKAGE = Path(__file__).resolve().parent.parent


@cache
def identity() -> dict[str, str]:
    """Code, protocol, interpreter, libraries and vector instructions (sums take other paths on other ones)."""
    import numpy as np

    found = np.show_config(mode="dicts") or {}
    simd = found.get("SIMD Extensions", {}) if isinstance(found, dict) else {}
    return {
        "code": code_digest(),
        "protocol": PROTOCOL.digest,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "vector instructions": " ".join(simd.get("found", ())),
        **{name: _version(name) for name in LIBRARIES},
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


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""
