"""The main job on real prices, from a local mirror of the archive: set-up to report, with a kill in the middle."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections import Counter
from pathlib import Path

import psutil
import pytest
from e2e_checkout import Checkout

from autoquant.verify.bundle import Bundle
from autoquant.verify.data import sealed_panel
from autoquant.verify.record_checks import check_chain
from autoquant.verify.sealed_checks import fetched_record
from autoquant.verify.work import panel_of

BUDGET = 2


def wait_for_attempts(checkout: Checkout, race: str, count: int) -> None:
    """Until `count` attempts are opened; read in the ledger, for a command a moment would slow the race."""
    ledger = checkout.root / "state" / "races" / race / "ledger.jsonl"
    for _ in range(3_000):
        if ledger.exists() and ledger.read_text().count('"kind":"attempt_opened"') >= count:
            return
        time.sleep(0.1)
    raise AssertionError("the race made no progress")


def living_in(root: Path) -> list[int]:
    """Processes that were started from this folder, or work in it."""
    found = []
    for one in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if str(root) in " ".join(one.cmdline()) or Path(one.cwd()).is_relative_to(root):
                found.append(one.pid)
    return found


@pytest.mark.shared
@pytest.mark.slow
def test_the_main_job_runs_on_the_mirror(checkout: Checkout, served_mirror: str, tmp_path: Path) -> None:
    """INV-11, INV-15: killed in the middle, every attempt is there once, and the lockbox opens once."""
    summary = checkout.answer("setup_data.py", "--base-url", served_mirror)
    assert 20 == summary["contracts"]
    checkout.run("setup_data.py", "--verify")
    floor = checkout.answer("evaluate.py", "--calibrate")
    assert 0.1 <= floor["seed_score"] <= 0.6
    assert 0.25 <= floor["value"] <= 0.4
    assert "No race can start" not in checkout.run("arena.py", "doctor")

    names = "random,hillclimb-1"
    start = ["arena.py", "start", "--competitors", names, "--max-experiments", str(BUDGET), "--race", "mirror"]
    assert "allow-source" in checkout.refusal(*start)
    allowed = [*start, "--allow-source", served_mirror]
    arena = checkout.start(*allowed)
    assert arena.pid in living_in(checkout.root)
    wait_for_attempts(checkout, "mirror", 2)
    opened = checkout.answer("arena.py", "status", "--race", "mirror")
    assert 2 <= sum(racer["attempts"] for racer in opened["competitors"])
    assert f"held by arena process {arena.pid}" in checkout.refusal(*allowed)
    os.kill(arena.pid, signal.SIGKILL)
    arena.wait()
    checkout.run(*allowed)

    status = checkout.answer("arena.py", "status")
    assert {"random": BUDGET, "hillclimb-1": BUDGET} == {r["name"]: r["attempts"] for r in status["competitors"]}
    ledger = (checkout.root / "state" / "races" / "mirror" / "ledger.jsonl").read_text().splitlines()
    kinds = Counter(line.split('"kind":"', 1)[1].split('"', 1)[0] for line in ledger if '"kind":"attempt' in line)
    assert 2 * BUDGET == kinds["attempt_opened"] == kinds["attempt_closed"]

    assert "lockbox open" == checkout.answer("arena.py", "lockbox", "--yes")["state"]
    assert "opens once" in checkout.refusal("arena.py", "lockbox", "--yes")
    later = ["--race", "mirror", "--competitors", "hillclimb-2", "--max-experiments", "1"]
    extension = [*later, "--allow-source", served_mirror]
    assert "lockbox open" == checkout.answer("arena.py", "start", *extension)["state"]
    assert "hillclimb-2" in checkout.refusal("arena.py", "start", *extension)
    page = tmp_path / "page.html"
    checkout.run("arena.py", "report", "--out", str(page))
    text = page.read_text()
    assert "hillclimb-2" in text
    assert "buy and hold" in text
    assert "verified" in text
    assert "doctor’s checks are not on record" not in text
    assert served_mirror in text  # the source is on the page, in words
    checkout.run("arena.py", "export", "--race", "mirror", "--with-places", str(tmp_path / "race.zip"))
    with Bundle.open(tmp_path / "race.zip") as bundle:  # a verifier with data and mirror fetches the sealed year
        _, _, story = check_chain(bundle)
        assert story is not None
        assert story.view.lockbox.fetched is not None
        record = fetched_record(story.view.lockbox.fetched.data)
        assert record is not None
        found = sealed_panel(bundle, story.view, record, checkout.root / "data", tmp_path / "sealed")
    assert found.panel is not None, found.missing
    assert record.panel.digest == panel_of(found.panel).digest
    assert [] == living_in(checkout.root)
