from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoquant.errors import HarnessFault
from autoquant.harness.antigravity import AntigravityHarness
from autoquant.harness.base import Competitor, SessionRequest
from autoquant.harness.events import Called, Event, Finished, Hurt, ModelSeen, Named, Said, Spent, Trouble, Usage
from autoquant.harness.machine import Machine

GOLDEN = Path(__file__).parent.parent / "golden" / "antigravity-documented"
CONVERSATION = "7c1d2f00-0000-4000-8000-000000000001"
HARNESS = AntigravityHarness()
RACER = Competitor("agy", "antigravity", "gemini-3.6-flash-high", "high", "#4285F4")


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    (tmp_path / "user").mkdir()
    program = tmp_path / "bin" / "agy"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho agy version 1.2.17\n")
    program.chmod(0o755)
    return Machine({"PATH": f"{program.parent}:/usr/bin:/bin", "GEMINI_API_KEY": "secret"}, tmp_path / "user", False)


def without_key(machine: Machine) -> Machine:
    return Machine({"PATH": machine.env["PATH"]}, machine.home, False)


def request(tmp_path: Path, resume: str | None = None) -> SessionRequest:
    home = tmp_path / "home"
    return SessionRequest(tmp_path / "work tree", home / "prompt.md", "/usage is no command", home, 1, 0, resume)


def read(name: str) -> list[Event]:
    reader = HARNESS.reader()
    events: list[Event] = []
    for ending, take in (("stdout.jsonl", reader.stdout), ("stderr.log", reader.stderr)):
        path = GOLDEN / f"{name}.{ending}"
        if path.exists():
            events += [event for line in path.read_text().split("\n") for event in take(line)]
    return events


def only(kind: type, events: Iterable[Event]) -> list[Event]:
    return [event for event in events if isinstance(event, kind)]


def spent(*names: str) -> dict[tuple[str, str | None], Usage]:
    events = [event for name in names for event in read(name)]
    return {(event.conversation, event.request): event.usage for event in events if isinstance(event, Spent)}


def test_it_is_found_with_its_version_its_login_and_a_warning(machine: Machine):
    answer = HARNESS.check(RACER, machine)
    assert (True, "agy 1.2.17", "API key (GEMINI_API_KEY)") == (answer.ok, answer.version, answer.login)
    assert "never run against a real agy" in answer.note
    assert "secret" not in repr(answer)


def test_what_is_missing_is_said_with_a_way_to_mend_it(machine: Machine, tmp_path: Path):
    nowhere = Machine({"PATH": str(tmp_path)}, machine.home, False)
    assert ("agy not found", True) == (
        HARNESS.check(RACER, nowhere).problem,
        "install" in HARNESS.check(RACER, nowhere).hint,
    )
    answer = HARNESS.check(RACER, without_key(machine))
    assert (False, True) == (answer.ok, answer.problem.startswith("not logged in"))
    assert "GEMINI_API_KEY" in answer.hint
    for broken in (nowhere, without_key(machine)):
        with pytest.raises(HarnessFault, match="agy"):
            HARNESS.session(RACER, request(tmp_path), broken)
    answer = HARNESS.check(replace(RACER, api_key_env="MY_KEY"), machine)
    assert "environment variable MY_KEY is not set" == answer.problem


@pytest.mark.parametrize(
    ("model", "effort", "options"),
    [
        ("gemini-3.6-flash-high", "high", ("--model", "gemini-3.6-flash", "--effort", "high")),
        ("gemini-3.6-flash-high", "", ("--model", "gemini-3.6-flash", "--effort", "high")),
        ("gemini-3.6-flash", "low", ("--model", "gemini-3.6-flash", "--effort", "low")),
        ("gemini-3.6-flash", "", ("--model", "gemini-3.6-flash")),
        ("claude-opus-4-6-thinking", "", ("--model", "claude-opus-4-6-thinking")),
        ("gpt-oss-120b-medium", "medium", ("--model", "gpt-oss-120b-medium")),
    ],
)
def test_effort_is_said_once(machine: Machine, tmp_path: Path, model: str, effort: str, options: tuple[str, ...]):
    racer = replace(RACER, model=model, effort=effort)
    assert HARNESS.check(racer, machine).ok
    argv = HARNESS.session(racer, request(tmp_path), machine).argv
    start = argv.index("--model")
    assert options == argv[start : start + len(options)]
    assert ("--effort" in argv) == ("--effort" in options)


@pytest.mark.parametrize(
    ("model", "effort", "problem"),
    [
        ("", "high", "no model"),
        ("gemini-3.6-flash", "xhigh", "effort 'xhigh' is unknown"),
        ("gemini-3.6-flash-low", "high", "contradict"),
        ("claude-sonnet-4-6", "high", "takes no effort"),
    ],
)
def test_model_and_effort_that_do_not_go_together_are_refused(
    machine: Machine, tmp_path: Path, model: str, effort: str, problem: str
):
    racer = replace(RACER, model=model, effort=effort)
    assert problem in HARNESS.check(racer, machine).problem
    with pytest.raises(HarnessFault, match=problem):
        HARNESS.session(racer, request(tmp_path), machine)


def test_a_fresh_session_has_its_prompt_glued_to_its_option(machine: Machine, tmp_path: Path):
    plan = HARNESS.session(replace(RACER, args=("--sandbox",)), request(tmp_path), machine)
    assert (
        str(tmp_path / "bin" / "agy"), "--dangerously-skip-permissions", "--disable-slash-commands",
        "--print-timeout", "24h", "--output-format", "stream-json", "--add-dir", str(tmp_path / "work tree"),
        "--model", "gemini-3.6-flash", "--effort", "high", "--sandbox", "--prompt=/usage is no command",
    ) == plan.argv  # fmt: skip
    assert (tmp_path / "work tree", b"", {}) == (plan.cwd, plan.stdin, plan.links)
    assert {"AGY_CLI_DISABLE_AUTO_UPDATE": "true", "GEMINI_API_KEY": "secret"} == plan.env
    assert {"modelProvider": "gemini"} == json.loads(plan.files[".gemini/antigravity-cli/settings.json"])


def test_a_resumed_session_names_its_conversation(machine: Machine, tmp_path: Path):
    argv = HARNESS.session(RACER, request(tmp_path, CONVERSATION), machine).argv
    assert ("--conversation", CONVERSATION) == argv[-3:-1]


def test_an_endpoint_and_a_key_of_ones_own_are_passed_on(machine: Machine, tmp_path: Path):
    racer = replace(RACER, base_url="http://127.0.0.1:1", api_key_env="MY_KEY")
    own = Machine({**machine.env, "MY_KEY": "mine"}, machine.home, False)
    env = HARNESS.session(racer, request(tmp_path), own).env
    assert ("http://127.0.0.1:1", "mine") == (env["GOOGLE_GEMINI_BASE_URL"], env["GEMINI_API_KEY"])


def test_a_login_file_is_linked_and_the_provider_left_to_it(machine: Machine, tmp_path: Path):
    login = ".gemini/antigravity-cli/antigravity-oauth-token"
    (machine.home / login).parent.mkdir(parents=True)
    (machine.home / login).write_text("{}")
    plan = HARNESS.session(RACER, request(tmp_path), without_key(machine))
    assert {login: machine.home / login} == plan.links
    assert "{}" == plan.files[".gemini/antigravity-cli/settings.json"]
    assert "GEMINI_API_KEY" not in plan.env
    assert HARNESS.check(RACER, without_key(machine)).ok
    # An endpoint of one's own never sees the user's login.
    assert not HARNESS.check(replace(RACER, base_url="http://127.0.0.1:1"), without_key(machine)).ok


def test_a_turn_is_named_shown_and_finished():
    events = read("ok")
    assert [Named(CONVERSATION), ModelSeen("gemini-3.6-flash")] == events[:2]
    assert [Called("run_command", "python run.py -m momentum")] == only(Called, events)
    assert [Said("The budget"), Said(" is used.\n")] == only(Said, events)
    assert Finished(True, "The budget is used.\n") == events[-1]
    assert [] == only(Hurt, events)


def test_tokens_are_counted_per_step_and_as_a_total():
    steps = {"1@2.832687": (1000, 400), "3@1.485306": (1050, 400)}
    counted = spent("ok")
    assert steps == {key: (use.input, use.cached) for (_, key), use in counted.items() if key is not None}
    assert Usage(2050, 800, 80, 16) == counted[CONVERSATION, None]
    assert {Usage(1000, 400, 40, 8, 1), Usage(1050, 400, 40, 8, 1)} == {
        use for (_, key), use in counted.items() if key is not None
    }


def test_a_resumed_conversation_adds_requests_even_if_its_steps_are_counted_from_0_again():
    requests = {key: use for key, use in spent("ok", "resumed").items() if key[1] is not None}
    assert 3 == len(requests) == sum(use.requests for use in requests.values())
    assert 1000 + 1050 + 1100 == sum(use.input for use in requests.values())
    assert 3150 == spent("ok", "resumed")[CONVERSATION, None].input
    assert spent("ok") == spent("ok", "ok")


@pytest.mark.parametrize(
    ("name", "trouble", "seconds"),
    [
        ("quota", Trouble.QUOTA, 8338.0),
        ("rate-limited", Trouble.RATE_LIMIT, None),
        ("auth", Trouble.AUTH, None),
        ("server-error", Trouble.SERVER, None),
        ("model", Trouble.SETUP, None),
    ],
)
def test_a_failure_has_its_class(name: str, trouble: Trouble, seconds: float | None):
    hurts = only(Hurt, read(name))
    assert hurts
    assert {(trouble, True, seconds)} == {(hurt.trouble, hurt.gives_up, hurt.retry_after_seconds) for hurt in hurts}  # type: ignore[attr-defined]


def test_what_was_spent_before_a_failure_counts_and_zeros_measure_nothing():
    assert 1000 == spent("quota")[CONVERSATION, "1@2.5"].input
    assert {} == spent("auth") == spent("timeout")
    text = "[agy] print timeout after 5m0s with turn in progress; returning partial output"
    assert [Finished(True, "I have started"), Said(text)] == read("timeout")[-2:]


def test_a_status_without_words_is_told_apart_by_whether_it_comes_back():
    line = 'AGY_ERROR: {"status":"RESOURCE_EXHAUSTED","retryable":%s}'
    seen = [HARNESS.reader().stderr(line % word)[0] for word in ("true", "false")]
    assert [Trouble.RATE_LIMIT, Trouble.QUOTA] == [event.trouble for event in seen]  # type: ignore[union-attr]
    unreadable = HARNESS.reader().stderr("AGY_ERROR: something unreadable")
    assert (Hurt(Trouble.SERVER, "AGY_ERROR: something unreadable", gives_up=True),) == unreadable
    assert HARNESS.reader().exit(3) is None


words = st.sampled_from(
    ["event", "init", "step_update", "result", "usage", "state", "step_type", "error", "status", "conversation_id",
     "tool_info", "parameters", "input_tokens", "step_index"]
)  # fmt: skip
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=5),
    max_leaves=12,
)
kinds = st.sampled_from(["init", "step_update", "result"])


@given(value=json_values, kind=kinds, inner=json_values, cut=st.integers(0, 200), text=st.text(max_size=80))
def test_nothing_a_line_holds_raises(value: object, kind: str, inner: object, cut: int, text: str):
    reader = HARNESS.reader()
    whole = json.dumps({"event": kind, kind: inner})
    for line in (json.dumps(value), whole, whole[:cut], text, f"AGY_ERROR: {json.dumps(value)}", f"error: {text}"):
        assert () == reader.transcript(line)
        for event in (*reader.stdout(line), *reader.stderr(line)):
            assert isinstance(event, Event)
