"""What stands in a task's folder: everything an agent needs, and nothing that gives the answer away."""

from __future__ import annotations

import re
import runpy
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from graded_cases import Secrets, market
from task_cases import pair, single
from taskrace_world import TaskWorld

from autoquant.arena.taskrace.folder import loader, program, stub
from autoquant.sandbox import WarmParent
from autoquant.tasks.grader import grade
from autoquant.tasks.solution import run
from autoquant.tasks.spec import ORDER, task

SUMMARY = (
    "f'{[(len(f), list(f.columns), [str(t) for t in f.dtypes], f.index.name, str(f.index.dtype), "
    "int(pd.util.hash_pandas_object(f).sum() % 2**53)) for f in frames]}'"
)
"""Of frames, so that two of the same summary are the same."""


@pytest.fixture(params=ORDER)
def made(request: pytest.FixtureRequest, tasks: TaskWorld) -> tuple[str, Path]:
    with tasks.referee() as referee:
        return request.param, referee.prepare(f"alice-{request.param}")


def test_frames_are_exactly_what_the_solution_gets(made: tuple[str, Path], parent: WarmParent) -> None:
    name, folder = made
    found = runpy.run_path(str(folder / "load.py"))["frames"]()
    frames = list(found) if isinstance(found, tuple) else [found]
    make, given = (single, "frames = [df]") if name == "easy" else (pair, "frames = [nifty_df, banknifty_df]")
    ran = run(parent, make(given, f"raise ValueError({SUMMARY})"), task(name).shown(market()[0]), task(name))
    assert ran.fault is not None
    mine = str(eval(SUMMARY, {"pd": pd, "frames": frames}))
    assert mine in ran.fault.message


def test_there_is_no_hidden_bar_no_reference_and_no_grader_in_the_folder(made: tuple[str, Path], kept: Secrets) -> None:
    """INV-31: every file, the package's copy and the history included."""
    _, folder = made
    shown, hidden = market()
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert {"program.md", "load.py", "run.py", "solution.py"} < {path.name for path in files}
    for path in files:
        content = path.read_bytes()
        words = content.decode(errors="replace")
        assert [] == [word for word in kept.words if word in words], path
        assert hidden.times[:4].tobytes() not in content
        assert all(row[-40:].tobytes() not in content for row in hidden.prices)
    assert {"bars.npy", "times.npy"} == {path.name for path in (folder / "data").iterdir()}
    assert np.array_equal(shown.prices, np.load(folder / "data" / "bars.npy"))
    assert np.array_equal(shown.times, np.load(folder / "data" / "times.npy"))
    told = "\n".join((folder / name).read_text() for name in ("program.md", "load.py", "solution.py"))
    assert [] == kept.found_in(told)
    tracked = subprocess.run(
        ["git", "ls-tree", "-r", "--name-only", "HEAD"], cwd=folder, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert "run.py" in tracked
    for path in (*tracked, *(str(one.relative_to(folder)) for one in files)):
        assert not re.match(r"autoquant/(tasks|market/ind|arena/taskrace)|data/.*hidden|evaluate", path), path


def test_the_text_says_the_task_its_ladder_and_how_to_work() -> None:
    for name in ORDER:
        text = program(task(name), 7).decode()
        assert task(name).signature in text
        assert task(name).brief.strip() in text
        assert all(f"- {rung.score:.2f} {rung.words}" in text for rung in task(name).rung)
        assert "You have 7 steps, the final one included." in text
        assert "{" not in re.sub(r"`.*?`", "", text)
        assert ("years you do not see" in text) == (name == "hard") == ("bars you do not see" in text)


def test_the_solution_everybody_starts_from_runs_and_trades_nothing(grounds, parent) -> None:
    scores = {name: grade(parent, stub(task(name)), grounds[name]).score for name in ORDER}
    assert {"easy": 0.30, "medium": 0.20, "hard": 0.25} == scores


def test_the_loader_names_the_frames_as_the_task_does() -> None:
    assert "    df = frames()\n" in loader(task("easy")).decode()
    assert "    nifty_df, banknifty_df = frames()\n" in loader(task("hard")).decode()
