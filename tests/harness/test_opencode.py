from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import cli_stand
import pytest
from cli_stand import PROMPT, Stand, lines, of

from autoquant.harness.base import Competitor
from autoquant.harness.events import Called, Event, Finished, Hurt, ModelSeen, Named, Said, Spent, Trouble, Usage
from autoquant.harness.machine import Machine
from autoquant.harness.opencode import PROVED
from autoquant.harness.opencode_reader import OpencodeReader

LOCAL = Competitor(
    "oc", "opencode", "qwen/qwen3-coder", "high", "#000000", base_url="http://127.0.0.1:1/v1", api_key_env="MY_KEY"
)
VENDOR = Competitor("oc", "opencode", "anthropic/claude-x", "high", "#000000")
SCRIPT = """\
[ "$1" = --version ] && { echo 1.18.33; exit; }
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
def opencode(tmp_path: Path) -> Stand:
    return Stand("opencode", tmp_path)


@pytest.fixture
def machine(opencode: Stand) -> Machine:
    return opencode.machine(script=SCRIPT, MY_KEY="secret", ANTHROPIC_API_KEY="sk-secret")


def read(name: str) -> list[Event]:
    """Both streams through one reader, the log first: how they interleave is not recorded."""
    return cli_stand.read("opencode", f"{name}.stderr.log", f"{name}.stdout.jsonl")


def config(opencode: Stand, racer: Competitor, machine: Machine) -> dict[str, dict[str, object]]:
    return json.loads(opencode.plan(racer, machine).files[".config/opencode/opencode.json"])


def total(*names: str) -> Usage:
    counted = {}
    for event in (event for name in names for event in read(name)):
        if isinstance(event, Spent):
            counted[event.conversation, event.request] = event.usage
    fields = ("input", "cached", "output", "reasoning", "requests")
    return Usage(*(sum(getattr(use, field) for use in counted.values()) for field in fields))


def test_it_is_found_with_its_version_and_its_login(opencode: Stand, machine: Machine):
    for racer, name in ((LOCAL, "MY_KEY"), (VENDOR, "ANTHROPIC_API_KEY")):
        answer = opencode.check(racer, machine)
        assert (True, f"opencode {PROVED}", f"API key ({name})", "") == (
            answer.ok, answer.version, answer.login, answer.note,
        )  # fmt: skip
        assert "secret" not in repr(answer)


def test_a_provider_s_models_are_asked_for_once(opencode: Stand):
    counting = f"echo $1 >> {opencode.root}/asked\n" + SCRIPT
    machine = opencode.machine(script=counting, ANTHROPIC_API_KEY="x")
    for model in ("anthropic/claude-x", "anthropic/claude-x", "anthropic/claude-y"):
        opencode.check(replace(VENDOR, model=model), machine)
    assert ["--version", "models"] == (opencode.root / "asked").read_text().split()


@pytest.mark.parametrize(
    ("racer", "problem", "hint"),
    [
        (replace(VENDOR, model="anthropic/claude-y"), "knows no model anthropic/claude-y", "opencode models anthropic"),
        (replace(VENDOR, effort="ultra"), "effort 'ultra' unknown to anthropic/claude-x", "one of low, high"),
        (replace(VENDOR, model="anthropic/claude-x-plain"), "claude-x-plain takes no effort", "remove effort"),
        (replace(VENDOR, model="claude-x"), "'claude-x' is not provider/model", "opencode models"),
        (replace(VENDOR, model="openai/gpt-x"), "not logged in at openai", "set OPENAI_API_KEY, or log in"),
        (replace(VENDOR, api_key_env="NO_KEY"), "environment variable NO_KEY is not set", "set NO_KEY"),
        (replace(LOCAL, api_key_env="NO_KEY"), "environment variable NO_KEY is not set", "any text"),
        (replace(LOCAL, api_key_env=""), "no key for base_url", "api_key_env"),
        (replace(LOCAL, effort="extreme"), "effort 'extreme' unknown", "none, minimal, low, medium, high"),
        (replace(LOCAL, model=""), "no model", "endpoint"),
    ],
)
def test_what_is_wrong_is_said_with_a_way_to_mend_it(
    opencode: Stand, machine: Machine, racer: Competitor, problem: str, hint: str
):
    answer = opencode.check(racer, machine)
    assert not answer.ok
    assert problem in answer.problem
    assert hint in answer.hint


def test_a_session_at_an_endpoint(opencode: Stand, machine: Machine):
    plan = opencode.plan(replace(LOCAL, args=("--agent", "build")), machine)
    assert (
        str(opencode.root / "bin" / "opencode"), "run", "--format", "json", "--print-logs", "--log-level", "INFO",
        "--thinking", "--auto", "--title", "autoquant", "--dir", str(opencode.root / "work tree"),
        "--model", "endpoint/qwen/qwen3-coder", "--agent", "build", "--", PROMPT,
    ) == plan.argv  # fmt: skip
    assert (opencode.root / "work tree", b"", {}) == (plan.cwd, plan.stdin, plan.links)
    assert "secret" == plan.env["AUTOQUANT_ENDPOINT_KEY"]
    assert "MY_KEY" not in plan.env
    assert "secret" not in "".join((*plan.argv, *plan.files.values()))
    made = config(opencode, LOCAL, machine)
    provider = made["provider"]["endpoint"]
    assert "@ai-sdk/openai-compatible" == provider["npm"]  # type: ignore[index]
    assert "http://127.0.0.1:1/v1" == provider["options"]["baseURL"]  # type: ignore[index]
    assert "{env:AUTOQUANT_ENDPOINT_KEY}" == provider["options"]["apiKey"]  # type: ignore[index]
    # Not as a variant, which opencode drops in silence for a model it does not know.
    assert {"qwen/qwen3-coder": {"name": "qwen/qwen3-coder", "options": {"reasoningEffort": "high"}}} == provider[
        "models"
    ]  # type: ignore[index]
    assert "endpoint/qwen/qwen3-coder" == made["model"] == made["small_model"]
    bare = config(opencode, replace(LOCAL, effort=""), machine)["provider"]["endpoint"]
    assert {} == bare["models"]["qwen/qwen3-coder"]["options"]  # type: ignore[index]


def test_a_session_at_a_vendor(opencode: Stand, machine: Machine):
    plan = opencode.plan(VENDOR, machine)
    assert ("--model", "anthropic/claude-x", "--variant", "high", "--", PROMPT) == plan.argv[-6:]
    assert "sk-secret" == plan.env["ANTHROPIC_API_KEY"]
    assert "--variant" not in opencode.plan(replace(VENDOR, effort=""), machine).argv
    own = opencode.plan(replace(VENDOR, api_key_env="MY_KEY"), machine)
    assert "secret" == own.env["ANTHROPIC_API_KEY"]
    google = replace(VENDOR, model="google/gemini-x")
    plan = opencode.plan(google, opencode.machine(script=SCRIPT, GEMINI_API_KEY="g"))
    assert "g" == plan.env["GOOGLE_GENERATIVE_AI_API_KEY"]


def test_everything_lives_in_the_private_home_and_asks_nobody(opencode: Stand, machine: Machine):
    plan = opencode.plan(VENDOR, machine)
    home = opencode.root / "home"
    assert {str(home / ".config"), str(home / ".local/share"), str(home / ".local/state"), str(home / ".cache")} == {
        value for name, value in plan.env.items() if name.startswith("XDG_")
    }
    assert "3600000" == plan.env["OPENCODE_EXPERIMENTAL_BASH_DEFAULT_TIMEOUT_MS"]
    switches = {"AUTOUPDATE", "MODELS_FETCH", "PROJECT_CONFIG", "SHARE", "DEFAULT_PLUGINS"}
    assert switches <= {name.removeprefix("OPENCODE_DISABLE_") for name in plan.env}
    made = config(opencode, VENDOR, machine)
    permission = {"*": "allow", "task": "deny", "websearch": "deny", "webfetch": "deny", "question": "deny"}
    assert (False, "disabled", ["anthropic"], permission) == (
        made["autoupdate"], made["share"], made["enabled_providers"], made["permission"],
    )  # fmt: skip
    # The last one to be read wins: none of them may be the agent's own.
    for name in ("config.json", "opencode.jsonc"):
        assert "{}" == plan.files[f".config/opencode/{name}"]
    assert "@opencode-ai/plugin" in plan.files[".config/opencode/package-lock.json"]
    assert ".config/opencode/node_modules/.keep" in plan.files


def test_the_users_login_is_linked_if_it_has_the_provider(opencode: Stand, machine: Machine):
    stranger = opencode.machine(script=SCRIPT)
    login = stranger.home / ".local/share/opencode/auth.json"
    login.parent.mkdir(parents=True)
    login.write_text('{"openai": {"type": "oauth", "refresh": "secret"}}')
    assert "not logged in at anthropic" == opencode.check(VENDOR, stranger).problem
    login.write_text('{"anthropic": {"type": "api", "key": "secret"}}')
    answer = opencode.check(VENDOR, stranger)
    assert (True, "opencode/anthropic/login") == (answer.ok, answer.account)
    assert "auth.json" in answer.login
    plan = opencode.plan(VENDOR, stranger)
    assert {".local/share/opencode/auth.json": login} == plan.links
    assert "ANTHROPIC_API_KEY" not in plan.env
    login.write_text("{")
    assert not opencode.check(VENDOR, stranger).ok


def test_a_turn_is_named_before_its_first_request_shown_and_finished():
    events = read("ok")
    assert 1 == len(of(Named, events))
    assert isinstance(events[0], Named)
    assert events[0].session.startswith("ses_")
    assert [ModelSeen("fake-model")] == of(ModelSeen, events)
    assert ["bash", "bash"] == [event.tool for event in of(Called, events)]  # type: ignore[attr-defined]
    assert 'echo "x = 2" > strategy.py && echo edited' == of(Called, events)[0].text  # type: ignore[attr-defined]
    assert [Said("Done: scripted run finished.")] == of(Said, events)
    assert [True] == [event.ok for event in of(Finished, events)]  # type: ignore[attr-defined]
    assert [] == of(Hurt, events)


def test_the_stream_alone_names_the_conversation_too():
    reader = OpencodeReader()
    line = lines("opencode", "ok.stdout.jsonl")[0]
    assert read("ok")[0] == reader.stdout(line)[0]


def test_tokens_equal_those_of_the_server():
    # 1,000 and 50 more per tool result; a resumed conversation is the same one.
    assert Usage(1000 + 1050 + 1100, 3 * 400, 3 * 40, 3 * 8, 3) == total("ok")
    assert of(Named, read("ok")) == of(Named, read("resumed"))
    assert Usage(3150 + 1100, 4 * 400, 4 * 40, 4 * 8, 4) == total("ok", "resumed") == total("ok", "resumed", "ok")
    assert all(event.usage.cost_usd is None for event in of(Spent, read("ok")))  # type: ignore[attr-defined]


def test_a_request_whose_tool_was_killed_is_counted_without_its_tokens():
    assert Usage(1000, 400, 40, 8, 2) == total("killed")
    assert [] == of(Finished, read("killed"))


def test_a_known_price_is_kept():
    line = '{"type":"step_finish","sessionID":"ses_1","part":{"messageID":"msg_1","tokens":{"input":600,"output":32,"reasoning":8,"cache":{"write":50,"read":400}},"cost":0.00328}}'  # noqa: E501
    assert (Spent("ses_1", "msg_1.0", Usage(1050, 400, 40, 8, 1, 0.00328)),) == OpencodeReader().stdout(line)[1:]


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
    assert [False] == [event.ok for event in of(Finished, read(name))]  # type: ignore[attr-defined]
    assert spent == total(name).input


def test_a_cut_answer_is_asked_again_and_counted_once():
    assert [(Trouble.SERVER, False)] == [(e.trouble, e.gives_up) for e in of(Hurt, read("cut"))]  # type: ignore[attr-defined]
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
    hurt = of(Hurt, OpencodeReader().stdout(line))[0]
    assert (trouble, True) == (hurt.trouble, hurt.gives_up)  # type: ignore[attr-defined]


def test_what_a_tool_or_a_model_says_hurts_nobody():
    part = {"tool": "bash", "state": {"input": {"command": "x"}, "output": "429 rate limit 401 unauthorized"}}
    said = {"type": "text", "sessionID": "s", "part": {"text": "error: 401 unauthorized"}}
    for event in ({"type": "tool_use", "sessionID": "s", "part": part}, said):
        assert [] == of(Hurt, OpencodeReader().stdout(json.dumps(event)))
    shell = 'timestamp=t level=INFO run=r message=evaluated permission=bash pattern="echo level=ERROR 429 rate limit"'
    assert () == OpencodeReader().stderr(shell)


def test_a_model_it_does_not_know_is_a_matter_of_setup():
    line = (
        'timestamp=t level=ERROR run=r message=failed ref=e error="ProviderModelNotFoundError: Model not found: a/b."'
    )
    for text in (line, "Error: Model not found: a/b"):
        hurt = OpencodeReader().stderr(text)[0]
        assert (Trouble.SETUP, True) == (hurt.trouble, hurt.gives_up)  # type: ignore[union-attr]
    assert OpencodeReader().exit(1) is None
