from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from race_cases import SEED_FOLDS, RaceCase, shifted


def dashboard(repository: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(repository / "dashboard.py"), *(str(argument) for argument in arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_the_command_writes_the_page_and_names_it(repository: Path, tmp_path: Path):
    case = RaceCase(tmp_path / "state")
    case.join("a")
    case.attempt("a", "keep", shifted(SEED_FOLDS, 0.5))
    out = tmp_path / "deep" / "page.html"
    where = ("--state-dir", tmp_path / "state", "--data-dir", tmp_path / "data", "--out", out)
    plain = dashboard(repository, *where)
    assert (0, f"{out}\n", "") == (plain.returncode, plain.stdout, plain.stderr)
    assert out.read_text().startswith("<!doctype html>")
    facts = json.loads(dashboard(repository, *where, "--json").stdout)
    assert ("autumn", str(out), "a") == (facts["race"], facts["page"], facts["standings"][0]["competitor"])


def test_an_unknown_race_is_one_line_and_exit_2(repository: Path, tmp_path: Path):
    done = dashboard(repository, "--race", "x", "--state-dir", tmp_path, "--out", tmp_path / "p.html")
    assert (2, "") == (done.returncode, done.stdout)
    assert "error: no race 'x' below the state folder" in done.stderr
    assert not (tmp_path / "p.html").exists()


@pytest.mark.parametrize("command", [("dashboard.py",), ("arena.py", "report")], ids=" ".join)
def test_watching_writes_a_page_that_follows_and_goes_on_until_it_is_told_to_stop(
    repository: Path, tmp_path: Path, command: tuple[str, ...]
):
    case = RaceCase(tmp_path / "state")
    case.join("a")
    case.attempt("a", "keep", shifted(SEED_FOLDS, 0.5))
    out = tmp_path / "page.html"
    options = ("--watch", "--out", out, "--state-dir", tmp_path / "state", "--data-dir", tmp_path / "data")
    words = [sys.executable, str(repository / command[0]), *command[1:], *map(str, options)]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as watching:
        try:
            while not out.exists() and watching.poll() is None:
                time.sleep(0.05)
            assert watching.poll() is None
            watching.send_signal(signal.SIGINT)
            _, said = watching.communicate(timeout=30)
        finally:
            watching.kill()
    assert 130 == watching.returncode
    assert f"drawing {out} every 60 s" in said
    assert '<noscript><meta http-equiv="refresh" content="60"></noscript>' in out.read_text()
