"""One attempt, with the arena killed at every write it makes, and resumed."""

from __future__ import annotations

import datetime as dt
import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from killing import every_death  # noqa: E402
from referee_world import PaperJudge, World, answer, ask, submit, text  # noqa: E402

from autoquant.arena.referee.mailbox import ReplyKind, Request, RequestKind  # noqa: E402
from autoquant.arena.referee.referee import RaceFacts, Referee  # noqa: E402
from autoquant.ledger.ledger import Ledger  # noqa: E402

REQUEST = "0123456789abcdef" * 2
SHARED = "AUTOQUANT_DEATH_TEST"


@dataclass(frozen=True)
class StoppedClock:
    """Always the same instant, so that a resumed run makes the commits of an undisturbed one."""

    def now(self) -> dt.datetime:
        return dt.datetime(2026, 11, 30, 12, tzinfo=dt.UTC)

    def monotonic(self) -> float:
        return 0.0

    def sleep(self, seconds: float) -> None:
        pass


def world_in(folder: Path) -> World:
    """The race in `folder`; checkout and data are shared by all runs and never written."""
    shared = Path(os.environ[SHARED])
    return World(folder, shared / "home", shared / "data" / "synthetic")


def arena(folder: Path) -> Referee:
    world = world_in(folder)
    facts = RaceFacts(noise_floor=0.3, data_directory=world.data, heartbeat_seconds=3600.0)
    ledger = Ledger.open(world.layout.ledger)
    return Referee(world.layout, ledger, PaperJudge(), facts, StoppedClock(), world.home)


def job(folder: Path, acknowledge: Callable[[str], None]) -> None:
    """Resume the arena, send the one request if it is not answered, and serve it."""
    os.fsync = _no_sync
    world = world_in(folder)
    with arena(folder) as referee:
        referee.recover()
        referee.prepare("alice")
        if not (world.worktree / ".autoquant" / "replies" / f"{REQUEST}.json").exists():
            ask(world.worktree, text(0.9), "the one", request=REQUEST)
            while referee.poll("alice"):
                pass
    acknowledge(json.dumps(state(world)))


def _no_sync(descriptor: int) -> None:
    """What is tested is the order of writes: a killed process loses nothing that a sync would have saved."""


def state(world: World) -> dict[str, object]:
    """All that must be the same whatever happened on the way."""
    racer = world.racer()
    return {
        "attempts": [(a.attempt, a.status, a.score, a.commit, a.request, a.parent) for a in racer.attempts],
        "violations": len(racer.violations),
        "faults": len(racer.faults),
        "strategy": (world.worktree / "strategy.py").read_text(),
        "results": (world.worktree / "results.tsv").read_text(),
        "score": (world.worktree / "score.json").read_text(),
        "ref": (world.layout.arena_repository / "refs/heads/arena/autumn/alice").read_text(),
        "own ref": (world.layout.repository("alice") / "refs/heads/alice").read_text(),
    }


@pytest.mark.slow
def test_an_attempt_survives_the_arena_being_killed_at_every_write(
    tmp_path: Path, home: Path, data: Path, monkeypatch: pytest.MonkeyPatch
):
    """INV-11."""
    shared = tmp_path / "shared"
    shared.mkdir()
    (shared / "home").symlink_to(home)
    (shared / "data").symlink_to(data.parent)
    monkeypatch.setenv(SHARED, str(shared))
    monkeypatch.setattr(os, "fsync", _no_sync)
    world = world_in(tmp_path / "start").create()
    with arena(world.root) as referee:
        referee.prepare("alice")
        submit(referee, world.worktree, text(0.2))
        submit(referee, world.worktree, text(0.5))
    told: list[str] = []
    seen: list[tuple[str, str]] = []
    for death in every_death(__file__, "job", tmp_path / "runs", start=world.root, moments=("half",)):
        job(death.folder, told.append)
        seen.append((f"{death.moment} {death.call} {death.point}", told.pop()))
        kind = answer(world_in(death.folder).worktree, Request(REQUEST, RequestKind.SUBMIT)).kind
        assert kind in (ReplyKind.VERDICT, ReplyKind.RECORD)
    reference = seen[-1][1]
    assert 3 == len(json.loads(reference)["attempts"])
    assert [] == [where for where, what in seen if what != reference]
    assert len(seen) > 30
