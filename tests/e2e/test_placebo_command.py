"""`arena.py placebo` through the real command: worker processes, cache, both kinds of answer, Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from e2e_checkout import Checkout

from autoquant import process


@pytest.mark.slow
def test_placebo_races_end_in_a_table_resume_and_answer_at_once(checkout: Checkout) -> None:
    checkout.run("setup_data.py", "--synthetic", "--force")
    assert "evaluate.py --calibrate" in checkout.refusal("arena.py", "placebo")
    checkout.run("evaluate.py", "--calibrate", "--samples", "10")
    few = ("arena.py", "placebo", "--runs", "2", "--max-experiments", "2", "--jobs", "2")

    begun = process.spawn(
        [sys.executable, *few], cwd=checkout.root, env=os.environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    checkout.started.append(begun)
    stored = checkout.root / "state" / "placebo"
    while not list(stored.rglob("*-*.json")):
        assert begun.poll() is None
        time.sleep(0.05)
    os.killpg(begun.pid, signal.SIGINT)
    out, err = begun.communicate(timeout=60)
    assert (130, b"", ["interrupted"]) == (begun.returncode, out, err.decode().splitlines())

    kept = {path: path.stat().st_mtime_ns for path in stored.rglob("*-*.json")}
    text = checkout.run(*few)
    assert "synthetic data: this is not a market result" in text
    assert all(path.stat().st_mtime_ns == written for path, written in kept.items())
    files = {path: path.stat().st_mtime_ns for path in stored.rglob("*-*.json")}
    assert 2 * 2 * 3 == len(files)
    answer = json.loads(checkout.run(*few, "--json"))
    assert {path: path.stat().st_mtime_ns for path in stored.rglob("*-*.json")} == files
    assert ("synthetic", 2, None, []) == (answer["source"], answer["runs"], answer["race"], answer["competitors"])
    assert {("flip", 2), ("permute", 2), ("real", 2)} == {
        (null["reference"], len(null["champion"])) for null in answer["nulls"]
    }
