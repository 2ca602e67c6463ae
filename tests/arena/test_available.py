from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from autoquant.arena.available import availabilities, silence
from autoquant.harness import Availability, Competitor
from autoquant.harness.machine import Machine


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """With codex and sh, a key, and nothing else."""
    for name in ("codex", "sh"):
        program = tmp_path / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text("#!/bin/sh\necho codex-cli 0.171.0\n")
        program.chmod(0o755)
    return Machine({"PATH": f"{tmp_path}/bin", "OPENAI_API_KEY": "sk-0"}, tmp_path, is_root=False)


@pytest.fixture
def server() -> Iterator[int]:
    """The port of an endpoint that takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]


@pytest.fixture
def nobody() -> int:
    """A port at which nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


def asked(machine: Machine, **changes: object) -> Availability:
    facts = {"name": "a", "harness": "codex", "model": "gpt-5.6-luna", "effort": "high", "colour": "#112233"}
    racer = Competitor(**(facts | changes))  # type: ignore[arg-type]
    return availabilities([racer], machine)["a"]


def test_a_silent_endpoint_is_a_note_and_one_that_takes_a_connection_is_none(
    machine: Machine, server: int, nobody: int
):
    heard = asked(machine, base_url=f"http://127.0.0.1:{server}/v1", api_key_env="OPENAI_API_KEY")
    assert (True, "") == (heard.ok, heard.note)
    silent = asked(machine, base_url=f"http://127.0.0.1:{nobody}/v1", api_key_env="OPENAI_API_KEY")
    assert (True, f"nothing answers at 127.0.0.1:{nobody} (Connection refused)") == (silent.ok, silent.note)


def test_an_endpoint_is_tried_once_however_many_race_on_it(machine: Machine, server: int):
    racers = [
        Competitor(f"a-{n}", "codex", "m", "high", "#112233", base_url=f"http://127.0.0.1:{server}/v1",
                   api_key_env="OPENAI_API_KEY")
        for n in range(3)
    ]  # fmt: skip
    assert [True] * 3 == [answer.ok for answer in availabilities(racers, machine).values()]


def test_a_host_without_a_name_is_said_as_the_silence_it_is():
    assert silence("http://no-such-host.invalid/v1", {}).startswith("nothing answers at no-such-host.invalid:80 (")


@pytest.mark.parametrize(
    ("env", "tried"),
    [
        ({}, True),
        ({"HTTP_PROXY": "http://proxy:3128"}, False),
        ({"all_proxy": "socks5://proxy:1080"}, False),
        ({"https_proxy": "http://proxy:3128"}, True),
        ({"http_proxy": "http://proxy:3128", "NO_PROXY": "example.org, 127.0.0.*"}, True),
        ({"http_proxy": "http://proxy:3128", "no_proxy": "example.org"}, False),
    ],
)
def test_behind_a_proxy_nothing_is_tried(nobody: int, env: dict[str, str], tried: bool):
    assert tried == bool(silence(f"http://127.0.0.1:{nobody}/v1", env))


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"api_key_env": "MY_KEY"}, "environment variable MY_KEY is not set"),
        ({"pass_env": ("MY_PLACE",)}, "environment variable MY_PLACE is not set"),
        ({"needs": ("sh", "aider")}, "aider not found"),
        ({"harness": "command", "argv": ("aider",)}, "aider not found"),
        ({"harness": "command", "argv": ("sh", "{checkout}/docs/examples/no.py")}, "docs/examples/no.py not found"),
        ({"harness": "command", "argv": ("sh",), "needs": ("aider",)}, "aider not found"),
        ({"harness": "command", "argv": ("sh",), "pass_env": ("MY_PLACE",)}, "variable MY_PLACE is not set"),
        ({"harness": "command", "argv": ("sh",), "api_key_env": "MY_KEY"}, "variable MY_KEY is not set"),
    ],
)
def test_what_a_session_would_lack_is_a_problem_with_a_way_to_mend_it(
    machine: Machine, changes: dict[str, object], problem: str
):
    answer = asked(machine, **changes)
    assert (False, True) == (answer.ok, bool(answer.hint))
    assert answer.problem.endswith(problem)


def test_what_is_there_is_no_problem(machine: Machine):
    script = "{checkout}/docs/examples/aider_session.py"
    for changes in (
        {"harness": "command", "argv": ("sh", script), "needs": ("codex",), "pass_env": ("PATH",)},
        {"needs": ("sh",), "pass_env": ("PATH",)},
    ):
        assert asked(machine, **changes).ok


def test_who_cannot_run_anyway_is_not_tried_at_its_endpoint(machine: Machine, nobody: int):
    answer = asked(machine, base_url=f"http://127.0.0.1:{nobody}/v1", api_key_env="NO_KEY")
    assert (False, "") == (answer.ok, answer.note)
