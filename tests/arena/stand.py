"""A race of fake CLIs that misbehave as real ones do: a real supervisor, and a referee that only counts."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from autoquant.arena.sessions.accounts import Accounts
from autoquant.arena.sessions.confinement import Confinement
from autoquant.arena.sessions.supervisor import Pace, Supervisor
from autoquant.arena.sessions.time_left import TimeLeft
from autoquant.clock import SystemClock
from autoquant.harness import Competitor
from autoquant.harness.machine import Machine
from autoquant.ledger import records as r
from autoquant.ledger.layout import RaceLayout
from autoquant.ledger.ledger import Ledger, read_records

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
UTC = "2026-11-30T00:00:00Z"
QUICK = Pace(poll=0.01, tick=0.02, farewell=0.3, waits=0.0, listen=0.02, sample=0.05)

SUBMIT = """\
import os, pathlib, time
def submit():
    name = str(time.monotonic_ns())
    pathlib.Path("requests", name + ".tmp").write_text("")
    os.rename(f"requests/{name}.tmp", f"requests/{name}")
    while not pathlib.Path("replies", name).exists():
        time.sleep(0.005)
"""


@dataclass
class FakeReferee:
    """Opens and closes an attempt for each file in requests/; says what it was asked."""

    layout: RaceLayout
    ledger: Ledger
    calls: list[str] = field(default_factory=list)
    fail: Exception | None = None

    def prepare(self, competitor: str) -> Path:
        folder = self.layout.worktree(competitor)
        for name in ("requests", "replies"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        self.calls.append(f"prepare {competitor}")
        return folder

    def recover(self) -> None:
        self.calls.append("recover")

    def audit(self, competitor: str, attempt: int | None, *, owned: bool = True) -> None:
        self.calls.append(f"audit {competitor}{'' if owned else ' unattended'}")

    def poll(self, competitor: str) -> bool:
        folder = self.layout.worktree(competitor)
        waiting = sorted(p for p in (folder / "requests").iterdir() if p.suffix != ".tmp")
        if not waiting:
            return False
        if self.fail is not None:
            raise self.fail
        racer = self.ledger.view.competitors[competitor]
        if racer.left:
            number = len(racer.attempts) + 1
            self.ledger.append(r.AttemptOpened(competitor, number, waiting[0].name, "0" * 64, "", 0), UTC)
            self.ledger.append(r.AttemptClosed(competitor, number, "discard", None, None, None, None), UTC)
        waiting[0].rename(folder / "replies" / waiting[0].name)
        return True


@dataclass
class Stand:
    """A race of fake CLIs."""

    layout: RaceLayout
    ledger: Ledger
    referee: FakeReferee
    competitors: list[Competitor] = field(default_factory=list)

    def join(self, name: str, program: str, *, budget: int = 2, **changes: object) -> None:
        """A `command` competitor whose program may call submit()."""
        path = self.layout.root / f"{name}.py"
        path.write_text(SUBMIT + program)
        facts: dict[str, object] = {"harness": "command", "model": "m", "effort": "", "colour": "#000000"} | changes
        argv = (sys.executable, str(path), "{prompt_file}", "{session}")
        self.competitors.append(Competitor(name=name, argv=argv, **facts))  # type: ignore[arg-type]
        self.ledger.append(r.CompetitorJoined(name, "command", "m", "", "#000000", budget), UTC)

    def join_cli(self, kind: str, model: str, program: str, *, budget: int = 3, **changes: object) -> None:
        """A competitor of an agent CLI's kind, whose CLI is `program`: it may call submit() and say(golden file)."""
        path = self.layout.root / "bin" / kind
        path.parent.mkdir(exist_ok=True)
        say = f"def say(name):\n    print(pathlib.Path({str(GOLDEN)!r}, name).read_text(), end='', flush=True)\n"
        version = "import sys\nif '--version' in sys.argv: print('0.0.0'); raise SystemExit\n"
        path.write_text(f"#!{sys.executable}\n{version}{SUBMIT}{say}{program}")
        path.chmod(0o755)
        facts: dict[str, object] = {"effort": "high", "colour": "#000000", "api_key_env": "KEY"} | changes
        self.competitors.append(Competitor(name="a", harness=kind, model=model, **facts))  # type: ignore[arg-type]
        self.ledger.append(r.CompetitorJoined("a", kind, model, "high", "#000000", budget), UTC)

    @property
    def machine(self) -> Machine:
        """Where the programs of `join_cli` are found."""
        path = f"{self.layout.root / 'bin'}{os.pathsep}{os.environ['PATH']}"
        return Machine({"PATH": path, "KEY": "none"}, self.layout.root / "user", is_root=False)

    def supervisor(self, pace: Pace = QUICK, **changes: object) -> Supervisor:
        settings: dict[str, object] = {
            "clock": SystemClock(),
            "surroundings": os.environ,
            "machine": Machine.here(),
            "available": {},
            "accounts": Accounts(None),
            "time_left": TimeLeft(SystemClock()),
            "confinement": Confinement(),
            "pace": pace,
        } | changes
        return Supervisor(self.layout, self.ledger, self.referee, self.competitors, **settings)  # type: ignore[arg-type]

    def bodies(self, kind: type) -> list[r.RecordBody]:
        return [record.body for record in read_records(self.ledger.path) if isinstance(record.body, kind)]

    def ends(self) -> list[tuple[str, int | None]]:
        return [(b.reason, b.exit_code) for b in self.bodies(r.SessionEnded) if isinstance(b, r.SessionEnded)]

    def outcomes(self) -> list[str]:
        return [b.outcome for b in self.bodies(r.SessionEnded) if isinstance(b, r.SessionEnded)]

    def ended(self) -> dict[str, str | None]:
        return {name: racer.ended for name, racer in self.ledger.view.competitors.items()}


def make_stand(root: Path) -> Stand:
    """A race with nobody in it."""
    layout = RaceLayout(root / "state", "test")
    layout.root.mkdir(parents=True)
    ledger = Ledger.open(layout.ledger)
    pin = r.DataPin("synthetic", "m", "t", "v")
    created = r.RaceCreated("test", "demo", "p", {}, "c", pin, 0.3, 40, "n", "s", "0" * 64, 2, None, "tamper-evident")
    ledger.append(created, UTC)
    return Stand(layout, ledger, FakeReferee(layout, ledger))


def until(condition: Callable[[], bool], seconds: float = 10.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.01)
