from __future__ import annotations

import itertools
import json
import sys
from pathlib import Path

import pytest

from autoquant import process
from autoquant.errors import HarnessFault
from autoquant.harness import ADAPTERS, Competitor, SessionRequest, harness_of
from autoquant.harness.control_program import Workspace, search
from autoquant.harness.events import Said
from autoquant.harness.family import SEED_LIKE, draw, parse, render
from autoquant.harness.machine import Machine
from autoquant.harness.plain_reader import PlainReader
from autoquant.harness.searchers import DRAWS_PER_EXPERIMENT, hillclimb, stream

RUN = """\
import json, pathlib, sys
table = pathlib.Path("results.tsv")
rows = table.read_text().splitlines() if table.exists() else ["attempt"]
archive = pathlib.Path("seen"); archive.mkdir(exist_ok=True)
text = pathlib.Path("strategy.py").read_text()
if text in [p.read_text() for p in archive.iterdir()]:
    sys.exit(0)
(archive / str(len(rows))).write_text(text)
table.write_text("\\n".join([*rows, str(len(rows))]) + "\\n")
if len(rows) % 2:
    pathlib.Path("strategy.py").write_text(pathlib.Path("parent.py").read_text())
else:
    pathlib.Path("parent.py").write_text(text)
print(json.dumps({"attempt": len(rows)}))
"""


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    root = tmp_path / "work tree"
    (root / ".autoquant").mkdir(parents=True)
    (root / ".autoquant" / "race.json").write_text(json.dumps({"budget": 4}))
    (root / "run.py").write_text(RUN)
    for name in ("strategy.py", "parent.py"):
        (root / name).write_text("def target_weights(panel, train_end):\n    return panel.close * 0\n")
    return root


def competitor(**changes: object) -> Competitor:
    facts: dict[str, object] = {
        "name": "x", "harness": "control", "model": "hillclimb", "effort": "", "colour": "#000000", "seed": 3,
    }  # fmt: skip
    return Competitor(**(facts | changes))  # type: ignore[arg-type]


def request(workspace: Path) -> SessionRequest:
    return SessionRequest(workspace, workspace / "prompt.md", "", workspace / "home", number=2, attempts_used=0)


@pytest.mark.parametrize("searcher", ["random", "hillclimb"])
def test_a_control_spends_exactly_its_budget(workspace: Path, searcher: str):
    plan = harness_of(competitor(model=searcher)).session(
        competitor(model=searcher), request(workspace), Machine.here()
    )
    finished = process.run(plan.argv, cwd=plan.cwd, timeout_seconds=60)
    assert (0, b"") == (finished.returncode, finished.stderr)
    assert 4 == Workspace(workspace).used()
    assert [1, 2, 3, 4] == [json.loads(line)["attempt"] for line in finished.stdout.splitlines()]


def test_a_climb_mutates_the_parent_the_referee_left_behind(workspace: Path):
    search(Workspace(workspace), "hillclimb", 3, 0)
    second, third, fourth = (parse((workspace / "seen" / str(n)).read_text()) for n in (2, 3, 4))
    assert None not in (second, third, fourth)
    for child, parent in ((third, second), (fourth, second)):
        assert sum(child[name] != parent[name] for name in child) in (1, 2)


def test_an_experiment_cut_short_goes_on_with_the_same_draw_from_the_same_parent(workspace: Path):
    space = Workspace(workspace)
    parent = render(draw(stream(1, 1)))
    space.strategy.write_text(parent)
    assert parse(parent) == space.parent(1)
    space.strategy.write_text(render(SEED_LIKE))  # the candidate a killed session left
    assert parse(parent) == space.parent(1)
    assert space.parent(2) == SEED_LIKE


def test_a_climb_that_stays_at_one_parent_has_something_new_for_each_of_500_experiments():
    tried: set[str] = set()
    for experiment in range(1, 501):
        draws = itertools.islice(hillclimb(SEED_LIKE, stream(1, experiment)), DRAWS_PER_EXPERIMENT)
        new = next((text for text in (render(member) for member, _ in draws) if text not in tried), None)
        assert new is not None, experiment
        tried.add(new)


def test_a_run_that_never_counts_ends_the_session(workspace: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("autoquant.harness.control_program.DRAWS_PER_EXPERIMENT", 2)
    (workspace / "run.py").write_text("")
    assert 1 == search(Workspace(workspace), "random", 1, 0)


def test_a_command_fills_its_placeholders_part_by_part(tmp_path: Path):
    racer = competitor(
        harness="command",
        model="m; rm -rf {workspace}",
        argv=(sys.executable, "{model}", "--in={workspace}/x", "{session}"),
    )
    plan = ADAPTERS["command"].session(racer, request(tmp_path / "a b"), Machine.here())
    assert (sys.executable, "m; rm -rf {workspace}", f"--in={tmp_path}/a b/x", "2") == plan.argv
    assert tmp_path / "a b" == plan.cwd


def test_a_command_that_is_not_there_is_said_in_one_line():
    racer = competitor(harness="command", argv=("no-such-agent-cli",))
    answer = ADAPTERS["command"].check(racer, Machine.here())
    assert (False, "no-such-agent-cli not found") == (answer.ok, answer.problem)
    with pytest.raises(HarnessFault, match="no-such-agent-cli not found"):
        ADAPTERS["command"].session(racer, request(Path("/tmp")), Machine.here())


def test_a_command_without_its_key_is_said_in_one_line(tmp_path: Path):
    without, with_key = (Machine(env, tmp_path, False) for env in ({}, {"AN_API_KEY": "x"}))
    for racer in (
        competitor(harness="command", argv=(sys.executable,), pass_env=("AN_API_KEY",)),
        competitor(harness="command", argv=(sys.executable,), api_key_env="AN_API_KEY"),
    ):
        assert "AN_API_KEY is not set" in ADAPTERS["command"].check(racer, without).problem
        assert ADAPTERS["command"].check(racer, with_key).ok


def test_a_command_gets_its_key_its_endpoint_and_its_options(tmp_path: Path):
    machine = Machine({"AN_API_KEY": "secret"}, tmp_path, False)
    racer = competitor(
        harness="command",
        argv=(sys.executable, "--endpoint={base_url}"),
        args=("--quick", "{model}"),
        base_url="http://127.0.0.1:1/v1",
        api_key_env="AN_API_KEY",
    )
    plan = ADAPTERS["command"].session(racer, request(tmp_path), machine)
    assert (sys.executable, "--endpoint=http://127.0.0.1:1/v1", "--quick", "{model}") == plan.argv
    assert {"AN_API_KEY": "secret"} == plan.env
    answer = ADAPTERS["command"].check(racer, machine)
    assert (True, "API key (AN_API_KEY)") == (answer.ok, answer.login)
    assert "secret" not in repr(answer)
    with pytest.raises(HarnessFault, match="AN_API_KEY is not set"):
        ADAPTERS["command"].session(racer, request(tmp_path), Machine({}, tmp_path, False))


def test_a_command_whose_endpoint_would_be_ignored_is_refused(tmp_path: Path):
    racer = competitor(harness="command", argv=(sys.executable,), base_url="http://127.0.0.1:1/v1")
    answer = ADAPTERS["command"].check(racer, Machine({}, tmp_path, False))
    assert (False, "base_url is set, but argv has no {base_url}") == (answer.ok, answer.problem)


def test_a_plain_reader_repeats_every_line_and_believes_none():
    reader = PlainReader()
    line = '{"error": "429 rate limit", "usage": {"input_tokens": 3}}'
    assert (Said(line),) == reader.stdout(line) == reader.stderr(line)
    assert () == reader.stdout("  ") == reader.transcript(line)
    assert reader.exit(1) is None
    assert 2_000 == len(reader.stdout("x" * 5_000)[0].text)  # type: ignore[union-attr]


def test_a_control_without_its_searcher_is_refused(tmp_path: Path):
    racer = competitor(model="astrology")
    assert "astrology" in ADAPTERS["control"].check(racer, Machine.here()).problem
    with pytest.raises(HarnessFault, match="astrology"):
        ADAPTERS["control"].session(racer, request(tmp_path), Machine.here())
