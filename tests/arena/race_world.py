"""A checkout, a tiny market and a roster of scripts on disk, for race tests. The judge reads scores off texts."""

from __future__ import annotations

import dataclasses
import functools
import sys
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from referee_world import PaperJudge, make_home

from autoquant import codec, files
from autoquant.arena import launch
from autoquant.arena.isolation import Walls, walls_here
from autoquant.arena.launch import Finish, StartOptions, start
from autoquant.arena.sessions.supervisor import Pace
from autoquant.arena.show.status import read_view
from autoquant.arena.show.voice import Voice
from autoquant.harness.machine import Machine
from autoquant.ledger.layout import RaceLayout
from autoquant.ledger.views import RaceView
from autoquant.market import save_panel, synthetic_panel
from autoquant.market.manifest import Contract, Manifest, load_manifest, panel_pin, save_manifest, set_current
from autoquant.oracle.calibrate import NoiseFloor
from autoquant.oracle.records import Digests
from autoquant.protocol import PROTOCOL

SOURCE = "http://127.0.0.1:8777"
QUICK = Pace(poll=0.01, tick=0.05, farewell=2.0, waits=0.0)

RACER = """\
import pathlib, subprocess, sys, time
mine, start = sys.argv[1], sys.argv[2:]
def submit(sharpe, *more):
    text = "".join(f"{line}\\n" for line in (f"SHARPE = {sharpe}", f"MINE = {mine}", *more))
    pathlib.Path("strategy.py").write_text(text)
    return subprocess.run(["python", "run.py", "-m", f"try {sharpe}", "--json"], capture_output=True, text=True)
"""


def make_market(root: Path, source: str = SOURCE) -> Path:
    """A data directory of a few days and two contracts, calibrated for the seed of the checkout copies."""
    folder = root / ("synthetic" if source == "synthetic" else "127.0.0.1-8777")
    panel = synthetic_panel(1, assets=2, days=20, start="2022-12-01")
    for split in ("train", "valid"):
        save_panel(panel, folder, split)
    pin = panel_pin(panel)
    manifest = Manifest(
        schema_version=1,
        source=source,
        base_url=source,
        created="2026-11-30T00:00:00Z",
        bar_hours=4,
        files=(),
        contracts=tuple(
            Contract(name, int(tier), "2022-12-01T00:00:00Z", None, len(panel), 0, None, 0, 0)
            for name, tier in zip(panel.assets, panel.tier, strict=True)
        ),
        gaps=(),
        repairs=(),
        funding_gaps=(),
        splits={"train": pin, "valid": pin},
        lockbox=(),
        synthetic_seed=1 if source == "synthetic" else None,
    )
    save_manifest(folder, manifest)
    set_current(root, folder)
    return folder


@dataclass
class RaceWorld:
    """Everything `start` needs, in one folder."""

    root: Path
    home: Path
    judge: PaperJudge = field(default_factory=PaperJudge)
    racers: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)

    @property
    def data_root(self) -> Path:
        return self.root / "data"

    @property
    def data(self) -> Path:
        return self.data_root / "127.0.0.1-8777"

    @property
    def state(self) -> Path:
        return self.root / "state"

    @property
    def roster(self) -> Path:
        return self.root / "competitors.toml"

    def calibrate(self, **changes: Any) -> None:
        """Store a noise floor for these data."""
        seed = files.sha256_bytes((self.home / "strategy.py").read_bytes())
        data = load_manifest(self.data).splits["valid"].digest
        digests = Digests(**({"protocol": PROTOCOL.digest, "code": "c", "data": data, "strategy": seed} | changes))
        floor = NoiseFloor(0.3, 1000, 1, 0.95, 0.1, 0.98, digests)
        files.atomic_write(self.data / "calibration.json", codec.dumps(floor))

    def racer(self, name: str, program: str, **more: str) -> None:
        """A `command` competitor: a script that may call submit(sharpe, …). An empty text leaves a key out."""
        script = self.root / f"{name}.py"
        script.write_text(RACER + program)
        facts = {
            "name": f'"{name}"',
            "harness": '"command"',
            "model": '"paper"',
            "colour": '"#112233"',
            "argv": f'["{sys.executable}", "{script}", "{name}", "{{session}}"]',
        } | more
        lines = [f"{key} = {value}\n" for key, value in facts.items() if value]
        self.racers.append("[[competitor]]\n" + "".join(lines))
        self.roster.write_text("\n".join(self.racers))

    def options(self, wanted: str = "all", **changes: Any) -> StartOptions:
        facts: Mapping[str, Any] = {"budget": 2, "allow_source": SOURCE} | changes
        return StartOptions(self.home, self.data_root, self.state, self.roster, wanted, **facts)

    def start(self, wanted: str = "all", **changes: Any) -> Finish:
        return start(self.options(wanted, **changes), Voice(self.said.append), pace=QUICK)

    def layout(self, race: str) -> RaceLayout:
        return RaceLayout(self.state, race)

    def view(self, race: str) -> RaceView:
        view = read_view(self.layout(race))
        assert view is not None
        return view


def make_world(root: Path) -> RaceWorld:
    """A calibrated world with nobody in its roster."""
    home = root / "checkout"
    home.mkdir()
    world = RaceWorld(root, make_home(home))
    make_market(world.data_root)
    world.calibrate()
    return world


def use_paper_judge(monkeypatch: pytest.MonkeyPatch, world: RaceWorld) -> None:
    """Let `start` judge on paper."""

    @contextmanager
    def paper(*_: object) -> Any:
        yield world.judge

    monkeypatch.setattr(launch, "judge_of", paper)
    monkeypatch.setattr(launch, "walls_here", lambda machine, secret: walls_once())


@functools.cache
def walls_once() -> Walls:
    """What this machine gives, asked once: it starts processes."""
    return walls_here(Machine.here(), ())


def change_manifest(world: RaceWorld, **changes: Any) -> None:
    """Rewrite the data's manifest."""
    save_manifest(world.data, dataclasses.replace(load_manifest(world.data), **changes))
