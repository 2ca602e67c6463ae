"""A checkout of its own for each end-to-end story, driven through the real commands."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from e2e_checkout import Checkout

from autoquant import process
from autoquant.arena import protected

LEFT_OUT = shutil.ignore_patterns(
    ".git", ".venv*", "data", "state", "demo", "__pycache__", ".*_cache", "results.tsv", "score.json", ".hypothesis"
)


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
def ready_checkout(
    repository: Path, served_mirror: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Checkout]:
    """A checkout with the mirror's data, calibrated: for tests that bring a state folder of their own."""
    root = tmp_path_factory.mktemp("ready") / "checkout"
    shutil.copytree(repository, root, ignore=LEFT_OUT)
    protected.main(["--write", "--home", str(root)])
    checkout = Checkout(root, source=served_mirror)
    checkout.run("setup_data.py", "--base-url", served_mirror)
    checkout.run("evaluate.py", "--calibrate", "--samples", "40")
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
