from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoquant.errors import HarnessFault
from autoquant.harness.base import Competitor, SessionPlan, SessionRequest
from autoquant.harness.claude import DISALLOWED, EFFORTS, PROVED, ClaudeHarness
from autoquant.harness.claude_reader import ClaudeReader
from autoquant.harness.events import Called, Event, Finished, Hurt, ModelSeen, Named, Said, Spent, Trouble, Usage
from autoquant.harness.machine import Machine

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / f"claude-{PROVED}"
HARNESS = ClaudeHarness()
KEY = {"ANTHROPIC_API_KEY": "key-one"}


def competitor(**changes: object) -> Competitor:
    facts: dict[str, object] = {
        "name": "x", "harness": "claude", "model": "claude-opus-4-5", "effort": "high", "colour": "#000000",
    }  # fmt: skip
    return Competitor(**(facts | changes))  # type: ignore[arg-type]


def machine(root: Path, *, env: dict[str, str] | None = None, says: str = PROVED, is_root: bool = False) -> Machine:
    folder = root / "bin"
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "claude"
    program.write_text(f"#!/bin/sh\necho '{says} (Claude Code)'\n")
    program.chmod(0o755)
    return Machine({"PATH": str(folder), **(KEY if env is None else env)}, root / "user", is_root)


def plan(root: Path, who: Competitor, *, resume: str | None = None, on: Machine | None = None) -> SessionPlan:
    request = SessionRequest(root / "work tree", root / "prompt.md", "Go on – ü\n", root / "home", 1, 0, resume)
    return HARNESS.session(who, request, on or machine(root))


def read(name: str) -> list[Event]:
    reader = ClaudeReader()
    call = {"stdout": reader.stdout, "stderr": reader.stderr, "transcript": reader.transcript}[name.split(".")[1]]
    return [event for line in (GOLDEN / name).read_text().splitlines() for event in call(line)]


def of(kind: type, events: list[Event]) -> list[Event]:
    return [event for event in events if isinstance(event, kind)]


def requests(events: list[Event]) -> dict[str, Usage]:
    """Usage per request, as the arena keeps it: the same one again replaces."""
    return {event.request: event.usage for event in events if isinstance(event, Spent) and event.request}


def total(events: list[Event]) -> Usage:
    return [event.usage for event in events if isinstance(event, Spent) and event.request is None][-1]


# ---------------------------------------------------------------------------------------------------------- the check


def test_an_installed_and_logged_in_cli_is_available(tmp_path: Path):
    found = HARNESS.check(competitor(), machine(tmp_path))
    assert (True, f"claude {PROVED}", "API key (ANTHROPIC_API_KEY)", "") == (
        found.ok, found.version, found.login, found.note,
    )  # fmt: skip
    assert "key-one" not in repr(found)


def test_a_missing_program_says_how_to_install_it(tmp_path: Path):
    found = HARNESS.check(competitor(), Machine({"PATH": str(tmp_path), **KEY}, tmp_path, False))
    assert (False, "claude not found") == (found.ok, found.problem)
    assert "npm install" in found.hint


def test_a_program_without_a_version_is_a_problem(tmp_path: Path):
    assert not HARNESS.check(competitor(), machine(tmp_path, says="hello")).ok


def test_another_version_is_only_a_note(tmp_path: Path):
    found = HARNESS.check(competitor(), machine(tmp_path, says="2.2.0"))
    assert (True, f"proved with {PROVED}") == (found.ok, found.note)


@pytest.mark.parametrize("effort", ["", "minimal", "ultra"])
def test_an_unknown_effort_is_named_with_those_allowed(tmp_path: Path, effort: str):
    found = HARNESS.check(competitor(effort=effort), machine(tmp_path))
    assert not found.ok
    assert "low, medium, high, xhigh, max" in found.hint


@pytest.mark.parametrize("model", ["", "opus", "sonnet"])
def test_a_model_must_be_named_exactly(tmp_path: Path, model: str):
    assert not HARNESS.check(competitor(model=model), machine(tmp_path)).ok


def test_a_model_without_effort_is_told(tmp_path: Path):
    assert "sends no effort" in HARNESS.check(competitor(model="claude-sonnet-4-5-20250929"), machine(tmp_path)).note
    assert "" == HARNESS.check(competitor(model="claude-sonnet-4-6"), machine(tmp_path)).note


def test_without_any_credential_it_is_not_logged_in(tmp_path: Path):
    found = HARNESS.check(competitor(), machine(tmp_path, env={}))
    assert (False, "not logged in") == (found.ok, found.problem)
    with pytest.raises(HarnessFault, match="not logged in"):
        plan(tmp_path, competitor(), on=machine(tmp_path, env={}))


def test_a_named_key_variable_must_be_set_and_is_the_only_one_used(tmp_path: Path):
    who = competitor(api_key_env="GATEWAY_KEY")
    assert "GATEWAY_KEY is not set" in HARNESS.check(who, machine(tmp_path)).problem
    on = machine(tmp_path, env={**KEY, "GATEWAY_KEY": "other"})
    assert "API key (GATEWAY_KEY)" == HARNESS.check(who, on).login
    assert "other" == plan(tmp_path, who, on=on).env["ANTHROPIC_API_KEY"]


def test_racers_of_one_key_share_an_account(tmp_path: Path):
    one, other = (HARNESS.check(competitor(name=name), machine(tmp_path)) for name in ("a", "b"))
    third = HARNESS.check(competitor(), machine(tmp_path, env={"ANTHROPIC_API_KEY": "key-two"}))
    assert one.account == other.account != third.account


# ----------------------------------------------------------------------------------------------------------- the plan


def test_a_fresh_session_gets_the_prompt_on_standard_input(tmp_path: Path):
    made = plan(tmp_path, competitor())
    assert str(tmp_path / "bin" / "claude") == made.argv[0]
    assert "Go on – ü\n".encode() == made.stdin
    assert tmp_path / "work tree" == made.cwd
    assert "--resume" not in made.argv
    for pair in (("--model", "claude-opus-4-5"), ("--effort", "high"), ("--permission-mode", "bypassPermissions"),
                 ("--setting-sources", "user"), ("--output-format", "stream-json")):  # fmt: skip
        assert pair in zip(made.argv, made.argv[1:], strict=False)


def test_a_resume_differs_by_the_id_alone(tmp_path: Path):
    fresh, resumed = plan(tmp_path, competitor()), plan(tmp_path, competitor(), resume="abc")
    assert ("--resume", "abc") == resumed.argv[-2:]
    assert fresh.argv == resumed.argv[:-2]
    assert (fresh.env, fresh.files, fresh.stdin) == (resumed.env, resumed.files, resumed.stdin)


def test_options_of_the_roster_come_last(tmp_path: Path):
    assert ("--max-turns", "9") == plan(tmp_path, competitor(args=("--max-turns", "9"))).argv[-2:]


def test_web_and_helpers_are_switched_off(tmp_path: Path):
    made = plan(tmp_path, competitor())
    assert {"WebSearch", "WebFetch", "Task"} <= set(made.argv[made.argv.index("--disallowedTools") + 1].split(","))
    assert ["WebSearch", "WebFetch"] == json.loads(made.files[".claude/settings.json"])["permissions"]["deny"]
    assert len(set(DISALLOWED)) == len(DISALLOWED)


def test_every_model_name_of_the_environment_is_the_competitors(tmp_path: Path):
    env = plan(tmp_path, competitor(model="claude-opus-4-6")).env
    named = {name: value for name, value in env.items() if name.endswith("_MODEL")}
    assert {"ANTHROPIC_SMALL_FAST_MODEL", "ANTHROPIC_DEFAULT_HAIKU_MODEL"} <= set(named)
    assert {"claude-opus-4-6"} == set(named.values())


@pytest.mark.parametrize("effort", EFFORTS)
def test_the_effort_stands_on_the_command_line_and_in_the_environment(tmp_path: Path, effort: str):
    made = plan(tmp_path, competitor(effort=effort))
    assert effort == made.argv[made.argv.index("--effort") + 1]
    assert effort == made.env["CLAUDE_CODE_EFFORT_LEVEL"]


def test_the_base_url_and_the_key_reach_the_program_and_the_command_line_holds_no_secret(tmp_path: Path):
    made = plan(tmp_path, competitor(base_url="http://127.0.0.1:9"))
    assert "http://127.0.0.1:9" == made.env["ANTHROPIC_BASE_URL"]
    assert "key-one" == made.env["ANTHROPIC_API_KEY"]
    assert "key-one" not in " ".join(made.argv) + "".join(made.files.values())
    assert "ANTHROPIC_BASE_URL" not in plan(tmp_path, competitor()).env


def test_root_is_told_to_be_in_a_sandbox(tmp_path: Path):
    assert "1" == plan(tmp_path, competitor(), on=machine(tmp_path, is_root=True)).env["IS_SANDBOX"]
    assert "IS_SANDBOX" not in plan(tmp_path, competitor()).env


def test_the_configuration_lives_in_the_private_home(tmp_path: Path):
    env = plan(tmp_path, competitor()).env
    assert str(tmp_path / "home" / ".claude") == env["CLAUDE_CONFIG_DIR"]
    assert "CLAUDE_SECURESTORAGE_CONFIG_DIR" not in env


def test_a_long_lived_token_is_passed_on(tmp_path: Path):
    on = machine(tmp_path, env={"CLAUDE_CODE_OAUTH_TOKEN": "token"})
    env = plan(tmp_path, competitor(), on=on).env
    assert ("token", None) == (env["CLAUDE_CODE_OAUTH_TOKEN"], env.get("ANTHROPIC_API_KEY"))


def test_the_users_login_is_linked_and_renewed_where_it_lies(tmp_path: Path):
    on = machine(tmp_path, env={})
    login = on.home / ".claude" / ".credentials.json"
    login.parent.mkdir(parents=True)
    login.write_text("{}")
    assert HARNESS.check(competitor(), on).login.startswith("login of the user")
    made = plan(tmp_path, competitor(), on=on)
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


def test_the_file_has_the_same_keys_however_often_it_is_read():
    assert read("killed-resumed.transcript.jsonl") == read("killed-resumed.transcript.jsonl")


def test_a_message_of_several_blocks_is_one_request_with_the_largest_count():
    def line(output: int) -> str:
        usage = {"input_tokens": 5, "cache_read_input_tokens": 7, "cache_creation_input_tokens": 11,
                 "output_tokens": output, "output_tokens_details": {"thinking_tokens": 2}}  # fmt: skip
        message = {"id": "msg_1", "model": "m", "usage": usage}
        return json.dumps({"type": "assistant", "sessionId": "s", "message": message})

    reader = ClaudeReader()
    events = [event for output in (1, 9, 3) for event in reader.transcript(line(output))]
    assert {"msg_1": Usage(23, 7, 9, 2, requests=1)} == requests(events)


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


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=9)
    | st.sampled_from(["system", "init", "assistant", "result", "api_retry", "cost-state", "rate_limit_event"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["type", "subtype", "message", "content", "usage", "id", "model", "sessionId", "session_id",
                         "modelUsage", "error", "errors", "result", "is_error", "input_tokens", "name", "input",
                         "error_status", "retry_delay_ms", "api_error_status", "total_cost_usd", "costBasis"]),
        inner, max_size=6),
    max_leaves=20,
)  # fmt: skip


@given(JSON, st.integers(0, 200), st.text())
def test_nothing_a_line_holds_raises(value: object, cut: int, foreign: str):
    reader = ClaudeReader()
    line = json.dumps(value)
    for read_one in (reader.stdout, reader.stderr, reader.transcript):
        for garbage in (line, line[:cut], foreign, "{" + foreign):
            read_one(garbage)


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.jsonl")), ids=lambda path: path.name)
def test_no_cut_line_of_a_real_stream_raises(path: Path):
    reader = ClaudeReader()
    for line in path.read_text().splitlines():
        for end in range(0, len(line), 97):
            assert () == reader.stdout(line[:end])
            assert () == reader.transcript(line[:end])
