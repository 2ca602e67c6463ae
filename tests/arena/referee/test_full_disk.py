"""INV-11, INV-12: a disk that is really full, a small one of its own, at whatever write it runs out."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from small_disk import GAIN

BWRAP = shutil.which("bwrap")
PROGRAM = Path(__file__).with_name("small_disk.py")


@pytest.mark.skipif(BWRAP is None, reason="needs bubblewrap for a disk of its own")
def test_attempts_on_a_full_disk_are_refused_in_one_line_and_counted_once_when_there_is_room(tmp_path: Path) -> None:
    disk, elsewhere = tmp_path / "disk", tmp_path / "elsewhere"
    disk.mkdir()
    elsewhere.mkdir()
    seal = [str(BWRAP), "--dev-bind", "/", "/", "--size", str(24 << 20), "--tmpfs", str(disk)]
    environment = dict(os.environ) | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        [*seal, "--", sys.executable, str(PROGRAM), str(disk), str(elsewhere)],
        capture_output=True, text=True, env=environment, timeout=300,
    )  # fmt: skip
    assert 0 == done.returncode, done.stderr[-2_000:]
    told = json.loads(done.stdout)
    refused = [line for line, *_ in told if line]
    assert {"evaluations", "scores", "arena.git", "repositories"} <= {
        part for line in refused for part in line.split("/")
    }
    assert all("No space left on device" in line or "couldn't write" in line for line in refused), "git has two words"
    assert not any("\n" in line for line in refused)
    for number, (_, scores, answered, _) in enumerate(told):
        assert [(step + 1) * GAIN for step in range(number + 1)] == scores
        assert answered
    assert all(commit for commit in told[-1][3])
