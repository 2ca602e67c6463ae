from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import cli_stand
import pytest
from cli_stand import CLIS, KEY, Stand, of

from autoquant.errors import HarnessFault
from autoquant.harness.antigravity_reader import AntigravityReader
from autoquant.harness.base import Competitor
from autoquant.harness.events import Called, Event, Finished, Hurt, ModelSeen, Named, Said, Spent, Trouble, Usage

GOLDEN = CLIS["antigravity"].golden
CONVERSATION = "7c1d2f00-0000-4000-8000-000000000001"
RACER = Competitor("agy", "antigravity", "gemini-3.6-flash-high", "high", "#4285F4")


@pytest.fixture
def agy(tmp_path: Path) -> Stand:
    return Stand("antigravity", tmp_path)


def read(name: str) -> list[Event]:
    endings = ("stdout.jsonl", "stderr.log")
    return cli_stand.read("antigravity", *(f"{name}.{end}" for end in endings if (GOLDEN / f"{name}.{end}").exists()))


def spent(*names: str) -> dict[tuple[str, str | None], Usage]:
    events = [event for name in names for event in read(name)]
    return {(event.conversation, event.request): event.usage for event in of(Spent, events)}


def test_it_is_found_with_its_version_its_login_and_a_warning(agy: Stand):
    answer = agy.check(RACER)
    assert (True, "agy 1.2.17", "API key (GEMINI_API_KEY)") == (answer.ok, answer.version, answer.login)
    assert "never run against a real agy" in answer.note
    assert KEY not in repr(answer)


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
def test_effort_is_said_once(agy: Stand, model: str, effort: str, options: tuple[str, ...]):
    racer = replace(RACER, model=model, effort=effort)
    assert agy.check(racer).ok
    argv = agy.plan(racer).argv
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
def test_model_and_effort_that_do_not_go_together_are_refused(agy: Stand, model: str, effort: str, problem: str):
    racer = replace(RACER, model=model, effort=effort)
    assert problem in agy.check(racer).problem
    with pytest.raises(HarnessFault, match=problem):
        agy.plan(racer)


def test_a_fresh_session_has_its_prompt_glued_to_its_option(agy: Stand):
    plan = agy.plan(replace(RACER, args=("--sandbox",)))
    assert (
        str(agy.root / "bin" / "agy"), "--dangerously-skip-permissions", "--disable-slash-commands",
        "--print-timeout", "24h", "--output-format", "stream-json", "--add-dir", str(agy.root / "work tree"),
        "--model", "gemini-3.6-flash", "--effort", "high", "--sandbox", "--prompt=--go on – ü\n",
    ) == plan.argv  # fmt: skip
    assert (agy.root / "work tree", b"", {}) == (plan.cwd, plan.stdin, plan.links)
    assert {"AGY_CLI_DISABLE_AUTO_UPDATE": "true", "GEMINI_API_KEY": KEY} == plan.env
    assert {"modelProvider": "gemini"} == json.loads(plan.files[".gemini/antigravity-cli/settings.json"])


def test_a_resumed_session_names_its_conversation(agy: Stand):
    argv = agy.plan(RACER, resume=CONVERSATION).argv
    assert ("--conversation", CONVERSATION) == argv[-3:-1]


def test_an_endpoint_and_a_key_of_ones_own_are_passed_on(agy: Stand):
    racer = replace(RACER, base_url="http://127.0.0.1:1", api_key_env="MY_KEY")
    own = agy.machine(GEMINI_API_KEY=KEY, MY_KEY="mine")
    env = agy.plan(racer, own).env
    assert ("http://127.0.0.1:1", "mine") == (env["GOOGLE_GEMINI_BASE_URL"], env["GEMINI_API_KEY"])


def test_a_login_file_is_linked_and_the_provider_left_to_it(agy: Stand):
    login = ".gemini/antigravity-cli/antigravity-oauth-token"
    (agy.root / "user" / login).parent.mkdir(parents=True)
    (agy.root / "user" / login).write_text("{}")
    plan = agy.plan(RACER, agy.machine())
    assert {login: agy.root / "user" / login} == plan.links
    assert "{}" == plan.files[".gemini/antigravity-cli/settings.json"]
    assert "GEMINI_API_KEY" not in plan.env
    assert agy.check(RACER, agy.machine()).ok
    # An endpoint of one's own never sees the user's login.
    assert not agy.check(replace(RACER, base_url="http://127.0.0.1:1"), agy.machine()).ok


def test_a_turn_is_named_shown_and_finished():
    events = read("ok")
    assert [Named(CONVERSATION), ModelSeen("gemini-3.6-flash")] == events[:2]
    assert [Called("run_command", "python run.py -m momentum")] == of(Called, events)
    assert [Said("The budget"), Said(" is used.\n")] == of(Said, events)
    assert Finished(True, "The budget is used.\n") == events[-1]
    assert [] == of(Hurt, events)


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
    hurts = of(Hurt, read(name))
    assert hurts
    assert {(trouble, True, seconds)} == {(hurt.trouble, hurt.gives_up, hurt.retry_after_seconds) for hurt in hurts}  # type: ignore[attr-defined]


def test_what_was_spent_before_a_failure_counts_and_zeros_measure_nothing():
    assert 1000 == spent("quota")[CONVERSATION, "1@2.5"].input
    assert {} == spent("auth") == spent("timeout")
    text = "[agy] print timeout after 5m0s with turn in progress; returning partial output"
    assert [Finished(True, "I have started"), Said(text)] == read("timeout")[-2:]


def test_a_status_without_words_is_told_apart_by_whether_it_comes_back():
    line = 'AGY_ERROR: {"status":"RESOURCE_EXHAUSTED","retryable":%s}'
    seen = [AntigravityReader().stderr(line % word)[0] for word in ("true", "false")]
    assert [Trouble.RATE_LIMIT, Trouble.QUOTA] == [event.trouble for event in seen]  # type: ignore[union-attr]
    unreadable = AntigravityReader().stderr("AGY_ERROR: something unreadable")
    assert (Hurt(Trouble.SERVER, "AGY_ERROR: something unreadable", gives_up=True),) == unreadable
    assert AntigravityReader().exit(3) is None
