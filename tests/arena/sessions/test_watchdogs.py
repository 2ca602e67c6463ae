"""Watchdogs: pure rules, and the samples they live on."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from autoquant.arena.sessions.activity import Activity, volume
from autoquant.arena.sessions.watchdogs import Limits, Signs, overdue
from autoquant.arena.sessions.watching import same_model

LIMITS = Limits(first_output=10, silent=30, quiet=90, session=360, output_bytes=1_000, disk_bytes=2_000)


@pytest.mark.parametrize(
    ("signs", "now", "reason"),
    [
        (Signs(0.0), 9.0, None),
        (Signs(0.0), 11.0, "no first output"),
        (Signs(0.0, last_activity=5.0), 11.0, None),
        (Signs(0.0, last_output=1.0), 30.0, None),
        (Signs(0.0, last_output=1.0), 32.0, "silent"),
        (Signs(0.0, last_output=1.0, last_activity=31.0), 40.0, None),
        (Signs(0.0, last_output=91.0, last_activity=91.0), 91.0, "no progress"),
        (Signs(0.0, last_output=91.0, last_progress=80.0), 91.0, None),
        (Signs(0.0, last_output=361.0, last_progress=360.0), 361.0, "time limit"),
        (Signs(0.0, last_output=1.0, output_bytes=1_000), 2.0, "output limit"),
        (Signs(0.0, last_output=1.0, disk_bytes=2_000), 2.0, "disk limit"),
        (Signs(0.0, last_output=1.0, finished=1.0), 5.0, None),
        (Signs(0.0, last_output=1.0, finished=1.0), 6.5, "did not exit"),
    ],
)
def test_each_watchdog_barks_at_its_own_limit(signs: Signs, now: float, reason: str | None):
    assert reason == overdue(signs, LIMITS, now, farewell=5.0)


def test_what_the_referee_writes_and_what_links_lead_to_is_not_the_agents(tmp_path: Path):
    worktree, elsewhere = tmp_path / "wt", tmp_path / "elsewhere"
    for path in (worktree / "data", worktree / ".autoquant", worktree / "scratch" / "data", elsewhere):
        path.mkdir(parents=True)
    for path in (worktree / "data" / "x", worktree / ".autoquant" / "x", worktree / "results.tsv", elsewhere / "x"):
        path.write_bytes(b"x" * 50_000)
    (worktree / "link").symlink_to(elsewhere)
    assert 0 == volume([worktree], worktree).bytes
    (worktree / "scratch" / "data" / "x").write_bytes(b"x" * 50_000)
    assert 50_000 <= volume([worktree], worktree).bytes < 100_000


def test_processor_time_and_changed_files_are_activity_and_nothing_else_is(tmp_path: Path):
    used = [1.0]
    file = tmp_path / "note"
    file.write_text("a")
    os.utime(file, (1, 1))
    activity = Activity(1, [tmp_path], tmp_path, every_seconds=5.0, disk_every_seconds=5.0, busy=lambda pid: used[0])
    assert not activity.sample(0.0)
    assert not activity.sample(5.0)
    used[0] += 0.05
    assert not activity.sample(10.0)
    used[0] += 1.0
    assert not activity.sample(12.0)
    assert activity.sample(15.0)
    os.utime(file, (2, 2))
    assert activity.sample(20.0)
    assert not activity.sample(25.0)
    used[0] = 0.0
    assert activity.sample(30.0)


@pytest.mark.parametrize(
    ("asked", "seen", "same"),
    [
        ("gpt-5.6-sol", "gpt-5.6-sol", True),
        ("gpt-5.6-sol", "gpt-5.6-sol-2026-10-01", True),
        ("gpt-5.6-sol", "gpt-5.6-luna", False),
        ("gpt-5", "gpt-5-mini", False),
        ("gemini-3.6-flash", "models/gemini-3.6-flash-001", True),
        ("gemini-3.6-flash", "gemini-3.6-flash-lite", False),
        ("claude-sonnet-5", "claude-sonnet-5-20260901", True),
        ("claude-sonnet-4", "claude-sonnet-4-5-20250929", False),
        ("opus", "claude-opus-4-7", True),
        ("opus", "claude-sonnet-5", False),
        ("openai/gpt-5.6-sol", "gpt-5.6-sol", True),
    ],
)
def test_a_silent_change_of_model_is_told_from_a_dated_name(asked: str, seen: str, same: bool):
    assert same is same_model(asked, seen)
