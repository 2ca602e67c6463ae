from __future__ import annotations

import json
from pathlib import Path

import cli_stand
import pytest
from cli_stand import KEY, PROMPT, Stand, of, requests, total

from autoquant.harness.claude import DISALLOWED, EFFORTS, PROVED
from autoquant.harness.claude_reader import ClaudeReader
from autoquant.harness.events import Called, Event, Finished, Hurt, ModelSeen, Named, Said, Spent, Trouble, Usage


@pytest.fixture
def claude(tmp_path: Path) -> Stand:
    return Stand("claude", tmp_path)


def read(*names: str) -> list[Event]:
    return cli_stand.read("claude", *names)


# ---------------------------------------------------------------------------------------------------------- the check


def test_an_installed_and_logged_in_cli_is_available(claude: Stand):
    found = claude.check()
    assert (True, f"claude {PROVED}", "API key (ANTHROPIC_API_KEY)", "") == (
        found.ok, found.version, found.login, found.note,
    )  # fmt: skip
    assert KEY not in repr(found)


@pytest.mark.parametrize("effort", ["", "minimal", "ultra"])
def test_an_unknown_effort_is_named_with_those_allowed(claude: Stand, effort: str):
    found = claude.check(claude.competitor(effort=effort))
    assert not found.ok
    assert "low, medium, high, xhigh, max" in found.hint


@pytest.mark.parametrize("model", ["", "opus", "sonnet"])
def test_a_model_must_be_named_exactly(claude: Stand, model: str):
    assert not claude.check(claude.competitor(model=model)).ok


@pytest.mark.parametrize(
    ("model", "effort", "note"),
    [
        ("claude-sonnet-4-5-20250929", "high", "effort high is without effect: the CLI sends none for"),
        ("claude-sonnet-4-5-20250929", "", ""),
        ("claude-opus-4-5", "max", "effort max is sent as high for claude-opus-4-5"),
        ("claude-opus-4-5", "xhigh", "effort xhigh is sent as high"),
        ("claude-sonnet-4-6", "xhigh", "effort xhigh is sent as high"),
        ("claude-opus-4-6", "max", ""),
        ("claude-opus-4-7", "xhigh", ""),
    ],
)
def test_an_effort_that_does_not_reach_the_provider_is_told(claude: Stand, model: str, effort: str, note: str):
    """As 2.1.332 sent it."""
    found = claude.check(claude.competitor(model=model, effort=effort))
    assert found.ok
    assert found.note.startswith(note)
    assert bool(note) == bool(found.note)


def test_without_an_effort_none_is_said(claude: Stand):
    made = claude.plan(claude.competitor(model="claude-sonnet-4-5", effort=""))
    assert "--effort" not in made.argv
    assert not [name for name in made.env if "EFFORT" in name and name != "CLAUDE_CODE_ALWAYS_ENABLE_EFFORT"]


def test_what_changes_for_root_is_told(claude: Stand):
    assert "as root: IS_SANDBOX=1 is set" == claude.check(machine=claude.with_key(is_root=True)).note


def test_an_endpoint_of_ones_own_sees_no_login_of_the_user(claude: Stand):
    claude.log_in(".claude/.credentials.json")
    who = claude.competitor(base_url="http://127.0.0.1:9")
    assert "no key for base_url" == claude.check(who, claude.machine(CLAUDE_CODE_OAUTH_TOKEN="token")).problem


# ----------------------------------------------------------------------------------------------------------- the plan


def test_a_fresh_session_gets_the_prompt_on_standard_input(claude: Stand):
    made = claude.plan()
    assert str(claude.root / "bin" / "claude") == made.argv[0]
    assert PROMPT.encode() == made.stdin
    assert claude.root / "work tree" == made.cwd
    assert "--resume" not in made.argv
    for pair in (("--model", "claude-opus-4-5"), ("--effort", "high"), ("--permission-mode", "bypassPermissions"),
                 ("--setting-sources", "user"), ("--output-format", "stream-json")):  # fmt: skip
        assert pair in zip(made.argv, made.argv[1:], strict=False)


def test_web_and_helpers_are_switched_off(claude: Stand):
    made = claude.plan()
    assert {"WebSearch", "WebFetch", "Task"} <= set(made.argv[made.argv.index("--disallowedTools") + 1].split(","))
    assert ["WebSearch", "WebFetch"] == json.loads(made.files[".claude/settings.json"])["permissions"]["deny"]
    assert len(set(DISALLOWED)) == len(DISALLOWED)


def test_every_model_name_of_the_environment_is_the_competitors(claude: Stand):
    env = claude.plan(claude.competitor(model="claude-opus-4-6")).env
    named = {name: value for name, value in env.items() if name.endswith("_MODEL")}
    assert {"ANTHROPIC_SMALL_FAST_MODEL", "ANTHROPIC_DEFAULT_HAIKU_MODEL"} <= set(named)
    assert {"claude-opus-4-6"} == set(named.values())


@pytest.mark.parametrize("effort", EFFORTS)
def test_the_effort_stands_on_the_command_line_and_in_the_environment(claude: Stand, effort: str):
    made = claude.plan(claude.competitor(effort=effort))
    assert effort == made.argv[made.argv.index("--effort") + 1]
    assert effort == made.env["CLAUDE_CODE_EFFORT_LEVEL"]


def test_the_base_url_and_the_key_reach_the_program_and_the_command_line_holds_no_secret(claude: Stand):
    made = claude.plan(claude.competitor(base_url="http://127.0.0.1:9"))
    assert "http://127.0.0.1:9" == made.env["ANTHROPIC_BASE_URL"]
    assert KEY == made.env["ANTHROPIC_API_KEY"]
    assert KEY not in " ".join(made.argv) + "".join(made.files.values())
    assert "ANTHROPIC_BASE_URL" not in claude.plan().env


def test_root_is_told_to_be_in_a_sandbox(claude: Stand):
    assert "1" == claude.plan(machine=claude.with_key(is_root=True)).env["IS_SANDBOX"]
    assert "IS_SANDBOX" not in claude.plan().env


def test_the_configuration_lives_in_the_private_home(claude: Stand):
    env = claude.plan().env
    assert str(claude.root / "home" / ".claude") == env["CLAUDE_CONFIG_DIR"]
    assert "CLAUDE_SECURESTORAGE_CONFIG_DIR" not in env


def test_a_long_lived_token_is_passed_on(claude: Stand):
    on = claude.machine(CLAUDE_CODE_OAUTH_TOKEN="token")
    env = claude.plan(machine=on).env
    assert ("token", None) == (env["CLAUDE_CODE_OAUTH_TOKEN"], env.get("ANTHROPIC_API_KEY"))


def test_the_users_login_is_linked_and_renewed_where_it_lies(claude: Stand):
    on = claude.machine()
    login = on.home / ".claude" / ".credentials.json"
    login.parent.mkdir(parents=True)
    login.write_text("{}")
    assert claude.check(machine=on).login.startswith("login of the user")
    made = claude.plan(machine=on)
    assert {".claude/.credentials.json": login} == made.links
    assert str(login.parent) == made.env["CLAUDE_SECURESTORAGE_CONFIG_DIR"]


# --------------------------------------------------------------------------------------------------------- the reader


def test_a_session_is_named_by_its_first_line():
    assert [Named("9fe1d188-3614-4133-ad2e-cad3ec5ca39f")] == read("ok.stdout.jsonl")[:1]


def test_a_resume_keeps_the_name():
    assert of(Named, read("ok.stdout.jsonl")) == of(Named, read("resumed.stdout.jsonl"))
    assert of(Named, read("killed.stdout.jsonl")) == of(Named, read("killed-resumed.stdout.jsonl"))


def test_what_is_said_and_called_and_who_answers():
    events = read("ok.stdout.jsonl")
    assert Called("Bash", "echo hi > a.txt") == of(Called, events)[0]
    assert [Said("Done: scripted run finished.")] == of(Said, events)
    assert [ModelSeen("claude-opus-4-5")] == of(ModelSeen, events)
    assert [Finished(True, "Done: scripted run finished.")] == of(Finished, events)
    assert [] == of(Hurt, events)


def test_the_session_file_has_every_request_of_both_sessions():
    """The server answered 3 and then 2 requests, each 1000 tokens in (400 cached) and 40 out."""
    found = requests(read("resumed.transcript.jsonl"))
    assert [Usage(1000, 400, 40, 0, requests=1)] * 5 == list(found.values())


def test_the_clis_own_total_goes_on_over_a_resume_and_carries_the_cost():
    assert Usage(3000, 1200, 120, cost_usd=0.0126) == total(read("ok.stdout.jsonl"))
    for name in ("resumed.stdout.jsonl", "resumed.transcript.jsonl"):
        assert Usage(5000, 2000, 200, cost_usd=pytest.approx(0.021)) == total(read(name))


def test_stream_and_session_file_name_one_conversation():
    names = {event.conversation for name in ("ok.stdout.jsonl", "resumed.stdout.jsonl", "resumed.transcript.jsonl")
             for event in read(name) if isinstance(event, Spent)}  # fmt: skip
    assert {"9fe1d188-3614-4133-ad2e-cad3ec5ca39f"} == names


def test_requests_of_a_killed_session_are_counted_and_the_filler_after_a_kill_is_not():
    """Two requests before the SIGKILL, two after the resume; the CLI's own total knows only the latter."""
    events = read("killed-resumed.transcript.jsonl")
    assert 4 == len(requests(events))
    assert 4000 == sum(usage.input for usage in requests(events).values())
    assert 2000 == total(events).input
    assert {"claude-opus-4-5"} == {event.model for event in of(ModelSeen, events)}
    assert [] == of(Spent, read("killed.stdout.jsonl"))


def test_a_message_of_several_blocks_is_one_request_with_the_largest_count():
    def line(output: int) -> str:
        usage = {"input_tokens": 5, "cache_read_input_tokens": 7, "cache_creation_input_tokens": 11,
                 "output_tokens": output, "output_tokens_details": {"thinking_tokens": 2}}  # fmt: skip
        message = {"id": "msg_1", "model": "m", "usage": usage}
        return json.dumps({"type": "assistant", "sessionId": "s", "message": message})

    reader = ClaudeReader()
    events = [event for output in (1, 9, 3) for event in reader.transcript(line(output))]
    assert {("s", "msg_1"): Usage(23, 7, 9, 2, requests=1)} == requests(events)


def test_a_guessed_price_is_no_price():
    for name in ("unknown-price.stdout.jsonl", "unknown-price.transcript.jsonl"):
        assert Usage(1000, 400, 40) == total(read(name))


def test_a_compaction_is_in_the_total_alone():
    events = read("context-full.transcript.jsonl")
    assert (250_000, 500_000) == (sum(usage.input for usage in requests(events).values()), total(events).input)


@pytest.mark.parametrize(
    ("case", "trouble"),
    [
        ("rate-limited-to-the-end", Trouble.RATE_LIMIT), ("auth", Trouble.AUTH), ("quota", Trouble.QUOTA),
        ("server-error", Trouble.SERVER), ("context-full", Trouble.CONTEXT_FULL), ("unknown-model", Trouble.SETUP),
        ("unknown-session", Trouble.CONTEXT_FULL),
    ],
)  # fmt: skip
def test_the_last_complaint_has_its_class_and_gives_up(case: str, trouble: Trouble):
    events = read(f"{case}.stdout.jsonl")
    hurts = of(Hurt, events)
    assert {trouble} == {hurt.trouble for hurt in hurts}
    assert [False] * (len(hurts) - 1) + [True] == [hurt.gives_up for hurt in hurts]
    assert not of(Finished, events)[-1].ok


def test_a_retry_is_a_complaint_that_does_not_give_up():
    first, second = of(Hurt, read("rate-limited.stdout.jsonl"))
    assert (Trouble.RATE_LIMIT, False, 1.216) == (first.trouble, first.gives_up, first.retry_after_seconds)
    assert "429" in second.message
    assert [Trouble.SERVER] == [hurt.trouble for hurt in of(Hurt, read("cut.stdout.jsonl"))]


def test_a_refusal_of_root_is_a_matter_of_setup():
    assert [(Trouble.SETUP, True)] == [(hurt.trouble, hurt.gives_up) for hurt in of(Hurt, read("root.stderr.txt"))]


def test_a_spent_subscription_is_quota():
    reader = ClaudeReader()
    line = {"type": "rate_limit_event", "rate_limit_info": {"status": "rejected"}}
    assert [Trouble.QUOTA] == [event.trouble for event in reader.stdout(json.dumps(line))]
    line["rate_limit_info"] = {"status": "allowed"}
    assert () == reader.stdout(json.dumps(line))
    said = {"type": "result", "is_error": True, "api_error_status": 400, "result": "Your credit balance is too low"}
    assert Trouble.QUOTA == ClaudeReader().stdout(json.dumps(said))[0].trouble


def test_words_of_the_model_and_of_tools_are_no_complaint():
    words = "API Error: 401 invalid api key, cannot be used with root, prompt is too long"
    block = {"type": "assistant", "message": {"id": "m", "model": "x", "content": [{"type": "text", "text": words}]}}
    result = {"type": "user", "message": {"content": [{"type": "tool_result", "content": words}]}}
    reader = ClaudeReader()
    assert [] == of(Hurt, [event for line in (block, result) for event in reader.stdout(json.dumps(line))])


def test_an_exit_code_tells_nothing():
    assert [None] * 3 == [ClaudeReader().exit(code) for code in (0, 1, 143)]
