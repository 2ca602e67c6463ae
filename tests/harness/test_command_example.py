"""The worked example for a CLI without a shell tool, driven through the `command` adapter with a fake aider."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from autoquant import process
from autoquant.harness.base import Competitor, SessionRequest
from autoquant.harness.command import CommandHarness
from autoquant.harness.machine import Machine

AIDER = """\
import json, os, pathlib, sys
home = pathlib.Path(os.environ["HOME"])
calls = home / "calls.jsonl"
number = len(calls.read_text().splitlines()) if calls.exists() else 0
with calls.open("a") as log:
    log.write(json.dumps({"argv": sys.argv[1:], "sees": pathlib.Path("strategy.py").read_text()}) + chr(10))
answer = json.loads((home / "answers.json").read_text())[number]
if isinstance(answer, int):
    sys.exit(answer)
pathlib.Path("strategy.py").write_text(answer)
"""
RUN = """\
import pathlib, sys
table = pathlib.Path("results.tsv")
rows = table.read_text().splitlines() if table.exists() else ["attempt"]
if len(rows) > 2:
    print("the budget is used")
    sys.exit(2)
text = pathlib.Path("strategy.py").read_text()
if text == "broken":
    sys.exit(4)
if not text.startswith("again"):
    table.write_text(chr(10).join([*rows, sys.argv[2]]) + chr(10))
    pathlib.Path("strategy.py").write_text("seed")
    print(f"attempt {len(rows)}: discard")
"""


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    for name in ("work tree", "home", "bin"):
        (tmp_path / name).mkdir()
    (tmp_path / "bin" / "python").symlink_to(sys.executable)
    aider = tmp_path / "bin" / "aider"
    aider.write_text(f"#!{sys.executable}\n{AIDER}")
    aider.chmod(0o755)
    (tmp_path / "work tree" / "run.py").write_text(RUN)
    (tmp_path / "work tree" / "strategy.py").write_text("seed")
    (tmp_path / "home" / "prompt.md").write_text("You are a quant.")
    return tmp_path / "work tree"


def play(repository: Path, workspace: Path, answers: list[str | int]) -> tuple[int, str, list[dict[str, object]]]:
    home = workspace.parent / "home"
    (home / "answers.json").write_text(json.dumps(answers))
    racer = Competitor(
        "aider", "command", "openai/some-model", "high", "#000000",
        argv=(
            sys.executable, str(repository / "docs" / "examples" / "aider_session.py"), "--model={model}",
            "--effort={effort}", "--prompt-file={prompt_file}", "--openai-api-base={base_url}",
        ),
        base_url="http://127.0.0.1:9/v1",
    )  # fmt: skip
    request = SessionRequest(workspace, home / "prompt.md", "You are a quant.", home, number=1, attempts_used=0)
    plan = CommandHarness().session(racer, request, Machine.here())
    done = process.run(
        plan.argv, cwd=plan.cwd, env={"PATH": str(workspace.parent / "bin"), "HOME": str(home)}, timeout_seconds=60
    )
    calls = [json.loads(line) for line in (home / "calls.jsonl").read_text().splitlines()]
    return done.returncode, done.stdout.decode() + done.stderr.decode(), calls


def test_it_goes_on_until_the_budget_is_used_and_tells_the_last_verdict(repository: Path, workspace: Path):
    code, shown, calls = play(repository, workspace, ['"""Momentum."""\nx = 1\n', "def broken(:", "x = 3"])
    assert 0 == code, shown
    assert ["attempt", "Momentum.", "aider"] == (workspace / "results.tsv").read_text().splitlines()
    assert 3 == len(calls)
    first, second, third = (call["argv"] for call in calls)
    assert ["strategy.py"] * 3 == [argv[-1] for argv in (first, second, third)]  # type: ignore[index]
    assert first[-2].startswith("--message=You are a quant.")  # type: ignore[index]
    assert second[-2].startswith("--message=attempt 1: discard")  # type: ignore[index]
    assert third[-2].startswith("--message=attempt 2: discard")  # type: ignore[index]
    wanted = {"--model=openai/some-model", "--reasoning-effort=high", "--openai-api-base=http://127.0.0.1:9/v1"}
    assert wanted <= set(first)  # type: ignore[arg-type]
    assert {"results.tsv", "run.py", "strategy.py"} == {path.name for path in workspace.iterdir()}


def test_it_ends_when_the_model_changes_nothing_and_submits_nothing(repository: Path, workspace: Path):
    code, shown, calls = play(repository, workspace, ["x = 1", "seed", "seed", "seed"])
    assert (1, 4) == (code, len(calls))
    assert "no new experiment came of it" in shown
    assert 1 == shown.count("attempt")


def test_it_ends_when_nothing_it_submits_counts(repository: Path, workspace: Path):
    code, _, calls = play(repository, workspace, ["again 1", "again 2", "again 3", "x = 1"])
    assert (1, 3) == (code, len(calls))


@pytest.mark.parametrize(("answer", "code"), [(7, 7), ("broken", 4)])
def test_it_hands_on_the_code_of_what_failed(repository: Path, workspace: Path, answer: str | int, code: int):
    assert code == play(repository, workspace, [answer])[0]
