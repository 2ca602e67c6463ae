"""The graded track through the real commands: a scripted agent, stopped in the middle, resumed, on a race's page."""

from __future__ import annotations

import json
import shutil
import sys
import time
from pathlib import Path

import psutil
import pytest
from e2e_checkout import Checkout
from graded_cases import NEAR, make_data

sys.path.append(str(Path(__file__).parents[1] / "report"))

from html_reading import read
from race_cases import RaceCase, searched

from autoquant.ledger.ledger import Ledger
from autoquant.tasks.spec import ORDER

AGENT = """\
import json, pathlib, subprocess, sys, time
solutions, session = pathlib.Path(sys.argv[1]), int(sys.argv[2])
task = json.loads(pathlib.Path(".autoquant/race.json").read_text())["task"]
text = pathlib.Path("program.md").read_text()
assert "generate_trades" in text
sys.path.insert(0, ".")
from load import frames
frames()
def run(*more):
    done = subprocess.run(["python", "run.py", *more], capture_output=True, text=True)
    print(done.stdout, done.stderr)
    return done
if session == 1:
    pathlib.Path("solution.py").write_bytes((solutions / f"{task}.py").read_bytes())
    assert "step 1 of 3" in run("--task", task, "-m", "as it is known").stdout
    pathlib.Path("program.md").unlink()
    pathlib.Path("program.md").write_text("mine")
    while task != "easy":
        time.sleep(0.1)
assert "The task is over" in run("--final", "-m", "good enough").stdout
"""


def standings(checkout: Checkout) -> dict[str, tuple[int, str | None]]:
    """Steps used, and why it ended, by task."""
    ledgers = list((checkout.root / "state" / "tasks" / "races").glob("*/ledger.jsonl"))
    if not ledgers:
        return {}
    view = Ledger.open(ledgers[0]).view
    return {racer.joined.task: (len(racer.closed), racer.ended) for racer in view.competitors.values()}


@pytest.mark.slow
def test_a_graded_race_is_stopped_resumed_and_shown_beside_the_race(checkout: Checkout) -> None:
    root = checkout.root
    shutil.rmtree(root / "data", ignore_errors=True)
    make_data(root / "data")
    solutions = root / "solutions"
    solutions.mkdir()
    for name in ORDER:
        (solutions / f"{name}.py").write_bytes(NEAR[name])
    (root / "agent.py").write_text(AGENT)
    argv = json.dumps([sys.executable, str(root / "agent.py"), str(solutions), "{session}"])
    (root / "roster.toml").write_text(
        f'[[competitor]]\nname = "sol"\nharness = "command"\nmodel = "m"\ncolour = "#112233"\nargv = {argv}\n'
    )
    race = ["arena.py", "tasks", "race", "--competitors", "all", "--roster", str(root / "roster.toml")]

    begun = checkout.start(*race, "--steps", "3")
    for _ in range(300):
        if standings(checkout) == {"easy": (2, "done"), "medium": (1, None), "hard": (1, None)}:
            break
        assert begun.poll() is None, "it ended by itself"
        time.sleep(0.2)
    below = psutil.Process(begun.pid).children(recursive=True)
    checkout.run("arena.py", "stop", "--state-dir", "state/tasks")
    assert 0 == begun.wait(60)
    assert [] == [one for one in below if one.is_running() and one.status() != psutil.STATUS_ZOMBIE]
    middle = {row["task"]: row for row in checkout.answer("arena.py", "tasks", "status")["rows"]}
    assert [("easy", 0.9, True, 2), ("medium", 0.85, False, 1), ("hard", 0.3, False, 1)] == [
        (name, middle[name]["score"], middle[name]["final"], middle[name]["steps"]) for name in ORDER
    ]
    assert ["done", "racing", "racing"] == [middle[name]["state"] for name in ORDER]
    assert "0.85 (backtest)" in checkout.run("arena.py", "tasks", "status")

    table = checkout.answer(*race)
    assert [("easy", 0.9, 2), ("medium", 0.85, 2), ("hard", 1.0, 2)] == [
        (row["task"], row["score"], row["steps"]) for row in table["rows"]
    ]
    assert [("sol", True, "done", 3)] * 3 == [
        (row["competitor"], row["final"], row["state"], row["budget"]) for row in table["rows"]
    ]
    assert [1, 1, 1] == [row["violations"] for row in table["rows"]], "program.md was put back and that is on record"
    said = checkout.run("arena.py", "tasks", "status")
    assert "(backtest)" not in said
    assert ["sol", "easy", "0.90", "2/3", "done"] == said.splitlines()[1].split()[:5]
    assert "for 1.00: trades, pnl, drawdown" in said

    assert "a task is handed in once" in checkout.refusal(*race, "--race", table["race"])
    log = checkout.run("arena.py", "logs", "sol-hard", "--state-dir", "state/tasks")
    assert "final submission: score 1.00" in log
    assert "Sharpe ratio on the hidden" not in log
    the_page_of_its_race_shows_the_scores(checkout)


def the_page_of_its_race_shows_the_scores(checkout: Checkout) -> None:
    case = RaceCase(checkout.root / "state")
    case.join("sol", "command")
    searched(case, "sol", 3, 7)
    checkout.run("arena.py", "report", "--out", "page.html")
    reading = read((checkout.root / "page.html").read_text())
    assert [] == reading.problems
    assert "8 Graded tasks" in reading.text
    for words in ("easy 0.90", "medium 0.85", "hard 1.00", "2 / 3"):
        assert words in reading.text


def test_before_anything_was_raced_status_says_what_to_do(checkout: Checkout) -> None:
    words = checkout.refusal("arena.py", "tasks", "status")
    assert "no record of the graded track" in words
    assert "hint: begin one: arena.py tasks race" in words
    words = checkout.refusal("arena.py", "tasks", "race", "--competitors", "random")
    assert "controls have no part in the graded track" in words
