"""A scheduler and workers as separate processes with separate folders, on loopback."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from autoquant import process

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]
SECONDS = 60.0
NO_PAGE = ("--dashboard-address", "127.0.0.1:0")


class Cluster:
    """A scheduler and its workers; worker k lives in `folder/worker-k`."""

    def __init__(
        self,
        folder: Path,
        *,
        tls: Sequence[str] = (),
        environment: dict[str, str] | None = None,
        host: str = "127.0.0.1",
    ) -> None:
        self.folder = folder
        self._tls = list(tls)
        self._environment = {**os.environ, "PYTHONPATH": f"{HERE}{os.pathsep}{REPOSITORY}"}
        self._environment |= environment or {}
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.address = f"{'tls' if tls else 'tcp'}://127.0.0.1:{port}"
        self.workers: list[subprocess.Popen[bytes]] = []
        options = [
            "--host",
            f"{self.address.split(':')[0]}://{host}",
            "--port",
            str(port),
            "--dashboard-address",
            "127.0.0.1:0",
            "--no-show",
        ]
        self._scheduler = self._start("scheduler", "scheduler", *options)

    def worker(self, *, threads: int = 1, environment: dict[str, str] | None = None) -> subprocess.Popen[bytes]:
        """Start one more worker; without a nanny, so that a death is one."""
        name = f"worker-{len(self.workers)}"
        (self.folder / name).mkdir(parents=True)
        options = [
            "--no-nanny",
            "--no-dashboard",
            "--dashboard-address",
            "127.0.0.1:0",
            "--nthreads",
            str(threads),
            "--host",
            "127.0.0.1",
        ]
        if self._tls:
            options[-1] = "tls://127.0.0.1"
        options += ["--local-directory", str(self.folder / name), "--death-timeout", "60"]
        started = self._start(name, "worker", self.address, *options, environment=environment)
        self.workers.append(started)
        return started

    def log(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text()

    def close(self) -> None:
        for program in (*self.workers, self._scheduler):
            with contextlib.suppress(ProcessLookupError):
                program.send_signal(signal.SIGCONT)
            process.end_tree(program.pid, grace_seconds=0.1)
            program.wait()

    def _start(
        self, name: str, command: str, *options: str, environment: dict[str, str] | None = None
    ) -> subprocess.Popen[bytes]:
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / f"{name}.log").open("wb") as log:
            return process.spawn(
                [sys.executable, "-m", "distributed.cli.dask_" + command, *options, *self._tls],
                cwd=self.folder,
                env=self._environment | (environment or {}),
                stdout=log,
                stderr=log,
            )


@contextlib.contextmanager
def cluster(folder: Path, workers: int = 2, **options: object) -> Iterator[Cluster]:
    made = Cluster(folder, **options)  # type: ignore[arg-type]
    try:
        for _ in range(workers):
            made.worker()
        yield made
    finally:
        made.close()


def wait_until(condition: object, what: str) -> None:
    """Wait for `condition()`, at most a minute."""
    assert callable(condition)
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)
