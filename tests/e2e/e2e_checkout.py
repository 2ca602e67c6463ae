"""A copy of the project in which commands are run as a user would."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from autoquant import process


@dataclass(frozen=True)
class Checkout:
    """A copy of the project in which commands are run as a user would."""

    root: Path
    source: str = ""
    """Where its data are from, if it has any."""
    started: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        """Begin `python ARGUMENTS…` and do not wait."""
        self.started.append(process.spawn([sys.executable, *arguments], cwd=self.root, env=os.environ))
        return self.started[-1]

    def run(self, *arguments: str, code: int = 0, seconds: float = 600) -> str:
        """What went to stdout of `python ARGUMENTS…`, which must end with `code`."""
        done = process.run([sys.executable, *arguments], cwd=self.root, timeout_seconds=seconds)
        said = f"{' '.join(arguments)}\n{done.stdout.decode()}\n{done.stderr.decode()}"
        assert code == done.returncode, said
        return done.stdout.decode()

    def answer(self, *arguments: str) -> Any:
        """The JSON a command prints."""
        return json.loads(self.run(*arguments, "--json"))

    def refusal(self, *arguments: str, code: int = 2) -> str:
        """The error line of a command that must refuse."""
        done = process.run([sys.executable, *arguments], cwd=self.root, timeout_seconds=120)
        assert code == done.returncode, done.stderr.decode()
        assert "Traceback" not in done.stderr.decode()
        return done.stderr.decode()
