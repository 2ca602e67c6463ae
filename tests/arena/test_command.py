from __future__ import annotations

import ast
import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from race_world import RaceWorld, change_manifest, make_world

from autoquant.arena import command


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, repository: Path) -> RaceWorld:
    made = make_world(tmp_path_factory.mktemp("world"))
    (made.home / "competitors.toml").write_bytes((repository / "competitors.toml").read_bytes())
    change_manifest(made, source="synthetic", synthetic_seed=1)
    return made


WORDS = (
    "doctor", "start", "stop", "status", "logs", "placebo", "lockbox", "report", "demo", "tasks", "export", "verify",
)  # fmt: skip


def arena(world: RaceWorld, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command where git is the only program to be found, nobody is logged in and no key is set."""
    places = ["--data-dir", str(world.data_root), "--state-dir", str(world.state)]
    argv = [sys.executable, "arena.py", arguments[0], *places, *arguments[1:]]
    programs = world.root / "programs"
    programs.mkdir(exist_ok=True)
    for name in ("git", "true"):
        if not (programs / name).exists():
            (programs / name).symlink_to(shutil.which(name) or name)
    env = {"PATH": str(programs), "HOME": str(world.root / "nobody"), "LANG": "C.UTF-8"}
    return subprocess.run(argv, cwd=world.home, capture_output=True, text=True, timeout=60, env=env)


def test_help_is_there_before_one_looks_up(repository: Path):
    seconds = []
    for _ in range(3):
        begun = time.monotonic()
        shown = subprocess.run([sys.executable, "arena.py", "--help"], cwd=repository, capture_output=True, text=True)
        seconds.append(time.monotonic() - begun)
        assert 0 == shown.returncode
    for word in WORDS:
        assert word in shown.stdout
    assert min(seconds) < 0.5


def test_every_subcommand_explains_itself(capsys: pytest.CaptureFixture[str]):
    for word in WORDS:
        with pytest.raises(SystemExit) as ended:
            command.main([word, "--help"])
        assert 0 == ended.value.code
        assert "--debug" in capsys.readouterr().out


def test_every_subcommand_is_one_short_function():
    tree = ast.parse(Path(command.__file__).read_text())
    lengths = {f.name: (f.end_lineno or 0) - f.lineno for f in tree.body if isinstance(f, ast.FunctionDef)}
    assert 12 == sum(name.startswith("_add_") for name in lengths)
    assert [] == [name for name, length in lengths.items() if length > 40]


def test_nothing_heavy_is_imported_for_help():
    heavy = ("numpy", "pandas", "git", "rich")
    code = f"import sys; import autoquant.arena.command; print([m for m in {heavy} if m in sys.modules])"
    assert "[]\n" == subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_doctor_answers_zero_with_a_warning_on_synthetic_data(world: RaceWorld):
    shown = arena(world, "doctor", "--skip-harnesses")
    assert 0 == shown.returncode
    assert "synthetic data" in shown.stdout
    answer = json.loads(arena(world, "doctor", "--json").stdout)
    assert answer["can_start"]
    assert 5 == answer["problems"]
    kinds = {check["name"]: check["health"] for check in answer["checks"]}
    assert ("problem", "ok") == (kinds["codex-sol-high"], kinds["hillclimb-2"])
    assert {"version", "login", "note", "hint"} <= answer["checks"][-1].keys()


def test_doctor_answers_two_when_no_race_can_start(world: RaceWorld, tmp_path: Path):
    argv = [sys.executable, "arena.py", "doctor", "--skip-harnesses", "--data-dir", str(tmp_path)]
    shown = subprocess.run(argv, cwd=world.home, capture_output=True, text=True)
    assert 2 == shown.returncode
    assert "No race can start." in shown.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("start", "--competitors", "codex-sol-high"), "cannot run codex-sol-high: "),
        (("start", "--competitors", "codex-sol-high,codex-luna-high,random"), "cannot run codex-sol-high, codex-luna-"),
        (("start", "--competitors", "nobody"), "/checkout/competitors.toml\nhint: known: grok-4.5-high, "),
        (("start", "--competitors", "hilclimb"), "hint: did you mean 'hillclimb'? known: "),
        (("start", "--competitors", "random", "--replicates", "0"), "not a whole number of at least 1"),
        (("start", "--competitors", "random", "--replicates", "two"), "--replicates: 'two' is not a whole number"),
        (("start", "--competitors", "random", "--replicates", "21"), "--replicates 21: at most 20"),
        (("start", "--competitors", "hillclimb-2", "--replicates", "3"), "is one replicate of 'hillclimb'"),
        (("doctor", "--competitors", "nobody"), "hint: known: grok-4.5-high, "),
        (("start", "--competitors", "random"), "these data are synthetic"),
        (("start", "--competitors", "random", "--allow-source", "synthetic"), "these data are synthetic"),
        (("start", "--competitors", "random", "--max-experiments", "0"), "not a whole number of at least 1"),
        (("start", "--competitors", "random", "--max-hours", "0"), "--max-hours: '0' is not a number above 0"),
        (("start", "--competitors", "random", "--max-hours", "inf"), "--max-hours: 'inf' is not a number above 0"),
        (("start", "--competitors", "random", "--max-hours", "soon"), "--max-hours: 'soon' is not a number above 0"),
        (("start", "--competitors", "random", "--parallel-per-account", "0"), "not a whole number of at least 1"),
        (("status",), "there is no race in"),
        (("stop",), "no race is running"),
        (("logs", "random"), "there is no race in"),
        (("logs",), "the following arguments are required: NAME"),
        (("logs", "random", "--session", "0"), "not a whole number of at least 1"),
        (("placebo", "--runs", "0"), "not a whole number of at least 1"),
        (("placebo", "--race", "winter"), "there is no race 'winter'"),
        (("lockbox", "--yes"), "there is no race in"),
        (("report", "--out", "page.html", "--race", "winter"), "there is no race 'winter'"),
        (("start",), "--competitors"),
        (("status", "--nonsense"), "unrecognized arguments: --nonsense\nhint: arena.py status --help"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_exit_two(world: RaceWorld, arguments: tuple[str, ...], words: str):
    shown = arena(world, *arguments)
    assert (2, "") == (shown.returncode, shown.stdout)
    assert words in shown.stderr
    assert ["error", "hint"][: len(shown.stderr.splitlines())] == [
        line.partition(":")[0] for line in shown.stderr.splitlines()
    ]
