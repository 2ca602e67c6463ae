from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoquant.errors import HarnessFault
from autoquant.harness.base import Competitor, SessionRequest
from autoquant.harness.events import Called, Event, Finished, Hurt, ModelSeen, Named, Said, Spent, Trouble, Usage
from autoquant.harness.machine import Machine
from autoquant.harness.opencode import PROVED, OpencodeHarness

GOLDEN = Path(__file__).parent.parent / "golden" / f"opencode-{PROVED}"
HARNESS = OpencodeHarness()
LOCAL = Competitor(
    "oc", "opencode", "qwen/qwen3-coder", "high", "#000000", base_url="http://127.0.0.1:1/v1", api_key_env="MY_KEY"
)
VENDOR = Competitor("oc", "opencode", "anthropic/claude-x", "high", "#000000")
PROGRAM = """\
#!/bin/sh
[ "$1" = --version ] && { echo "${SHOWN_VERSION:-%s}"; exit; }
[ "$1 $2 $3 $HOME_KEY" = "models anthropic --verbose " ] || exit 1
[ -n "$ANTHROPIC_API_KEY" ] && [ "$OPENCODE_DISABLE_MODELS_FETCH" = 1 ] && [ "${XDG_DATA_HOME#*autoquant}" != "$XDG_DATA_HOME" ] || exit 1
cat <<'END'
anthropic/claude-x
{
  "id": "claude-x",
  "variants": {
    "low": {"effort": "low"},
    "high": {"effort": "high"}
  }
}
anthropic/claude-x-plain
{"variants": {}}
END
"""  # noqa: E501


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    (tmp_path / "user").mkdir()
    program = tmp_path / "bin" / "opencode"
    program.parent.mkdir()
    program.write_text(PROGRAM % PROVED)
    program.chmod(0o755)
    return made(tmp_path, MY_KEY="secret", ANTHROPIC_API_KEY="sk-secret")


def made(tmp_path: Path, **env: str) -> Machine:
    return Machine({"PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin", **env}, tmp_path / "user", False)


def request(tmp_path: Path, resume: str | None = None) -> SessionRequest:
    home = tmp_path / "home"
    return SessionRequest(tmp_path / "work tree", home / "prompt.md", "--help is no option", home, 1, 0, resume)


def config(racer: Competitor, tmp_path: Path, machine: Machine) -> dict[str, dict[str, object]]:
    return json.loads(HARNESS.session(racer, request(tmp_path), machine).files[".config/opencode/opencode.json"])


def read(name: str) -> list[Event]:
    """Both streams through one reader, the log first: how they interleave is not recorded."""
    reader = HARNESS.reader()
    events: list[Event] = []
    for ending, take in (("stderr.log", reader.stderr), ("stdout.jsonl", reader.stdout)):
        for line in (GOLDEN / f"{name}.{ending}").read_text().split("\n"):
            events += take(line)
    return events


def only(kind: type, events: Iterable[Event]) -> list[Event]:
    return [event for event in events if isinstance(event, kind)]


def total(*names: str) -> Usage:
    counted = {}
    for event in (event for name in names for event in read(name)):
        if isinstance(event, Spent):
            counted[event.conversation, event.request] = event.usage
    fields = ("input", "cached", "output", "reasoning", "requests")
    return Usage(*(sum(getattr(use, field) for use in counted.values()) for field in fields))


def test_it_is_found_with_its_version_and_its_login(machine: Machine):
    for racer, name in ((LOCAL, "MY_KEY"), (VENDOR, "ANTHROPIC_API_KEY")):
        answer = HARNESS.check(racer, machine)
        assert (True, f"opencode {PROVED}", f"API key ({name})", "") == (
            answer.ok, answer.version, answer.login, answer.note,
        )  # fmt: skip
        assert "secret" not in repr(answer)


def test_another_version_is_noted(tmp_path: Path, machine: Machine):
    answer = HARNESS.check(LOCAL, made(tmp_path, MY_KEY="x", SHOWN_VERSION="1.99.0"))
    assert (True, "opencode 1.99.0", f"proved with opencode {PROVED}") == (answer.ok, answer.version, answer.note)
    assert not HARNESS.check(LOCAL, made(tmp_path, MY_KEY="x", SHOWN_VERSION="Segmentation fault")).ok


@pytest.mark.parametrize(
    ("racer", "problem", "hint"),
    [
        (replace(VENDOR, model="anthropic/claude-y"), "knows no model anthropic/claude-y", "opencode models anthropic"),
        (replace(VENDOR, effort="ultra"), "effort 'ultra' is unknown to anthropic/claude-x", "one of low, high"),
        (replace(VENDOR, model="anthropic/claude-x-plain"), "effort 'high' is unknown", "this model takes none"),
        (replace(VENDOR, model="claude-x"), "'claude-x' is not provider/model", "opencode models"),
        (replace(VENDOR, model="openai/gpt-x"), "not logged in at openai", "set OPENAI_API_KEY, or log in"),
        (replace(VENDOR, api_key_env="NO_KEY"), "environment variable NO_KEY is not set", "set NO_KEY"),
        (replace(LOCAL, api_key_env="NO_KEY"), "environment variable NO_KEY is not set", "any text"),
        (replace(LOCAL, api_key_env=""), "environment variable OPENAI_API_KEY is not set", "api_key_env"),
        (replace(LOCAL, effort="extreme"), "effort 'extreme' is unknown", "none, minimal, low, medium, high"),
        (replace(LOCAL, model=""), "no model", "endpoint"),
    ],
)
def test_what_is_wrong_is_said_with_a_way_to_mend_it(machine: Machine, racer: Competitor, problem: str, hint: str):
    answer = HARNESS.check(racer, machine)
    assert not answer.ok
    assert problem in answer.problem
    assert hint in answer.hint


def test_a_program_or_key_that_is_gone_is_a_fault(machine: Machine, tmp_path: Path):
    assert "opencode not found" == HARNESS.check(LOCAL, Machine({"PATH": "/nowhere"}, tmp_path, False)).problem
    with pytest.raises(HarnessFault, match="opencode not found"):
        HARNESS.session(LOCAL, request(tmp_path), Machine({"PATH": "/nowhere"}, tmp_path, False))
    with pytest.raises(HarnessFault, match="not logged in at anthropic"):
        HARNESS.session(VENDOR, request(tmp_path), made(tmp_path))


def test_a_session_at_an_endpoint(machine: Machine, tmp_path: Path):
    plan = HARNESS.session(replace(LOCAL, args=("--agent", "build")), request(tmp_path), machine)
    assert (
        str(tmp_path / "bin" / "opencode"), "run", "--format", "json", "--print-logs", "--log-level", "INFO",
        "--thinking", "--auto", "--title", "autoquant", "--dir", str(tmp_path / "work tree"),
        "--model", "endpoint/qwen/qwen3-coder", "--agent", "build", "--", "--help is no option",
    ) == plan.argv  # fmt: skip
    assert (tmp_path / "work tree", b"", {}) == (plan.cwd, plan.stdin, plan.links)
    assert "secret" == plan.env["AUTOQUANT_ENDPOINT_KEY"]
    assert "MY_KEY" not in plan.env
    assert "secret" not in "".join((*plan.argv, *plan.files.values()))
    made = config(LOCAL, tmp_path, machine)
    provider = made["provider"]["endpoint"]
    assert "@ai-sdk/openai-compatible" == provider["npm"]  # type: ignore[index]
    assert "http://127.0.0.1:1/v1" == provider["options"]["baseURL"]  # type: ignore[index]
    assert "{env:AUTOQUANT_ENDPOINT_KEY}" == provider["options"]["apiKey"]  # type: ignore[index]
    # Not as a variant, which opencode drops in silence for a model it does not know.
    assert {"qwen/qwen3-coder": {"name": "qwen/qwen3-coder", "options": {"reasoningEffort": "high"}}} == provider[
        "models"
    ]  # type: ignore[index]
    assert "endpoint/qwen/qwen3-coder" == made["model"] == made["small_model"]
    bare = config(replace(LOCAL, effort=""), tmp_path, machine)["provider"]["endpoint"]
    assert {} == bare["models"]["qwen/qwen3-coder"]["options"]  # type: ignore[index]


def test_a_session_at_a_vendor(machine: Machine, tmp_path: Path):
    plan = HARNESS.session(VENDOR, request(tmp_path), machine)
    assert ("--model", "anthropic/claude-x", "--variant", "high", "--", "--help is no option") == plan.argv[-6:]
    assert "sk-secret" == plan.env["ANTHROPIC_API_KEY"]
    assert "--variant" not in HARNESS.session(replace(VENDOR, effort=""), request(tmp_path), machine).argv
    own = HARNESS.session(replace(VENDOR, api_key_env="MY_KEY"), request(tmp_path), machine)
    assert "secret" == own.env["ANTHROPIC_API_KEY"]
    google = replace(VENDOR, model="google/gemini-x")
    plan = HARNESS.session(google, request(tmp_path), made(tmp_path, GEMINI_API_KEY="g"))
    assert "g" == plan.env["GOOGLE_GENERATIVE_AI_API_KEY"]


def test_a_resumed_session_differs_by_its_conversation_only(machine: Machine, tmp_path: Path):
    fresh, resumed = (HARNESS.session(VENDOR, request(tmp_path, name), machine) for name in (None, "ses_1"))
    assert "ses_1" == resumed.argv[resumed.argv.index("--session") + 1]
    assert fresh.argv == tuple(part for part in resumed.argv if part not in ("--session", "ses_1"))
    assert (fresh.env, fresh.files) == (resumed.env, resumed.files)


def test_everything_lives_in_the_private_home_and_asks_nobody(machine: Machine, tmp_path: Path):
    plan = HARNESS.session(VENDOR, request(tmp_path), machine)
    home = tmp_path / "home"
    assert {str(home / ".config"), str(home / ".local/share"), str(home / ".local/state"), str(home / ".cache")} == {
        value for name, value in plan.env.items() if name.startswith("XDG_")
    }
    assert "3600000" == plan.env["OPENCODE_EXPERIMENTAL_BASH_DEFAULT_TIMEOUT_MS"]
    switches = {"AUTOUPDATE", "MODELS_FETCH", "PROJECT_CONFIG", "SHARE", "DEFAULT_PLUGINS"}
    assert switches <= {name.removeprefix("OPENCODE_DISABLE_") for name in plan.env}
    made = config(VENDOR, tmp_path, machine)
    permission = {"*": "allow", "task": "deny", "websearch": "deny", "webfetch": "deny", "question": "deny"}
    assert (False, "disabled", ["anthropic"], permission) == (
        made["autoupdate"], made["share"], made["enabled_providers"], made["permission"],
    )  # fmt: skip
    # The last one to be read wins: none of them may be the agent's own.
    for name in ("config.json", "opencode.jsonc"):
        assert "{}" == plan.files[f".config/opencode/{name}"]
    assert "@opencode-ai/plugin" in plan.files[".config/opencode/package-lock.json"]
    assert ".config/opencode/node_modules/.keep" in plan.files


def test_the_users_login_is_linked_if_it_has_the_provider(machine: Machine, tmp_path: Path):
    stranger = made(tmp_path)
    login = stranger.home / ".local/share/opencode/auth.json"
    login.parent.mkdir(parents=True)
    login.write_text('{"openai": {"type": "oauth", "refresh": "secret"}}')
    assert "not logged in at anthropic" == HARNESS.check(VENDOR, stranger).problem
    login.write_text('{"anthropic": {"type": "api", "key": "secret"}}')
    answer = HARNESS.check(VENDOR, stranger)
    assert (True, "opencode/anthropic/login") == (answer.ok, answer.account)
    assert "auth.json" in answer.login
    plan = HARNESS.session(VENDOR, request(tmp_path), stranger)
    assert {".local/share/opencode/auth.json": login} == plan.links
    assert "ANTHROPIC_API_KEY" not in plan.env
    login.write_text("{")
    assert not HARNESS.check(VENDOR, stranger).ok


def test_a_turn_is_named_before_its_first_request_shown_and_finished():
    events = read("ok")
    assert 1 == len(only(Named, events))
    assert isinstance(events[0], Named)
    assert events[0].session.startswith("ses_")
    assert [ModelSeen("fake-model")] == only(ModelSeen, events)
    assert ["bash", "bash"] == [event.tool for event in only(Called, events)]  # type: ignore[attr-defined]
    assert 'echo "x = 2" > strategy.py && echo edited' == only(Called, events)[0].text  # type: ignore[attr-defined]
    assert [Said("Done: scripted run finished.")] == only(Said, events)
    assert [True] == [event.ok for event in only(Finished, events)]  # type: ignore[attr-defined]
    assert [] == only(Hurt, events)


def test_the_stream_alone_names_the_conversation_too():
    reader = HARNESS.reader()
    line = (GOLDEN / "ok.stdout.jsonl").read_text().split("\n")[0]
    assert read("ok")[0] == reader.stdout(line)[0]


def test_tokens_equal_those_of_the_server():
    # 1,000 and 50 more per tool result; a resumed conversation is the same one.
    assert Usage(1000 + 1050 + 1100, 3 * 400, 3 * 40, 3 * 8, 3) == total("ok")
    assert only(Named, read("ok")) == only(Named, read("resumed"))
    assert Usage(3150 + 1100, 4 * 400, 4 * 40, 4 * 8, 4) == total("ok", "resumed") == total("ok", "resumed", "ok")
    assert all(event.usage.cost_usd is None for event in only(Spent, read("ok")))  # type: ignore[attr-defined]


def test_a_request_whose_tool_was_killed_is_counted_without_its_tokens():
    assert Usage(1000, 400, 40, 8, 2) == total("killed")
    assert [] == only(Finished, read("killed"))


def test_a_known_price_is_kept():
    line = '{"type":"step_finish","sessionID":"ses_1","part":{"messageID":"msg_1","tokens":{"input":600,"output":32,"reasoning":8,"cache":{"write":50,"read":400}},"cost":0.00328}}'  # noqa: E501
    assert (Spent("ses_1", "msg_1.0", Usage(1050, 400, 40, 8, 1, 0.00328)),) == HARNESS.reader().stdout(line)[1:]


@pytest.mark.parametrize(
    ("name", "trouble", "tries", "spent"),
    [
        ("auth", Trouble.AUTH, 1, 0),
        ("rate-limited", Trouble.RATE_LIMIT, 6, 1000),
        ("server-error", Trouble.SERVER, 6, 0),
        ("quota", Trouble.QUOTA, 0, 0),
    ],
)
def test_a_failure_has_its_class_from_the_first_try_on(name: str, trouble: Trouble, tries: int, spent: int):
    hurts = [event for event in read(name) if isinstance(event, Hurt)]
    assert [(trouble, False)] * tries + [(trouble, True)] == [(hurt.trouble, hurt.gives_up) for hurt in hurts]
    assert 1.0 == hurts[-1].retry_after_seconds
    assert [False] == [event.ok for event in only(Finished, read(name))]  # type: ignore[attr-defined]
    assert spent == total(name).input


def test_a_cut_answer_is_asked_again_and_counted_once():
    assert [(Trouble.SERVER, False)] == [(e.trouble, e.gives_up) for e in only(Hurt, read("cut"))]  # type: ignore[attr-defined]
    assert Usage(2050, 800, 80, 16, 2) == total("cut")


@pytest.mark.parametrize(
    ("error", "trouble"),
    [
        ({"name": "ContextOverflowError", "data": {"message": "too long"}}, Trouble.CONTEXT_FULL),
        ({"name": "APIError", "data": {"message": "This model's maximum context length is 8", "statusCode": 400}},
         Trouble.CONTEXT_FULL),
        ({"name": "ProviderAuthError", "data": {"message": "no"}}, Trouble.AUTH),
        ({"name": "APIError", "data": {"message": "no", "statusCode": 429,
          "responseBody": '{"error":{"code":"insufficient_quota"}}'}}, Trouble.QUOTA),
        ({"name": "APIError", "data": {"message": "check your plan and billing", "statusCode": 429,
          "responseBody": '{"retryDelay":"30s"}'}}, Trouble.RATE_LIMIT),
        ({"name": "APIError", "data": {"message": "no such parameter", "statusCode": 400}}, Trouble.SETUP),
        ({"name": "ProviderModelNotFoundError", "data": {}}, Trouble.SETUP),
        ({"name": "UnknownError", "data": {"message": "SSE read timed out"}}, Trouble.SERVER),
    ],
)  # fmt: skip
def test_an_error_is_told_by_status_and_words(error: dict[str, object], trouble: Trouble):
    line = json.dumps({"type": "error", "sessionID": "ses_1", "error": error})
    hurt = only(Hurt, HARNESS.reader().stdout(line))[0]
    assert (trouble, True) == (hurt.trouble, hurt.gives_up)  # type: ignore[attr-defined]


def test_what_a_tool_or_a_model_says_hurts_nobody():
    part = {"tool": "bash", "state": {"input": {"command": "x"}, "output": "429 rate limit 401 unauthorized"}}
    said = {"type": "text", "sessionID": "s", "part": {"text": "error: 401 unauthorized"}}
    for event in ({"type": "tool_use", "sessionID": "s", "part": part}, said):
        assert [] == only(Hurt, HARNESS.reader().stdout(json.dumps(event)))
    shell = 'timestamp=t level=INFO run=r message=evaluated permission=bash pattern="echo level=ERROR 429 rate limit"'
    assert () == HARNESS.reader().stderr(shell)


def test_a_model_it_does_not_know_is_a_matter_of_setup():
    line = (
        'timestamp=t level=ERROR run=r message=failed ref=e error="ProviderModelNotFoundError: Model not found: a/b."'
    )
    for text in (line, "Error: Model not found: a/b"):
        hurt = HARNESS.reader().stderr(text)[0]
        assert (Trouble.SETUP, True) == (hurt.trouble, hurt.gives_up)  # type: ignore[union-attr]
    assert HARNESS.reader().exit(1) is None


words = st.sampled_from(
    ["type", "sessionID", "part", "tokens", "cache", "error", "data", "name", "state", "input", "messageID",
     "responseHeaders", "retry-after", "statusCode", "cost", "text"]
)  # fmt: skip
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=5),
    max_leaves=12,
)
kinds = st.sampled_from(["step_start", "step_finish", "tool_use", "text", "reasoning", "error", "?"])


@given(value=values, kind=kinds, inner=values, cut=st.integers(0, 300), text=st.text(max_size=80))
def test_nothing_a_line_holds_raises(value: object, kind: str, inner: object, cut: int, text: str):
    reader = HARNESS.reader()
    whole = json.dumps({"type": kind, "sessionID": "ses_1", "part": inner, "error": inner})
    log = f'timestamp=t level=ERROR run=r message="stream error" session.id=ses_1 error.error={json.dumps(text)}'
    for line in (json.dumps(value), whole, whole[:cut], text, log, log[:cut]):
        assert () == reader.transcript(line)
        for event in (*reader.stdout(line), *reader.stderr(line)):
            assert isinstance(event, Event)
