"""What holds for every adapter of an agent CLI, whichever it is."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoquant.harness import ADAPTERS, Competitor, SessionRequest, harness_of
from autoquant.harness.machine import Machine

KEY = "sk-not-a-real-key-5d1f"
PROGRAMS = {
    "antigravity": ("agy", "gemini-3.6-flash", "1.5.0"),
    "claude": ("claude", "claude-opus-4-5", "2.1.332"),
    "codex": ("codex", "gpt-5.6-luna", "0.171.0"),
    "gemini": ("gemini", "gemini-3.6-flash", "0.61.0"),
    "grok": ("grok", "grok-4.5", "1.0.41"),
    "opencode": ("opencode", "some-model", "1.18.33"),
}
AGENTS = sorted(PROGRAMS)


def machine_with(tmp_path: Path, kind: str) -> Machine:
    program, _, version = PROGRAMS[kind]
    path = tmp_path / "bin" / program
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\necho {version}\n")
    path.chmod(0o755)
    env = {"PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin", "MY_KEY": KEY}
    return Machine(env, tmp_path / "user", is_root=False)


def competitor_of(kind: str, **changes: object) -> Competitor:
    facts: dict[str, object] = {
        "name": kind, "harness": kind, "model": PROGRAMS[kind][1], "effort": "high", "colour": "#112233",
        "api_key_env": "MY_KEY", "base_url": "http://127.0.0.1:1/v1",
    } | changes  # fmt: skip
    return Competitor(**facts)  # type: ignore[arg-type]


def request_in(tmp_path: Path, resume: str | None = None) -> SessionRequest:
    home, worktree = tmp_path / "home", tmp_path / "work tree"
    home.mkdir(exist_ok=True)
    worktree.mkdir(exist_ok=True)
    (tmp_path / "prompt.md").write_text("Read program.md.")
    return SessionRequest(worktree, tmp_path / "prompt.md", "Read program.md.", home, 1, 0, resume)


def test_every_kind_but_the_two_of_our_own_is_here():
    assert {*PROGRAMS, "command", "control"} == set(ADAPTERS)


@pytest.mark.parametrize("kind", AGENTS)
def test_a_key_is_handed_on_and_stands_in_no_argument_and_no_file(kind: str, tmp_path: Path):
    """INV-27."""
    machine = machine_with(tmp_path, kind)
    answer = harness_of(competitor_of(kind)).check(competitor_of(kind), machine)
    assert answer.ok, answer.problem
    assert KEY not in repr(answer)
    plan = harness_of(competitor_of(kind)).session(competitor_of(kind), request_in(tmp_path), machine)
    assert KEY in plan.env.values()
    assert not [part for part in plan.argv if KEY in part]
    assert not [name for name, content in plan.files.items() if KEY in content]
    assert all(not Path(name).is_absolute() and ".." not in name for name in [*plan.files, *plan.links])


@pytest.mark.parametrize("kind", AGENTS)
def test_without_program_key_or_known_effort_the_problem_and_its_mending_are_named(kind: str, tmp_path: Path):
    competitor = competitor_of(kind)
    missing = harness_of(competitor).check(competitor, Machine({"PATH": str(tmp_path)}, tmp_path, is_root=False))
    assert not missing.ok
    assert PROGRAMS[kind][0] in missing.problem
    machine = machine_with(tmp_path, kind)
    no_key = competitor_of(kind, api_key_env="NO_SUCH_KEY")
    assert "NO_SUCH_KEY" in harness_of(no_key).check(no_key, machine).problem
    effort = competitor_of(kind, effort="tremendous")
    refused = harness_of(effort).check(effort, machine)
    assert not refused.ok
    assert "tremendous" in refused.problem
    assert all(answer.hint for answer in (missing, harness_of(no_key).check(no_key, machine), refused))


@pytest.mark.parametrize("kind", AGENTS)
def test_a_resumed_session_names_its_conversation_and_a_fresh_one_none(kind: str, tmp_path: Path):
    machine, harness = machine_with(tmp_path, kind), ADAPTERS[kind]
    fresh = harness.session(competitor_of(kind), request_in(tmp_path), machine)
    resumed = harness.session(competitor_of(kind), request_in(tmp_path, "conv-77"), machine)
    assert not any("conv-77" in part for part in fresh.argv)
    assert any("conv-77" in part for part in resumed.argv)
    assert Path(fresh.argv[0]).is_absolute()
    assert request_in(tmp_path).workspace == fresh.cwd


@pytest.mark.parametrize("kind", AGENTS)
def test_the_roster_s_own_options_reach_the_command_line(kind: str, tmp_path: Path):
    machine, harness = machine_with(tmp_path, kind), ADAPTERS[kind]
    for resume in (None, "conv-77"):
        plan = harness.session(competitor_of(kind, args=("--mine", "a b")), request_in(tmp_path, resume), machine)
        at = plan.argv.index("--mine")
        assert "a b" == plan.argv[at + 1]


@pytest.mark.parametrize("kind", AGENTS)
def test_what_makes_the_race_fair_is_said(kind: str):
    assert len(ADAPTERS[kind].settings) >= 3


@given(st.sampled_from(sorted(ADAPTERS)), st.text(max_size=300), st.integers(-64, 255))
def test_no_line_and_no_exit_code_makes_a_reader_raise(kind: str, line: str, code: int):
    reader = ADAPTERS[kind].reader()
    for read in (reader.stdout, reader.stderr, reader.transcript):
        assert isinstance(read(line), tuple)
    reader.exit(code)
