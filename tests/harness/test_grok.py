from __future__ import annotations

import json
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import cli_stand
import pytest
from cli_stand import Stand, lines, of, requests

from autoquant.harness.base import Competitor, SessionPlan
from autoquant.harness.events import Called, Event, Finished, Hurt, ModelSeen, Named, Said, Spent, Trouble, Usage
from autoquant.harness.grok_reader import GrokReader

PLAIN = Competitor("grok", "grok", "grok-4.5", "high", "#112233")
LOCAL = replace(PLAIN, base_url="http://127.0.0.1:4000/v1", api_key_env="LOCAL_KEY")


@pytest.fixture
def grok(tmp_path: Path) -> Stand:
    return Stand("grok", tmp_path)


def read(*names: str) -> list[Event]:
    return cli_stand.read("grok", *names)


def configuration(made: SessionPlan) -> dict[str, Any]:
    return tomllib.loads(made.files[".grok/config.toml"])


# --- is it there


def test_a_machine_without_a_login_is_told_how_to_log_in(grok: Stand):
    found = grok.check(PLAIN, grok.machine())
    assert (False, "grok 1.0.41", "not logged in") == (found.ok, found.version, found.problem)
    assert "grok login" in found.hint


def test_a_login_of_the_user_goes_before_a_key_as_in_the_cli(grok: Stand):
    grok.log_in(".grok/auth.json")
    found = grok.check(PLAIN, grok.machine(XAI_API_KEY="xai-1"))
    assert (True, "login of the user (~/.grok/auth.json)", "grok/login") == (found.ok, found.login, found.account)


def test_a_key_will_do_and_its_account_does_not_show_it(grok: Stand):
    found = grok.check(PLAIN, grok.machine(XAI_API_KEY="xai-secret"))
    assert (True, "API key (XAI_API_KEY)", "") == (found.ok, found.login, found.note)
    assert "secret" not in repr(found)


def test_a_named_key_variable_must_be_set_even_when_there_is_a_login(grok: Stand):
    grok.log_in(".grok/auth.json")
    found = grok.check(LOCAL, grok.machine())
    assert (False, "environment variable LOCAL_KEY is not set") == (found.ok, found.problem)


@pytest.mark.parametrize(
    ("model", "effort", "good"),
    [
        ("grok-4.5", "high", True),
        ("grok-4.5", "xhigh", False),
        ("grok-4.6", "xhigh", True),
        ("grok-4.6", "max", False),
        ("some-model", "max", True),
        ("some-model", "huge", False),
        ("some-model", "", False),
        ("", "high", False),
    ],
)
def test_the_effort_must_be_one_the_model_takes(grok: Stand, model: str, effort: str, good: bool):
    found = grok.check(replace(PLAIN, model=model, effort=effort), grok.machine(XAI_API_KEY="k"))
    assert good == found.ok
    assert good or found.hint


# --- how it is started


def test_a_fresh_session_has_its_prompt_in_a_file(grok: Stand):
    made = grok.plan(PLAIN, grok.machine(XAI_API_KEY="xai-1"))
    expected = (
        str(grok.root / "bin" / "grok"), "--no-auto-update", "--prompt-file", str(grok.root / "home" / "prompt.md"),
        "--always-approve", "--output-format", "streaming-json", "--model", "grok-4.5", "--reasoning-effort", "high",
        "--disable-web-search", "--no-subagents", "--no-plan",
    )  # fmt: skip
    assert expected == made.argv
    assert b"" == made.stdin
    assert grok.root / "work tree" == made.cwd
    assert (str(grok.root / "home/.grok"), "xai-1") == (made.env["GROK_HOME"], made.env["XAI_API_KEY"])
    assert {} == made.links


def test_a_resumed_session_names_the_conversation_and_keeps_the_effort(grok: Stand):
    made = grok.plan(replace(PLAIN, args=("--max-turns", "9")), grok.machine(XAI_API_KEY="k"), resume="01a2-b")
    assert ("--resume", "01a2-b", "--max-turns", "9") == made.argv[-4:]
    assert "high" == made.argv[made.argv.index("--reasoning-effort") + 1]


def test_a_renewed_login_goes_to_the_users_own_file(grok: Stand):
    file = grok.log_in(".grok/auth.json")
    made = grok.plan(PLAIN, grok.machine(XAI_API_KEY="xai-1"))
    assert {".grok/auth.json": file} == made.links
    assert str(file) == made.env["GROK_AUTH_PATH"]
    assert "XAI_API_KEY" not in made.env


def test_a_base_url_gets_every_request_and_a_key_of_its_own(grok: Stand):
    grok.log_in(".grok/auth.json")
    made = grok.plan(LOCAL, grok.machine(LOCAL_KEY="k", XAI_API_KEY="xai-1"))
    model = configuration(made)["model"]["grok-4.5"]
    assert "http://127.0.0.1:4000/v1" == model["base_url"]
    assert "k" == made.env[model["env_key"]]
    assert not {"XAI_API_KEY", "GROK_AUTH_PATH"} & set(made.env)
    assert {} == made.links


def test_for_the_vendor_no_key_is_named_since_it_would_move_the_requests(grok: Stand):
    model = configuration(grok.plan(PLAIN, grok.machine(XAI_API_KEY="k")))["model"]["grok-4.5"]
    assert {"model": "grok-4.5", "reasoning_efforts": [{"value": "high"}]} == model


def test_a_model_grok_does_not_know_keeps_its_effort(grok: Stand):
    unknown = replace(LOCAL, model='my "own".model', effort="max")
    settings = configuration(grok.plan(unknown, grok.machine(LOCAL_KEY="k")))
    assert [{"value": "max"}] == settings["model"]['my "own".model']["reasoning_efforts"]
    assert 'my "own".model' == settings["models"]["default"]


def test_titles_are_asked_of_a_closed_port_on_this_machine(grok: Stand):
    settings = configuration(grok.plan(PLAIN, grok.machine(XAI_API_KEY="k")))
    nobody = settings["model"][settings["models"]["session_summary"]]
    assert ("http://127.0.0.1:9/v1", 0) == (nobody["base_url"], nobody["max_retries"])


def test_what_could_tilt_a_race_is_off(grok: Stand):
    made = grok.plan(PLAIN, grok.machine(XAI_API_KEY="k"))
    settings = configuration(made)
    assert ("1", "0") == (made.env["GROK_DISABLE_AUTOUPDATER"], made.env["GROK_MEMORY"])
    assert False is settings["cli"]["auto_update"]
    assert {False} == set(settings["features"].values())
    assert {"telemetry", "turn_summary", "title_refresh"} <= set(settings["features"])
    assert {False} == {settings[part]["enabled"] for part in ("memory", "memory_v2", "subagents")}
    assert {True} == set(settings["harness"].values())
    assert 3_600 <= settings["toolset"]["bash"]["timeout_secs"]
    assert settings["toolset"]["bash"]["auto_background_on_timeout"] is False
    assert {"XAI_API_KEY", "AUTOQUANT_GATEWAY_KEY"} == set(settings["shell_environment_policy"]["exclude"])


# --- what it prints, and what it writes down


def test_the_stream_tells_what_was_called_said_and_finished():
    events = read("ok.stdout.jsonl")
    commands = ["echo one; echo y=2 >> strategy.py", "echo two"]
    assert [Called("run_terminal_command", command) for command in commands] == [
        event for event in events if isinstance(event, Called)
    ]
    assert [Said("Done: scripted run finished.")] == [event for event in events if isinstance(event, Said)]
    assert [ModelSeen("grok-4.5")] == [event for event in events if isinstance(event, ModelSeen)]
    assert Finished(True, "Done: scripted run finished.") == events[-1]


def test_pieces_of_a_text_are_put_together():
    reader = GrokReader()
    pieces = [("thought", "Let me "), ("thought", "see."), ("text", "It "), ("text", "works.")]
    events = [e for kind, data in pieces for e in reader.stdout(json.dumps({"type": kind, "data": data}))]
    events += reader.stdout('{"type":"end","stopReason":"end_turn"}')
    assert [Said("Let me see."), Said("It works."), Finished(True, "It works.")] == events


def test_a_total_is_of_one_session_and_has_the_cached_part_in_its_input():
    (first,), (second,) = of(Spent, read("ok.stdout.jsonl")), of(Spent, read("resumed.stdout.jsonl"))
    assert Usage(3150, 1200, 120, 24, 3) == first.usage
    assert Usage(1100, 400, 40, 8, 1) == second.usage
    assert first.conversation != second.conversation
    assert (None, "grok-4.5") == (first.request, first.model)


def test_the_log_has_each_request_once_as_the_server_logged_it():
    usages = requests(
        read("ok.transcript.jsonl", "resumed.transcript.jsonl")
    )  # the second begins with the first one's lines
    assert [1000, 1050, 1100, 1100] == [usage.input for usage in usages.values()]
    assert {(400, 40, 8, 1)} == {(u.cached, u.output, u.reasoning, u.requests) for u in usages.values()}


def test_requests_and_total_of_a_session_are_of_one_conversation_so_that_none_counts_twice():
    totals = of(Spent, read("ok.stdout.jsonl")) + of(Spent, read("resumed.stdout.jsonl"))
    by_request = requests(read("resumed.transcript.jsonl"))
    for total in totals:
        parts = [usage for (conversation, _), usage in by_request.items() if conversation == total.conversation]
        assert total.usage.input == sum(usage.input for usage in parts)
        assert total.usage.requests == len(parts)


def test_a_request_whose_prompt_is_unknown_does_not_count():
    reader = GrokReader()
    done = [line for line in lines("grok", "ok.transcript.jsonl") if "inference_done" in line]
    assert [(), (), ()] == [reader.transcript(line) for line in done]


def test_stream_and_log_name_the_conversation_before_its_end():
    named = [event for event in read("ok.stdout.jsonl") if isinstance(event, Named)]
    assert 3 == len(named)  # at the end of each command, and at the end
    assert 1 == len(set(named))
    assert named[0] == read("ok.transcript.jsonl")[0]


def test_a_kill_in_the_middle_of_a_tool_loses_no_tokens_and_no_conversation():
    events, written = read("killed.stdout.jsonl"), read("killed.transcript.jsonl")
    assert not [event for event in events if isinstance(event, Finished | Spent)]
    assert 2050 == sum(one.usage.input for one in of(Spent, written))  # both requests the server answered
    assert written[0] == next(event for event in events if isinstance(event, Named))


@pytest.mark.parametrize(
    ("message", "trouble"),
    [
        ("Not signed in. To authenticate without a browser, run:\n  grok login --device-code", Trouble.AUTH),
        ("API error (status 400 Bad Request): Incorrect API key provided: k.", Trouble.AUTH),
        ("API error (status 402 Payment Required): billing_error: scripted 402", Trouble.QUOTA),
        ("You hit your weekly limit.", Trouble.QUOTA),
        ("insufficient_quota: You exceeded your current quota, please check your plan.", Trouble.QUOTA),
        ("Some resource has been exhausted: Too many requests. Your team's rate limit is 60", Trouble.RATE_LIMIT),
        ("API error (status 400 Bad Request): Your input exceeds the context window.", Trouble.CONTEXT_FULL),
        ("Couldn't set model 'nosuch': Invalid params: \"unknown model id\".", Trouble.SETUP),
        ("--effort/--reasoning-effort: unknown effort level 'huge'; use one of: high, medium, low", Trouble.SETUP),
        ("serialization error: missing field `created_at`", Trouble.SERVER),
    ],
)  # fmt: skip
def test_each_message_has_its_class(message: str, trouble: Trouble):
    hurt = GrokReader().stdout(json.dumps({"type": "error", "message": message}))[0]
    assert isinstance(hurt, Hurt)
    assert trouble == hurt.trouble


def test_another_model_that_answers_is_seen():
    events = read("rerouted.stdout.jsonl")
    assert {"grok-4.5", "gpt-5.6-sneaky"} == {event.model for event in events if isinstance(event, ModelSeen)}
    assert [None] == [one.model for one in of(Spent, events)]


def test_a_figure_of_cost_is_taken_and_none_is_not_free():
    end = {"type": "end", "sessionId": "s", "requestId": "p", "usage": {"input_tokens": 1}}
    (without,) = of(Spent, list(GrokReader().stdout(json.dumps(end))))
    (priced,) = of(Spent, list(GrokReader().stdout(json.dumps(end | {"total_cost_usd": 0.25}))))
    assert (None, 0.25) == (without.usage.cost_usd, priced.usage.cost_usd)


def test_words_of_a_model_or_a_tool_are_no_complaint():
    reader = GrokReader()
    said = '{"type":"text","data":"error: status 401 rate limit"}'
    ran = '{"type":"tool_call_update","rawOutput":{"output_for_prompt":"429 Too Many Requests","output_file":""}}'
    assert (Said("error: status 401 rate limit"),) == (*reader.stdout(said), *reader.stdout(ran))


def test_what_stands_in_the_stream_already_is_not_heard_twice():
    assert [] == [event for line in lines("grok", "auth.stderr.txt") for event in GrokReader().stderr(line)]


def test_a_refused_command_line_is_a_matter_of_setup():
    events = [event for line in lines("grok", "refused.stderr.txt") for event in GrokReader().stderr(line)]
    assert [Trouble.SETUP] == [event.trouble for event in events if isinstance(event, Hurt)]
    hurt = GrokReader().exit(2)
    assert hurt is not None
    assert Trouble.SETUP == hurt.trouble
    assert [None, None] == [GrokReader().exit(0), GrokReader().exit(1)]
