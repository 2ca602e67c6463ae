"""A checkout of its own for each end-to-end story, driven through the real commands."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from autoquant import process
from autoquant.arena import protected

LEFT_OUT = shutil.ignore_patterns(
    ".git", ".venv*", "data", "state", "demo", "__pycache__", ".*_cache", "results.tsv", "score.json", ".hypothesis"
)


@dataclass(frozen=True)
class Checkout:
    """A copy of the project in which commands are run as a user would."""

    root: Path
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


@pytest.fixture
def checkout(tmp_path: Path, repository: Path) -> Iterator[Checkout]:
    root = tmp_path / "check out é"
    shutil.copytree(repository, root, ignore=LEFT_OUT)
    protected.main(["--write", "--home", str(root)])
    checkout = Checkout(root)
    yield checkout
    for begun in checkout.started:
        process.end_tree(begun.pid)
        begun.wait()


@pytest.fixture(scope="session")
def served_mirror(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a mirror of the archive made from the shared real prices."""
    root = tmp_path_factory.mktemp("mirror")
    tools = shared / "tools"
    process.run([sys.executable, str(tools / "make_mirror.py"), "--out", str(root)], cwd=root, timeout_seconds=300)
    server = process.spawn(
        [sys.executable, str(tools / "serve_mirror.py"), "--root", str(root), "--port", "0"],
        cwd=root, env=os.environ, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert server.stdout is not None
    yield server.stdout.readline().decode().strip()
    process.end_tree(server.pid)
    server.communicate()
