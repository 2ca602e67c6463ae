from __future__ import annotations

import json
import tomllib
from dataclasses import replace
from pathlib import Path

import cli_stand
import pytest
from cli_stand import PROMPT, Stand, lines, of, requests

from autoquant.harness.base import Competitor, SessionPlan
from autoquant.harness.codex_reader import CodexReader
from autoquant.harness.events import Called, Event, Finished, Hurt, ModelSeen, Named, Said, Spent, Trouble, Usage

LUNA = Competitor("luna", "codex", "gpt-5.6-luna", "high", "#112233")
LOCAL = replace(LUNA, base_url="http://127.0.0.1:4000/v1", api_key_env="LOCAL_KEY")


@pytest.fixture
def codex(tmp_path: Path) -> Stand:
    return Stand("codex", tmp_path)


def read(*names: str) -> list[Event]:
    return cli_stand.read("codex", *names)


def configuration(made: SessionPlan) -> dict[str, object]:
    return tomllib.loads(made.files[".codex/config.toml"])


# --- is it there


def test_a_machine_without_a_login_is_told_how_to_log_in(codex: Stand):
    found = codex.check(LUNA, codex.machine())
    assert (False, "codex 0.171.0", "not logged in") == (found.ok, found.version, found.problem)
    assert "codex login" in found.hint


def test_a_login_of_the_user_will_do_and_is_one_account_for_all(codex: Stand):
    codex.log_in(".codex/auth.json")
    found = codex.check(LUNA, codex.machine(OPENAI_API_KEY="sk-1"))
    assert (True, "login of the user (~/.codex/auth.json)", "codex/login", "") == (
        found.ok,
        found.login,
        found.account,
        found.note,
    )


@pytest.mark.parametrize("name", ["CODEX_API_KEY", "OPENAI_API_KEY"])
def test_a_key_will_do_and_its_account_does_not_show_it(codex: Stand, name: str):
    found = codex.check(LUNA, codex.machine(**{name: "sk-secret"}))
    assert (True, f"API key ({name})") == (found.ok, found.login)
    assert "secret" not in repr(found)


def test_a_named_key_variable_must_be_set_even_when_there_is_a_login(codex: Stand):
    codex.log_in(".codex/auth.json")
    found = codex.check(LOCAL, codex.machine())
    assert (False, "environment variable LOCAL_KEY is not set") == (found.ok, found.problem)


@pytest.mark.parametrize(
    ("model", "effort", "good"),
    [
        ("gpt-5.6-luna", "max", True),
        ("gpt-5.6-luna", "ultra", False),
        ("gpt-5.6-sol", "ultra", True),
        ("gpt-5.6-terra", "minimal", False),
        ("gpt-5.5", "max", False),
        ("some-model", "ultra", True),
        ("some-model", "huge", False),
        ("some-model", "", False),
        ("", "high", False),
    ],
)
def test_the_effort_must_be_one_the_model_takes(codex: Stand, model: str, effort: str, good: bool):
    found = codex.check(replace(LUNA, model=model, effort=effort), codex.machine(OPENAI_API_KEY="k"))
    assert good == found.ok
    assert good or found.hint


# --- how it is started


def test_a_fresh_session_has_its_prompt_on_standard_input(codex: Stand):
    made = codex.plan(LUNA, codex.machine(OPENAI_API_KEY="sk-1"))
    expected = (
        str(codex.root / "bin" / "codex"), "exec", "--json", "--skip-git-repo-check",
        "--dangerously-bypass-approvals-and-sandbox", "--model", "gpt-5.6-luna", "-c", 'model_reasoning_effort="high"',
        "-",
    )  # fmt: skip
    assert expected == made.argv
    assert PROMPT.encode() == made.stdin
    assert codex.root / "work tree" == made.cwd
    assert {"CODEX_HOME": str(codex.root / "home/.codex"), "CODEX_API_KEY": "sk-1"} == made.env
    assert {} == made.links


def test_a_resumed_session_names_the_conversation_and_keeps_the_effort(codex: Stand):
    made = codex.plan(replace(LUNA, args=("-c", "x=1")), codex.machine(OPENAI_API_KEY="k"), resume="01a2-b")
    assert ("exec", "resume", "--json") == made.argv[1:4]
    assert ("-c", 'model_reasoning_effort="high"', "-c", "x=1", "01a2-b", "-") == made.argv[-6:]
    assert not {"-C", "-s"} & set(made.argv)


def test_a_login_is_linked_and_no_key_is_passed_on(codex: Stand):
    file = codex.log_in(".codex/auth.json")
    made = codex.plan(LUNA, codex.machine(OPENAI_API_KEY="sk-1"))
    assert {".codex/auth.json": file} == made.links
    assert {"CODEX_HOME": str(codex.root / "home/.codex")} == made.env


def test_the_vendors_own_provider_is_not_touched(codex: Stand):
    settings = configuration(codex.plan(LUNA, codex.machine(OPENAI_API_KEY="k")))
    assert not {"model_provider", "model_providers"} & set(settings)


def test_a_base_url_gets_every_request_and_a_key_of_its_own(codex: Stand):
    codex.log_in(".codex/auth.json")
    made = codex.plan(LOCAL, codex.machine(LOCAL_KEY="k", OPENAI_API_KEY="sk-1"))
    settings = configuration(made)
    provider = settings["model_providers"]["arena"]  # type: ignore[index]
    assert "arena" == settings["model_provider"]
    assert ("http://127.0.0.1:4000/v1", "responses", False) == (
        provider["base_url"],
        provider["wire_api"],
        provider["supports_websockets"],
    )
    assert "k" == made.env[provider["env_key"]]
    assert "CODEX_API_KEY" not in made.env
    assert {} == made.links


def test_what_could_tilt_a_race_is_off(codex: Stand):
    settings = configuration(codex.plan(LUNA, codex.machine(OPENAI_API_KEY="k")))
    assert "disabled" == settings["web_search"]
    assert False is settings["check_for_update_on_startup"]
    assert {"plugins": False, "apps": False, "memories": False, "unbounded_connection_retries": False} == settings[
        "features"
    ]
    assert {"enabled": False} == settings["agents"] == settings["analytics"]
    assert {"CODEX_API_KEY", "AUTOQUANT_GATEWAY_KEY"} == set(settings["shell_environment_policy"]["exclude"])  # type: ignore[index]


def test_only_ultra_may_delegate_for_that_is_what_it_means(codex: Stand):
    ultra = replace(LUNA, model="gpt-5.6-sol", effort="ultra")
    assert {"enabled": True} == configuration(codex.plan(ultra, codex.machine(OPENAI_API_KEY="k")))["agents"]


# --- what it prints, and what it writes down


def test_the_stream_names_the_conversation_first_and_finishes_last():
    events = read("ok.stdout.jsonl")
    assert isinstance(events[0], Named)
    assert Finished(True, "Done: scripted run finished.") == events[-1]
    commands = ["/bin/bash -lc 'echo one; echo y=2 >> strategy.py'", "/bin/bash -lc 'echo two'"]
    assert [Called("shell", command) for command in commands] == [e for e in events if isinstance(e, Called)]
    assert [Said("Done: scripted run finished.")] == [event for event in events if isinstance(event, Said)]


def test_the_totals_of_the_stream_are_those_of_the_whole_conversation():
    first, second = read("ok.stdout.jsonl"), read("resumed.stdout.jsonl")
    assert first[0] == second[0]
    totals = [event for event in (*first, *second) if isinstance(event, Spent)]
    assert [(None, Usage(3150, 1200, 120, 24)), (None, Usage(4250, 1600, 160, 32))] == [
        (spent.request, spent.usage) for spent in totals
    ]
    assert 1 == len({spent.conversation for spent in totals})


def test_the_session_file_has_each_request_once_as_the_server_logged_it():
    # The second file begins with the first one's lines.
    events = read("ok.transcript.jsonl", "resumed.transcript.jsonl")
    usages = requests(events)
    assert [1000, 1050, 1100, 1100] == [usage.input for usage in usages.values()]
    assert {(400, 40, 8, 1)} == {(use.cached, use.output, use.reasoning, use.requests) for use in usages.values()}
    assert {"gpt-5.6-luna"} == {one.model for one in of(Spent, events)}
    assert {Named(conversation) for conversation, _ in usages} == {read("ok.stdout.jsonl")[0]}


def test_a_kill_in_the_middle_of_a_tool_loses_no_tokens_and_no_conversation():
    events, usages = read("killed.stdout.jsonl"), requests(read("killed.transcript.jsonl"))
    assert [] == of(Finished, events) == of(Spent, events)
    assert {Named(conversation) for conversation, _ in usages} == {events[0]}
    assert 2050 == sum(usage.input for usage in usages.values())  # both requests the server answered


def test_the_session_file_names_the_conversation_to_resume_not_that_of_a_sub_agent():
    line = (
        '{"timestamp":"t","type":"token_usage_record","payload":{"thread_id":"child","turn_id":"t","session_id":"root",'
        '"response_id":"r","usage":{"input_tokens":5}}}'
    )
    assert (Named("root"), Spent("child", "r", Usage(input=5, requests=1))) == CodexReader().transcript(line)


def test_a_response_without_an_id_is_told_apart_by_what_was_spent_before_it():
    line = (
        '{"type":"token_usage_record","payload":{"thread_id":"a","turn_id":"t","usage":{"input_tokens":5},'
        '"thread_token_usage":{"total_tokens":%d}}}'
    )
    one, other = (CodexReader().transcript(line % total)[0] for total in (5, 10))
    assert isinstance(one, Spent)
    assert isinstance(other, Spent)
    assert one.request != other.request


def test_while_codex_tries_again_nothing_is_given_up():
    assert [False] * 11 + [True] == [hurt.gives_up for hurt in of(Hurt, read("rate-limited.stdout.jsonl"))]


def test_the_wait_a_provider_asks_for_is_heard():
    assert [3.054] == [hurt.retry_after_seconds for hurt in of(Hurt, read("asked-to-wait.stdout.jsonl"))]


@pytest.mark.parametrize(
    ("message", "trouble"),
    [
        ("Missing environment variable: `X`.", Trouble.AUTH),
        ("Your access token could not be refreshed. Please log out and sign in again.", Trouble.AUTH),
        ("Please log in to use this workspace.", Trouble.AUTH),
        ("stream disconnected: catalog in use", Trouble.SERVER),
        ("Quota exceeded. Check your plan and billing details.", Trouble.QUOTA),
        ("unexpected status 402 Payment Required: scripted 402, url: http://127.0.0.1:4000", Trouble.QUOTA),
        ("The model `x` does not exist or you do not have access to it.", Trouble.SETUP),
        ("{\"detail\": \"The 'x' model is not supported when using Codex with a ChatGPT account.\"}", Trouble.SETUP),
        ("Selected model is at capacity. Please try a different model.", Trouble.SERVER),
        ("Connection failed: error sending request", Trouble.SERVER),
        ("something new", Trouble.SERVER),
    ],
)  # fmt: skip
def test_each_message_has_its_class(message: str, trouble: Trouble):
    hurt = CodexReader().stdout(json.dumps({"type": "turn.failed", "error": {"message": message}}))[0]
    assert isinstance(hurt, Hurt)
    assert trouble == hurt.trouble


def test_another_model_that_answers_is_seen():
    events = read("rerouted.stdout.jsonl")
    assert [ModelSeen("gpt-5.6-sneaky")] == [event for event in events if isinstance(event, ModelSeen)]
    assert not [event for event in events if isinstance(event, Hurt)]


def test_words_of_a_model_or_a_tool_are_no_complaint():
    said = '{"type":"item.completed","item":{"type":"agent_message","text":"error: 401 rate limit usage limit"}}'
    ran = '{"type":"item.completed","item":{"type":"command_execution","aggregated_output":"429 Too Many Requests"}}'
    reader = CodexReader()
    assert (Said("error: 401 rate limit usage limit"),) == reader.stdout(said)
    assert () == reader.stdout(ran)


def test_a_refused_command_line_is_a_matter_of_setup():
    events = [event for line in lines("codex", "refused.stderr.txt") for event in CodexReader().stderr(line)]
    assert [Trouble.SETUP] == [event.trouble for event in events if isinstance(event, Hurt)]
    hurt = CodexReader().exit(2)
    assert hurt is not None
    assert Trouble.SETUP == hurt.trouble
    assert [None, None] == [CodexReader().exit(0), CodexReader().exit(1)]


def test_log_lines_of_things_codex_gets_over_are_no_complaint():
    line = (
        "2026-11-30T17:12:32Z ERROR codex_models_manager::manager: failed to refresh available models: 401 rate limit"
    )
    assert () == CodexReader().stderr(line)
