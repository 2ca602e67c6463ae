"""Scripted models in this process whose faults follow a racer's sessions, and what a racer does between them."""

from __future__ import annotations

import threading
import types
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import ThreadingHTTPServer
from pathlib import Path

EVER = 1_000_000


@dataclass(frozen=True)
class Fault:
    """What the model server does to some requests of one session, counted from 1."""

    name: str
    """As fake_models.py calls it: an HTTP status, `cut`, `empty`, `hang`."""
    first: int
    last: int = EVER


@dataclass
class Script:
    """What fake_models.py takes for its options; `fault` is made anew for each request."""

    module: types.ModuleType
    racer: str
    ledger: Path
    sessions: tuple[tuple[Fault, ...], ...]
    steps: list[str]
    budget: int
    log: Path
    model: str
    hang: float = 120.0
    cwd: str = "."
    final: str = "Done: scripted run finished."
    textmode: str = ""
    delay: float = 0.0
    usage: int = 1000
    full: bool = False
    begun: tuple[int, int] = (0, 0)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def cmds(self) -> list[str]:
        text = self.ledger.read_text().splitlines()
        closed = sum('"kind":"attempt_closed"' in line and f'"competitor":"{self.racer}"' in line for line in text)
        return self.steps if closed < self.budget else []

    @property
    def fault(self) -> list[str]:
        with self.lock:
            lines = self.ledger.read_text().splitlines()
            mine = [line for line in lines if f'"competitor":"{self.racer}"' in line]
            number = sum('"kind":"session_started"' in line for line in mine)
            if number != self.begun[0]:
                self.begun = (number, self.module.COUNT["n"] - 1)
        faults = self.sessions[number - 1] if 0 < number <= len(self.sessions) else ()
        return [f"{f.name}@{self.begun[1] + f.first}-{self.begun[1] + f.last}" for f in faults]


@contextmanager
def scripted(shared: Path, script_of, count: int) -> Iterator[list[str]]:
    """..."""
    source = shared / "tools" / "fake_models.py"
    code = compile(source.read_text(), str(source), "exec")
    servers, urls = [], []
    for n in range(count):
        module = types.ModuleType("fake_models")
        exec(code, module.__dict__)
        server = ThreadingHTTPServer(("127.0.0.1", 0), module.H)
        server.daemon_threads = True
        server.a = script_of(n, module)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        urls.append(f"http://127.0.0.1:{server.server_address[1]}")
    try:
        yield urls
    finally:
        for server in servers:
            server.shutdown()
            server.server_close()
