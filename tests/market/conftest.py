"""Archives to download from: a small one that tests may break, and the shared mirror of real prices, made once."""

from __future__ import annotations

import fcntl
import hashlib
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from small_archive import QUICK, SMALL, Site, SmallArchive

from autoquant.market.fetch import Fetcher
from autoquant.market.setup import Summary, set_up


@pytest.fixture
def archive(tmp_path: Path) -> SmallArchive:
    return SmallArchive(tmp_path / "site")


@pytest.fixture
def site(archive: SmallArchive) -> Iterator[Site]:
    served = Site(archive.root)
    yield served
    served.close()


@pytest.fixture
def go(site: Site, tmp_path: Path) -> Callable[..., Summary]:
    """Set the small archive up into tmp_path/data."""

    def run(**options: object) -> Summary:
        fetcher = Fetcher(site.url, patience=QUICK, jitter=random.Random(0))
        return set_up(tmp_path / "data", base_url=site.url, jobs=2, fetcher=fetcher, protocol=SMALL, **options)

    return run


@pytest.fixture(scope="session")
def mirror(shared: Path) -> Path:
    """The shared mirror (2,630 zips), built once per machine and version of its maker."""
    maker = shared / "tools" / "make_mirror.py"
    key = hashlib.sha256(maker.read_bytes()).hexdigest()[:12]
    base = Path(tempfile.gettempdir()) / f"autoquant-tests-{os.getuid()}"
    base.mkdir(exist_ok=True)
    target = base / f"mirror-{key}"
    with (base / "mirror.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.is_dir():
            building = base / f"building-{os.getpid()}"
            made = subprocess.run(
                [sys.executable, str(maker), "--out", str(building)], capture_output=True, text=True, check=False
            )
            assert made.returncode == 0, made.stderr
            shutil.rmtree(target, ignore_errors=True)
            building.rename(target)
    return target


Serve = Callable[..., str]


@pytest.fixture
def serve(shared: Path) -> Iterator[Serve]:
    """`serve(root, "500:REGEX:2", …)` starts the shared misbehaving server on a free port and gives its URL."""
    running: list[subprocess.Popen[str]] = []

    def start(root: Path, *faults: str) -> str:
        argv = [sys.executable, "-u", str(shared / "tools" / "serve_mirror.py"), "--root", str(root), "--port", "0"]
        for fault in faults:
            argv += ["--fault", fault]
        server = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        running.append(server)
        assert server.stdout is not None
        return server.stdout.readline().strip()

    yield start
    for server in running:
        server.kill()
        server.wait()
        if server.stdout is not None:
            server.stdout.close()
