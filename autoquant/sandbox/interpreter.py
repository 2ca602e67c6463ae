"""Where this interpreter and its packages stand: what a strategy's process may read of the machine, and no more."""

from __future__ import annotations

import os
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

_SYSTEM = (
    "/lib",
    "/lib64",
    "/usr/lib",
    "/usr/lib64",
    "/usr/local/lib",
    "/etc/ld.so.cache",
    "/usr/share/zoneinfo",
)
SERVER = Path(__file__).with_name("server.py")
"""The program of a warm parent; it loads modules of its own folder and no others of ours."""


@dataclass(frozen=True)
class Interpreter:
    """The interpreter of this process."""

    program: str
    """Not the link of a virtual environment: what that leads to."""
    packages: tuple[str, ...]
    """Folders of installed packages."""
    libraries: tuple[str, ...]
    """Folders and files that are there and that Python, its packages and their libraries are read from, packages
    included."""

    @property
    def sealed(self) -> tuple[Path, ...]:
        """What a sealed warm parent is shown."""
        paths = (self.program, *self.libraries, str(SERVER.parent))
        return tuple(Path(path) for path in dict.fromkeys(paths))


def this_interpreter() -> Interpreter:
    """Read off `sys` and `sysconfig`: installed, pyenv, uv, conda, with or without a virtual environment."""
    base = {"base": sys.base_prefix, "platbase": sys.base_exec_prefix}
    here, below = sysconfig.get_paths(), sysconfig.get_paths(vars=base)
    packages = tuple(dict.fromkeys((here["purelib"], here["platlib"])))
    shared = str(sysconfig.get_config_var("INSTSONAME") or "")
    paths = [
        *packages,
        below["stdlib"],
        below["platstdlib"],
        str(sysconfig.get_config_var("LIBDIR") or ""),
        os.path.join(sys.base_exec_prefix, "lib", shared) if shared else "",
        *_SYSTEM,
    ]
    found = dict.fromkeys(path for path in paths if path and os.path.exists(path))
    program = os.path.realpath(getattr(sys, "_base_executable", "") or sys.executable)
    return Interpreter(program, packages, tuple(found))
