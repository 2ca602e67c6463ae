"""The graded track with real agent CLIs against the scripted model server: their steps, their tokens, nothing left."""

from __future__ import annotations

import base64
import contextlib
import os
from pathlib import Path

import pytest
from cli_world import clis_folder, model_server, require_cli
from e2e_checkout import Checkout
from graded_cases import NEAR, make_data
from task_cases import pair, single
from test_real_clis import DRIVEN, KEY, left_over

from autoquant.ledger.ledger import Ledger
from autoquant.tasks.spec import ORDER

WHO = ("codex", "claude")
STEPS = 4
SCORES = {"easy": 0.9, "medium": 0.85, "hard": 1.0}
FIRST = {
    "easy": single("return pd.DataFrame({'bar': [1], 'position': [0]})"),
    "medium": pair("raise ValueError('not yet')"),
    "hard": pair("raise ValueError('not yet')"),
}
PUT = """\
import json, pathlib
task = json.loads(pathlib.Path(".autoquant/race.json").read_text())["task"]
pathlib.Path("solution.py").write_bytes({made}[task])
"""


@pytest.mark.shared
@pytest.mark.slow
@pytest.mark.xdist_group("clis")
def test_real_clis_take_their_steps_and_hand_in(
    checkout: Checkout, shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    driven = [one for one in DRIVEN if one.kind in WHO]
    for one in driven:
        require_cli(one.kind)
    monkeypatch.setenv(KEY, "none")
    monkeypatch.setenv("PATH", f"{clis_folder() / 'bin'}{os.pathsep}{os.environ['PATH']}")
    make_data(tmp_path / "data")
    commands = [
        f"{put(FIRST)}; python run.py -m 'a first try'",
        f"{put(NEAR)}; python run.py -m 'a second try'",
        "python run.py -m 'the same file again'; python run.py --final -m 'good enough'",
        "python run.py --final -m 'once more'",
    ]
    state = tmp_path / "state"
    with contextlib.ExitStack() as stack:
        servers = {
            one.kind: stack.enter_context(model_server(shared, tmp_path / one.kind, commands, model=one.model))
            for one in driven
        }
        roster = tmp_path / "competitors.toml"
        roster.write_text("\n".join(one.entry(servers[one.kind].url) for one in driven))
        common = ["--state-dir", str(state), "--data-dir", str(tmp_path / "data")]
        table = checkout.answer(
            "arena.py", "tasks", "race", "--competitors", "all", "--roster", str(roster), "--steps", str(STEPS),
            "--parallel", "2", *common,
        )  # fmt: skip
        assert {(f"{kind}-test", name, SCORES[name], True, 3, STEPS, "done") for kind in WHO for name in ORDER} == {
            tuple(row[key] for key in ("competitor", "task", "score", "final", "steps", "budget", "state"))
            for row in table["rows"]
        }
        assert [] == left_over(state, table["race"])
        view = Ledger.open(state / "tasks" / "races" / table["race"] / "ledger.jsonl").view
        for one in driven:
            racers = [racer for racer in view.competitors.values() if racer.joined.group == f"{one.kind}-test"]
            assert [[False, False, True]] * 3 == [[step.final for step in racer.attempts] for racer in racers]
            asked = [request for request in servers[one.kind].asked() if request.answered and request.has_tools]
            total = [racer.usage for racer in racers]
            assert len(asked) == sum(usage.requests for usage in total)
            assert sum(request.input_tokens for request in asked) == sum(usage.input for usage in total)
            assert (400 * len(asked), 40 * len(asked)) == (
                sum(usage.cached for usage in total),
                sum(usage.output for usage in total),
            )


def put(made: dict[str, bytes]) -> str:
    """A command that puts a solution of the task it is run in into place; it needs no file, a seal would hide it."""
    program = base64.b64encode(PUT.format(made=made).encode()).decode()
    return f"python3 -c \"import base64; exec(base64.b64decode('{program}'))\""
