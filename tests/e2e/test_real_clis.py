"""Every CLI that installs, for real, against the scripted model server: to the budget, with a resume in the middle."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest
from cli_world import Asked, ModelServer, clis_folder, model_server, require_cli
from e2e_checkout import Checkout

from autoquant import process
from autoquant.arena.sessions.place import run_mark
from autoquant.ledger.layout import RaceLayout

KEY = "AUTOQUANT_TEST_KEY"
BUDGET = 3
EDIT = (
    "python3 -c \"import time; print('import os  #', time.time_ns())\" >> strategy.py; python run.py -m 'one more line'"
)
"""An experiment that costs no evaluation: the import is not allowed. Gemini refuses commands with $(…) in them."""
SLOW = "if [ ! -e scratch/slept ]; then touch scratch/slept; python3 -c 'import time; time.sleep(60)'; fi; " + EDIT
"""The first time it waits to be killed; asked again it is an experiment like the others."""


@dataclass(frozen=True)
class Driven:
    """How one CLI is entered in the roster, and where its effort shows on the wire."""

    kind: str
    model: str
    path: str = ""
    """Of the base URL."""
    tells_after_the_tool: bool = False
    """It reports a request's tokens once the tool call it led to has ended: those of one cut off stay unknown."""

    def entry(self, url: str) -> str:
        facts = {
            "name": f"{self.kind}-test",
            "harness": self.kind,
            "model": self.model,
            "effort": "high",
            "colour": "#112233",
            "base_url": url + self.path,
            "api_key_env": KEY,
        }
        return "[[competitor]]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in facts.items())

    def effort(self, asked: Asked) -> str | None:
        body = asked.body
        match self.kind:
            case "claude":
                return (body.get("output_config") or {}).get("effort")
            case "gemini":
                config = (body.get("generationConfig") or {}).get("thinkingConfig") or {}
                return str(config.get("thinkingLevel")).lower()
            case "opencode":
                return body.get("reasoning_effort")
            case _:
                return (body.get("reasoning") or {}).get("effort")


DRIVEN = [
    Driven("codex", "gpt-5.6-luna", "/v1"),
    Driven("grok", "grok-4.5", "/v1"),
    Driven("claude", "claude-opus-4-5"),
    Driven("gemini", "gemini-3.6-flash"),
    Driven("opencode", "fake-model", "/v1", tells_after_the_tool=True),
]


@pytest.fixture(scope="module")
def ready(ready_checkout: Checkout) -> Iterator[Checkout]:
    """Set up and calibrated; each test has a state folder of its own."""
    path = os.environ["PATH"]
    os.environ[KEY] = "none"
    os.environ["PATH"] = f"{clis_folder() / 'bin'}{os.pathsep}{path}"
    yield ready_checkout
    os.environ["PATH"] = path
    del os.environ[KEY]


def wait_until(condition: Any, seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.2)


@pytest.mark.shared
@pytest.mark.slow
@pytest.mark.xdist_group("clis")
@pytest.mark.parametrize("driven", DRIVEN, ids=lambda d: d.kind)
def test_a_cli_races_to_its_budget_over_a_pause(driven: Driven, ready: Checkout, shared: Path, tmp_path: Path) -> None:
    require_cli(driven.kind)
    commands = [EDIT, SLOW, *[EDIT] * 6]
    with model_server(shared, tmp_path / "models", commands, model=driven.model) as server:
        roster, state, race = tmp_path / "competitors.toml", tmp_path / "state", f"cli-{driven.kind}"
        roster.write_text(driven.entry(server.url))
        common = ["--state-dir", str(state)]
        start = [
            "arena.py", "start", "--competitors", "all", "--roster", str(roster), "--race", race,
            "--max-experiments", str(BUDGET), "--allow-source", ready.source, *common,
        ]  # fmt: skip
        assert "found" not in ready.run("arena.py", "doctor", "--roster", str(roster), *common)
        arena = ready.start(*start)
        worktree = state / "races" / race / "worktrees" / f"{driven.kind}-test"
        wait_until((worktree / "scratch" / "slept").exists)
        ready.run("arena.py", "stop", "--race", race, *common)
        assert 0 == arena.wait()
        paused = ready.answer("arena.py", "status", *common)["competitors"][0]
        assert (1, "racing") == (paused["attempts"], paused["state"])
        assert [] == left_over(state, race)

        ready.run(*start)
        status = ready.answer("arena.py", "status", *common)["competitors"][0]
        assert (BUDGET, "done", 0) == (status["attempts"], status["state"], status["faults"])
        assert [] == left_over(state, race)
        check_the_record(state / "races" / race, driven, server, status)


def check_the_record(folder: Path, driven: Driven, server: ModelServer, status: dict[str, Any]) -> None:
    """The second session goes on with the first one's conversation; effort and usage are those on the wire."""
    lines = (folder / "ledger.jsonl").read_text().splitlines()
    bodies = [(entry["kind"], entry["body"]) for entry in map(json.loads, lines)]
    checked = [body for kind, body in bodies if kind == "readiness_checked"]
    if shutil.which("bwrap"):
        assert [] == [why for body in checked for why in body["unsealed"] if not why.startswith("strategies: ")]
    ends = [body for kind, body in bodies if kind == "session_ended"]
    starts = [body for kind, body in bodies if kind == "session_started"]
    assert ["ended by us", "done"] == [end["outcome"] for end in ends]
    assert ends[0]["conversation"]
    assert [None, ends[0]["conversation"]] == [begun["resumes"] for begun in starts]
    asked = [one for one in server.asked() if one.answered]
    assert {"high"} == {driven.effort(one) for one in asked if one.has_tools}
    usage = status["usage"]
    assert len([one for one in asked if one.has_tools]) == usage["requests"]
    told = [one for one in asked if one.has_tools and not (driven.tells_after_the_tool and is_cut_off(one, asked))]
    assert sum(one.input_tokens for one in told) == usage["input"]
    assert (400 * len(told), 40 * len(told)) == (usage["cached"], usage["output"])


def is_cut_off(one: Asked, asked: list[Asked]) -> bool:
    """Whether the pause hit the tool call that this request led to: the next one comes long after it."""
    later = [other.at for other in asked if other.at > one.at]
    return bool(later) and min(later) - one.at > 3.0


def left_over(state: Path, race: str) -> list[list[str]]:
    """Processes that carry a run mark of this race, or work or are named in its folder, whatever mark they carry.

    Other tests race under the same name at the same time, in folders of their own: a mark names the folder too.
    """
    place = run_mark(RaceLayout(state, race), "").rpartition("/")[2]
    found = []
    for one in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            marked = one.environ().get(process.RUN_MARK, "").endswith(f"/{place}")
            if marked or str(state) in " ".join(one.cmdline()) or Path(one.cwd()).is_relative_to(state):
                found.append(one.cmdline())
    return found
