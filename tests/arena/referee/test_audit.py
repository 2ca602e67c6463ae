"""What an audit restores, records and lets be."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from referee_world import World, submit, text

from autoquant import files
from autoquant.arena.referee.audit import RECORDED_BY_NAME
from autoquant.arena.referee.referee import Referee
from autoquant.ledger.ledger import Ledger
from autoquant.ledger.records import SessionEnded, SessionStarted


def test_the_record_of_a_change_names_a_kept_diff_from_what_has_to_stand_there(world: World, referee: Referee):
    run = world.worktree / "run.py"
    before = run.read_bytes()
    run.unlink()
    run.write_bytes(before + b"print('attempt 1: keep 9.9')\n")
    (world.worktree / "autoquant" / "mine.py").write_bytes(b"x = 1\n")
    by_path = {violation.path: violation for violation in referee.audit("alice", None)}
    changed, added = by_path["run.py"], by_path["autoquant/mine.py"]
    kept = {name: world.layout.evidence(one.diff).read_text() for name, one in by_path.items()}
    assert {name: one.diff for name, one in by_path.items()} == {
        n: files.sha256_bytes(k.encode()) for n, k in kept.items()
    }
    assert ["+print('attempt 1: keep 9.9')"] == [line for line in kept["run.py"].splitlines()[2:] if line[0] in "+-"]
    assert "+x = 1" in kept["autoquant/mine.py"]
    assert (files.sha256_bytes(before), "") == (changed.before, added.before)
    assert changed.after == files.sha256_file(world.layout.evidence(changed.after))


@pytest.mark.parametrize("content", [b"\0binary", b"\xff", b"x\n" * 100_000, None])
def test_a_change_to_something_that_cannot_be_compared_is_recorded_without_a_diff(
    world: World, referee: Referee, content: bytes | None
):
    (world.worktree / "run.py").unlink()
    if content is not None:
        (world.worktree / "run.py").write_bytes(content)
    (violation,) = referee.audit("alice", None)
    assert ("run.py", "") == (violation.path, violation.diff)


def test_a_clean_worktree_raises_no_alarm(world: World, referee: Referee):
    submit(referee, world.worktree, text(0.9))
    assert () == referee.audit("alice", None)


def test_what_interpreters_editors_and_agents_leave_raises_no_alarm(world: World, referee: Referee):
    for name in (
        "autoquant/__pycache__/cli.cpython-311.pyc", "autoquant/.cli.py.swp", "autoquant/cli.py~", "scratch/deep/a.py",
        ".codex/state.json", "AGENTS.md", "notes.txt", "__pycache__/run.cpython-311.pyc", ".autoquant/pending.json",
        "autoquant/._cli.py", "autoquant/.goutputstream-AB12CD", "autoquant/.fuse_hidden0001", "autoquant/Thumbs.db",
    ):  # fmt: skip
        (world.worktree / name).parent.mkdir(parents=True, exist_ok=True)
        (world.worktree / name).write_text("x")
    assert () == referee.audit("alice", None)
    assert (world.worktree / "autoquant/.cli.py.swp").exists()


PATHS = (
    "run.py", "program.md", "protected.sha256", "autoquant/errors.py", ".autoquant/race.json", ".gitignore",
    "data/synthetic/train.npy", "data/current", "results.tsv", "score.json",
)  # fmt: skip
HOWS = ("removed", "linked", "folder")


@pytest.mark.parametrize(("path", "how"), [*((path, "changed") for path in PATHS), *((".git", how) for how in HOWS)])
def test_a_change_is_restored_and_recorded_once(world: World, referee: Referee, path: str, how: str):
    if path in ("results.tsv", "score.json"):
        submit(referee, world.worktree, text(0.9))
    target = world.worktree / path
    before = target.read_bytes()
    target.unlink()
    if how == "changed":
        target.write_bytes(b"mine")
    elif how == "linked":
        target.symlink_to(world.home / "strategy.py")
    elif how == "folder":
        target.mkdir()
    (violation,) = referee.audit("alice", None)
    assert (path, how == "changed") == (violation.path, violation.after != "")
    assert before == target.read_bytes()
    assert 0o444 == target.stat().st_mode & 0o777
    assert () == referee.audit("alice", None)
    assert 1 == len(world.racer().violations)
    target.unlink()
    target.write_bytes(b"mine")
    assert 1 == len(referee.audit("alice", None))


def test_a_file_added_to_the_package_is_removed(world: World, referee: Referee):
    (world.worktree / "autoquant" / "numpy.py").write_text("raise SystemExit")
    (world.worktree / "autoquant" / "arena" / "link.py").symlink_to("/etc/hostname")
    assert ["autoquant/arena/link.py", "autoquant/numpy.py"] == [v.path for v in referee.audit("alice", None)]
    assert not (world.worktree / "autoquant" / "numpy.py").exists()


def test_the_whole_package_swapped_for_a_link_comes_back(world: World, referee: Referee):
    shutil.move(world.worktree / "autoquant", world.worktree / "scratch" / "mine")
    (world.worktree / "autoquant").symlink_to(world.worktree / "scratch" / "mine")
    referee.audit("alice", None)
    assert not (world.worktree / "autoquant").is_symlink()
    assert (world.home / "autoquant/errors.py").read_bytes() == (world.worktree / "autoquant/errors.py").read_bytes()
    assert () == referee.audit("alice", None)


def test_the_changed_content_is_kept_as_evidence(world: World, referee: Referee):
    (world.worktree / "run.py").unlink()
    (world.worktree / "run.py").write_bytes(b"evil")
    (violation,) = referee.audit("alice", None)
    assert b"evil" == (world.layout.root / "evidence" / violation.after).read_bytes()


def test_tampering_while_no_arena_ran_is_an_incident_charged_to_nobody(world: World, referee: Referee):
    tamper(world)
    with world.referee() as again:
        again.prepare("alice")
        assert () == again.audit("alice", None)
    assert () == world.racer().violations
    (incident,) = Ledger.open(world.layout.ledger).view.incidents
    assert "worktree of alice: run.py changed while no session of it ran" in incident.message


def test_tampering_in_a_session_that_was_lost_with_the_arena_is_charged(world: World, referee: Referee):
    ledger = Ledger.open(world.layout.ledger)
    ledger.append(SessionStarted("alice", 1), "2026-11-30T00:00:00Z")
    ledger.append(SessionEnded("alice", 1, "lost", None, 0.0), "2026-11-30T00:00:00Z")
    tamper(world)
    with world.referee() as again:
        again.prepare("alice")
    assert ["run.py"] == [v.path for v in world.racer().violations]


def tamper(world: World) -> None:
    os.chmod(world.worktree / "run.py", 0o644)
    (world.worktree / "run.py").write_bytes(b"evil")


def test_a_flood_of_added_files_is_removed_and_takes_few_lines_of_the_record(world: World, referee: Referee):
    """Three thousand lines, each with its own fsync, would hold up every rival."""
    for number in range(300):
        (world.worktree / "autoquant" / f"junk{number:04d}.py").write_text("1")
    found = referee.audit("alice", 1)
    assert RECORDED_BY_NAME == len(found) == len(world.racer().violations)
    assert "autoquant/junk0019.py and 280 more" == found[-1].path
    assert () == referee.audit("alice", None)


@pytest.mark.parametrize(("level", "charged"), [("sealed", 1), ("tamper-evident", 0)])
def test_a_change_that_a_rival_beside_it_may_have_made_is_charged_where_a_seal_rules_that_out(
    tmp_path: Path, home: Path, data: Path, level: str, charged: int
):
    """X31."""
    world = World(tmp_path, home, data, competitors=("alice", "bob"), isolation=level).create()
    ledger = Ledger.open(world.layout.ledger)
    with world.referee(ledger) as referee:
        referee.prepare("alice")
        ledger.append(SessionStarted("bob", 1), "2026-11-30T00:00:00Z")
        referee.audit("alice", None)
        for running in (True, False):
            (world.worktree / "run.py").unlink()
            (world.worktree / "run.py").write_bytes(b"mine")
            assert charged == len(referee.audit("alice", None))
            if running:
                ledger.append(SessionEnded("bob", 1, "exited", 0, 1.0), "2026-11-30T00:00:01Z")
        (world.worktree / "run.py").unlink()
        assert 1 == len(referee.audit("alice", None)), "nobody else ran"
    assert (2 - 2 * charged) == len(ledger.view.incidents)


def test_a_worktree_whose_making_was_cut_short_is_no_violation(world: World, referee: Referee):
    (world.layout.root / "prepared" / "alice").unlink()
    (world.worktree / "run.py").unlink()
    with world.referee() as again:
        again.prepare("alice")
    assert () == world.racer().violations
    assert (world.worktree / "run.py").is_file()
