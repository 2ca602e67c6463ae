"""Any command line as a competitor: an agent CLI without an adapter, or a script of one's own.

    [[competitor]]
    name = "my-agent"
    harness = "command"
    argv = ["my-agent", "--yes", "--model", "{model}", "--prompt-file", "{prompt_file}"]

The program runs in the worktree. Its standard input is at its end; the kick-off text is the file {prompt_file}.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from autoquant.errors import HarnessFault
from autoquant.harness.base import Availability, Competitor, SessionPlan, SessionRequest

PLACEHOLDERS = ("workspace", "prompt_file", "model", "effort", "session")
_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")


def unknown_placeholders(argv: tuple[str, ...]) -> list[str]:
    """Names in braces that mean nothing here.

    >>> unknown_placeholders(("x", "{model}", "{modell}"))
    ['modell']
    """
    return [name for part in argv for name in _PLACEHOLDER.findall(part) if name not in PLACEHOLDERS]


def fill(argv: tuple[str, ...], values: Mapping[str, str]) -> tuple[str, ...]:
    """Replace placeholders part by part; a value is never split or read again for placeholders.

    >>> fill(("run", "--in={workspace}"), {"workspace": "/a b/{model}"})
    ('run', '--in=/a b/{model}')
    """
    return tuple(_PLACEHOLDER.sub(lambda match: values.get(match[1], match[0]), part) for part in argv)


@dataclass(frozen=True)
class CommandHarness:
    """Runs a competitor's own argv."""

    def check(self, competitor: Competitor) -> Availability:
        """Its program must be found: on PATH, or as a path."""
        program = competitor.argv[0]
        if _locate(program) is None:
            return Availability(
                ok=False,
                problem=f"{program} not found",
                hint="install it, correct argv in competitors.toml, or leave it out: --competitors …",
            )
        missing = [name for name in competitor.pass_env if name not in os.environ]
        if missing:
            return Availability(
                ok=False,
                problem=f"environment variable {missing[0]} is not set",
                hint=f"set {missing[0]}, or remove it from pass_env in competitors.toml",
            )
        return Availability(ok=True)

    def session(self, competitor: Competitor, request: SessionRequest) -> SessionPlan:
        """Its argv with every placeholder filled, in the worktree.

        Raises
        ------
        HarnessFault : the program is gone since it was checked.
        """
        program = _locate(competitor.argv[0])
        if program is None:
            raise HarnessFault(f"{competitor.name}: {competitor.argv[0]} not found", "install it and start again")
        values = {
            "workspace": str(request.workspace),
            "prompt_file": str(request.prompt_file),
            "model": competitor.model,
            "effort": competitor.effort,
            "session": str(request.number),
        }
        rest = fill(competitor.argv[1:], values)
        return SessionPlan(argv=(program, *rest), cwd=request.workspace)


def _locate(program: str) -> str | None:
    """Absolute path of a program: the session has another PATH and another working folder than the arena."""
    if os.sep in program:
        path = Path(program).expanduser().absolute()
        return str(path) if path.is_file() and os.access(path, os.X_OK) else None
    return shutil.which(program)
