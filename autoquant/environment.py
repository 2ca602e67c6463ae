"""What a number depends on beside code and data: the interpreter, the libraries, and the machine's vector instructions.

Sums and logarithms take other paths on other instruction sets, and move the last digit; so these are named too.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version

from autoquant import __version__

LIBRARIES = ("numpy", "pandas", "scipy")
DECISIVE = (*LIBRARIES, "python", "machine", "simd", "kernel")
"""Where two environments agree in these, equal work gives equal numbers to the last digit."""
KERNEL = "numpy"
"""What accounts are worked out by wherever an agent's result is decided; also in records that do not say so. The
compiled loop of the extra `fast` judges nobody (docs/adr/0022)."""


def environment_here() -> dict[str, str]:
    """Versions and machine, in words: nothing of the user, the host or its folders."""
    import numpy as np

    found = np.show_config(mode="dicts") or {}
    simd = found.get("SIMD Extensions", {}) if isinstance(found, dict) else {}
    return {
        "autoquant": __version__,
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "system": platform.system(),
        "machine": platform.machine(),
        "simd": " ".join(simd.get("found", ())),
        "kernel": KERNEL,
        **{name: version_of(name) for name in LIBRARIES},
    }


def differing(one: Mapping[str, str], other: Mapping[str, str]) -> tuple[str, ...]:
    """Where two environments differ in what decides a last digit: `numpy 2.3.4, here 2.4.0`."""
    one, other = {"kernel": KERNEL, **one}, {"kernel": KERNEL, **other}
    return tuple(
        f"{name} {one.get(name) or 'unknown'}, here {other.get(name) or 'unknown'}"
        for name in DECISIVE
        if one.get(name) != other.get(name)
    )


def version_of(name: str) -> str:
    """Of an installed package; empty when it is not there."""
    try:
        return version(name)
    except PackageNotFoundError:
        return ""
