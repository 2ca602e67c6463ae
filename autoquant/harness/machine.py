"""The computer as an adapter may see it: programs, variables, the user's files. Passed in: a test makes its own."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from autoquant import process

ANSWER_SECONDS = 30.0
"""For `--version` and the like; Gemini needs 3 s on a calm machine."""


@dataclass(frozen=True)
class Answer:
    """What a short program said."""

    code: int
    stdout: str
    stderr: str


@dataclass(frozen=True)
class Machine:
    """Environment, home folder and programs of the user who runs the arena."""

    env: Mapping[str, str]
    home: Path
    is_root: bool
    _answers: dict[tuple[str, ...], Answer | None] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def here(cls) -> Machine:
        """The computer we run on."""
        return cls(dict(os.environ), Path.home(), os.geteuid() == 0)

    def find(self, program: str) -> str | None:
        """Absolute path of a program: on PATH, or as a path of its own. None when there is none."""
        if os.sep in program:
            path = Path(program).expanduser().absolute()
            return str(path) if path.is_file() and os.access(path, os.X_OK) else None
        found = shutil.which(program, path=self.env.get("PATH", os.defpath))
        return None if found is None else str(Path(found).absolute())

    def ask(
        self, argv: tuple[str, ...], env: Mapping[str, str] | None = None, scratch: Mapping[str, str] | None = None
    ) -> Answer | None:
        """Run a short program and keep its answer; None when it cannot be started or does not end in time.

        Parameters
        ----------
        env : set for it, on top of the user's.
        scratch : variables that name a path below an empty folder of its own, which is gone afterwards.
        """
        key = (*argv, "\0", *_told(env), "\0", *_told(scratch))
        if key not in self._answers:
            with tempfile.TemporaryDirectory(prefix="autoquant-") as folder:
                paths = {name: f"{folder}/{path}" for name, path in (scratch or {}).items()}
                told = {**self.env, **(env or {}), **paths}
                try:
                    done = process.run(argv, cwd=Path("/"), env=told, timeout_seconds=ANSWER_SECONDS)
                except (OSError, TimeoutError):
                    self._answers[key] = None
                else:
                    texts = (text.decode(errors="replace") for text in (done.stdout, done.stderr))
                    self._answers[key] = Answer(done.returncode, *texts)
        return self._answers[key]


def _told(variables: Mapping[str, str] | None) -> tuple[str, ...]:
    return tuple(f"{name}={value}" for name, value in sorted((variables or {}).items()))
