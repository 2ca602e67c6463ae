"""What holds for every adapter of an agent CLI, whichever it is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_stand import CLIS, KEY, Stand, of, read
from hypothesis import given
from hypothesis import strategies as st

from autoquant.errors import HarnessFault
from autoquant.harness import ADAPTERS
from autoquant.harness.events import Event, Finished, Hurt, Trouble
from autoquant.harness.machine import Machine

AGENTS = sorted(CLIS)
RECORDED = [kind for kind in AGENTS if kind != "antigravity"]


@pytest.fixture(params=AGENTS)
def stand(request: pytest.FixtureRequest, tmp_path: Path) -> Stand:
    """At an endpoint, with a key of another name."""
    return Stand(request.param, tmp_path, {"base_url": "http://127.0.0.1:1/v1", "api_key_env": "MY_KEY"})


@pytest.fixture
def machine(stand: Stand) -> Machine:
    return stand.machine(MY_KEY=KEY)


def test_every_kind_but_the_two_of_our_own_is_here():
    assert {*AGENTS, "command", "control"} == set(ADAPTERS)


# --- the check


def test_a_key_is_handed_on_and_stands_in_no_argument_and_no_file(stand: Stand, machine: Machine):
    """INV-27."""
    answer = stand.check(machine=machine)
    assert (True, stand.cli.version, "API key (MY_KEY)") == (answer.ok, answer.version, answer.login)
    assert KEY not in repr(answer)
    plan = stand.plan(machine=machine)
    assert KEY in plan.env.values()
    assert not [part for part in plan.argv if KEY in part]
    assert not [name for name, content in plan.files.items() if KEY in content]
    assert all(not Path(name).is_absolute() and ".." not in name for name in [*plan.files, *plan.links])


def test_without_program_key_or_known_effort_the_problem_and_its_mending_are_named(stand: Stand, machine: Machine):
    missing = stand.check(machine=Machine({"PATH": str(stand.root)}, stand.root, is_root=False))
    no_key = stand.check(stand.competitor(api_key_env="NO_SUCH_KEY"), machine)
    no_key_named = stand.check(stand.competitor(api_key_env=""), machine)
    effort = stand.check(stand.competitor(effort="tremendous"), machine)
    assert f"{stand.cli.program} not found" == missing.problem
    assert "environment variable NO_SUCH_KEY is not set" == no_key.problem
    assert "no key for base_url" == no_key_named.problem
    assert "any text will do for a local server" in no_key_named.hint
    assert "tremendous" in effort.problem
    answers = (missing, no_key, no_key_named, effort)
    assert [(False, True)] * 4 == [(answer.ok, bool(answer.hint)) for answer in answers]


def test_a_program_without_a_version_is_a_problem_and_another_version_a_note(stand: Stand):
    other = stand.check(machine=stand.machine(script="echo 99.9.9\n", MY_KEY=KEY))
    assert (True, f"{stand.cli.program} 99.9.9") == (other.ok, other.version)
    assert other.note
    broken = stand.check(machine=stand.machine(script="echo node: not found >&2; exit 127\n", MY_KEY=KEY))
    assert "gives no version" in broken.problem


@pytest.mark.parametrize(
    ("kind", "variable"), [("gemini", "GEMINI_CLI_HOME"), ("grok", "GROK_HOME"), ("opencode", "XDG_DATA_HOME")]
)
def test_asking_a_version_leaves_nothing_in_the_users_home(kind: str, variable: str, tmp_path: Path):
    stand = Stand(kind, tmp_path, {"base_url": "http://127.0.0.1:1/v1", "api_key_env": "MY_KEY"})
    home = tmp_path / "user"
    leaves = f'place="${{{variable}:-{home}}}"; mkdir -p "$place"; echo x > "$place/left"; echo \'{stand.cli.says}\'\n'
    assert stand.check(machine=stand.machine(script=leaves, MY_KEY=KEY)).ok
    assert [] == list(home.iterdir())


def test_a_program_or_a_login_that_is_gone_is_a_fault(stand: Stand):
    with pytest.raises(HarnessFault, match=f"{stand.kind}: environment variable MY_KEY is not set"):
        stand.plan(machine=stand.machine())
    with pytest.raises(HarnessFault, match=f"{stand.kind}: {stand.cli.program} not found"):
        stand.plan(machine=Machine({"PATH": str(stand.root)}, stand.root, is_root=False))


def test_racers_of_one_key_share_an_account(stand: Stand, machine: Machine):
    accounts = [stand.check(stand.competitor(name=name), machine).account for name in ("a", "b")]
    assert accounts[0] == accounts[1] != stand.check(machine=stand.machine(MY_KEY="another")).account


REDIRECTS = {
    "antigravity": ("GOOGLE_GEMINI_BASE_URL", "GEMINI_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI"),
    "claude": ("ANTHROPIC_BASE_URL", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CONFIG_DIR"),
    "codex": ("OPENAI_BASE_URL", "OPENAI_API_KEY", "CODEX_API_KEY", "CODEX_HOME"),
    "gemini": ("GOOGLE_GEMINI_BASE_URL", "GEMINI_API_KEY", "GOOGLE_API_KEY", "GEMINI_MODEL", "CODE_ASSIST_ENDPOINT"),
    "grok": ("XAI_API_KEY", "GROK_XAI_API_BASE_URL", "GROK_AUTH_PATH", "GROK_HOME"),
    "opencode": ("OPENCODE_CONFIG_CONTENT", "OPENAI_BASE_URL", "XDG_CONFIG_HOME", "MISTRAL_API_KEY"),
}


def test_no_variable_of_the_roster_leads_to_another_endpoint_or_account(stand: Stand, machine: Machine):
    for name in (*REDIRECTS[stand.kind], "AUTOQUANT_GATEWAY_KEY"):
        for changes in ({"env": {name: "x"}}, {"pass_env": (name,)}):
            answer = stand.check(stand.competitor(**changes), machine)
            assert (False, True) == (answer.ok, name in answer.problem)
            assert "base_url" in answer.hint
            assert "api_key_env" in answer.hint
    harmless = {"CLAUDE_CODE_MAX_RETRIES": "2", "HTTPS_PROXY": "http://proxy", "RUST_LOG": "warn"}
    assert stand.check(stand.competitor(env=harmless), machine).ok


def test_only_claude_changes_anything_for_root(stand: Stand):
    answers = [stand.check(machine=stand.machine(is_root=is_root, MY_KEY=KEY)) for is_root in (True, False)]
    assert (stand.kind == "claude") == (answers[0] != answers[1])


# --- the plan


def test_a_resumed_session_differs_from_a_fresh_one_by_its_conversation_alone(stand: Stand, machine: Machine):
    fresh, resumed = (stand.plan(machine=machine, resume=resume) for resume in (None, "conv-77"))
    assert Path(fresh.argv[0]).is_absolute()
    assert stand.root / "work tree" == fresh.cwd
    at = resumed.argv.index("conv-77")
    option = 1 if resumed.argv[at - 1].startswith("--") and stand.kind != "codex" else 0
    without = (*resumed.argv[: at - option], *resumed.argv[at + 1 :])
    assert fresh.argv == tuple(part for part in without if part != "resume")
    assert (fresh.env, fresh.files, fresh.stdin) == (resumed.env, resumed.files, resumed.stdin)


def test_the_roster_s_own_options_reach_the_command_line(stand: Stand, machine: Machine):
    for resume in (None, "conv-77"):
        plan = stand.plan(stand.competitor(args=("--mine", "a b")), machine, resume)
        at = plan.argv.index("--mine")
        assert "a b" == plan.argv[at + 1]


def test_what_makes_the_race_fair_is_said(stand: Stand):
    assert len(ADAPTERS[stand.kind].settings) >= 3


@pytest.mark.parametrize(
    ("kind", "facts", "asked"),
    [
        ("antigravity", {"model": "gemini-3.6-flash-high"}, "gemini-3.6-flash"),
        ("antigravity", {"model": "claude-opus-4-6-thinking", "effort": ""}, "claude-opus-4-6-thinking"),
        ("antigravity", {"model": "gemini-3.6-flash-low", "effort": "high"}, ""),
        ("claude", {"model": "claude-sonnet-4-6[1m]"}, "claude-sonnet-4-6"),
        ("codex", {"model": "gpt-5.6-sol"}, "gpt-5.6-sol"),
        ("codex", {"model": "gpt-5-chat-latest"}, ""),
        ("gemini", {"model": "gemini-flash-latest"}, ""),
        ("grok", {"model": "grok-4.5"}, "grok-4.5"),
        ("opencode", {"model": "anthropic/claude-opus-4-5", "base_url": ""}, "claude-opus-4-5"),
        ("opencode", {"model": "openrouter/qwen/qwen3-coder", "base_url": ""}, "qwen/qwen3-coder"),
        ("opencode", {"model": "qwen/qwen3-coder", "base_url": "http://127.0.0.1:1/v1"}, "qwen/qwen3-coder"),
        ("command", {"model": "anything"}, ""),
        ("control", {"model": "hillclimb"}, ""),
    ],
)
def test_the_model_that_should_answer_is_known_or_cannot_be_compared(
    kind: str, facts: dict[str, object], asked: str, tmp_path: Path
):
    racer = Stand("claude", tmp_path).competitor(harness=kind, **facts)
    assert asked == ADAPTERS[kind].asked_model(racer)


# --- the readers


def streams(kind: str, case: str) -> list[Event]:
    """Both streams of a recorded case, as the arena reads them: standard output first."""
    names = [f"{case}.{ending}" for ending in ("stdout.jsonl", "stderr.log", "stderr.txt")]
    return read(kind, *(name for name in names if (CLIS[kind].golden / name).exists()))


@pytest.mark.parametrize("kind", RECORDED)
@pytest.mark.parametrize(
    ("case", "trouble"),
    [
        ("lost-conversation", Trouble.CONTEXT_FULL),
        ("forbidden-page", Trouble.SERVER),
        ("forbidden-key", Trouble.AUTH),
        ("auth", Trouble.AUTH),
        ("quota", Trouble.QUOTA),
        ("server-error", Trouble.SERVER),
    ],
)
def test_a_recorded_complaint_has_its_class_and_ends_the_turn(kind: str, case: str, trouble: Trouble):
    events = streams(kind, case)
    hurts = of(Hurt, events)
    assert {trouble} == {hurt.trouble for hurt in hurts}
    if kind == "codex" and case.startswith("forbidden"):
        return  # it tries again for minutes
    assert any(hurt.gives_up for hurt in hurts)
    assert [False] == [event.ok for event in of(Finished, events)]


@pytest.mark.parametrize(
    ("kind", "case", "seconds"),
    [
        ("claude", "asked-to-wait", 3.597),
        ("codex", "asked-to-wait", 3.054),
        ("gemini", "asked-to-wait", 2.5),
        ("opencode", "asked-to-wait", 2.0),
        ("opencode", "rate-limited", 1.0),
    ],
)
def test_the_wait_a_provider_asked_for_stands_at_the_last_complaint(kind: str, case: str, seconds: float):
    assert seconds == of(Hurt, streams(kind, case))[-1].retry_after_seconds


def test_a_wait_is_repeated_where_a_later_complaint_lacks_it():
    reader = ADAPTERS["codex"].reader()
    tries = {"type": "error", "message": "Reconnecting... (Rate limit reached. Please try again in 20s.)"}
    ends = {"type": "turn.failed", "error": {"message": "exceeded retry limit, last status: 429 Too Many Requests"}}
    heard = {"type": "item.completed", "item": {"type": "agent_message", "text": "Done."}}
    lines = [json.dumps(line) for line in (tries, ends, heard, ends)]
    hurts = of(Hurt, [event for line in lines for event in reader.stdout(line)])
    assert [20.0, 20.0, None] == [hurt.retry_after_seconds for hurt in hurts]


WORDS = [
    "type", "subtype", "event", "role", "message", "content", "usage", "id", "model", "sessionId", "session_id",
    "sessionID", "error", "errors", "result", "is_error", "name", "input", "part", "tokens", "cache", "data",
    "state", "init", "step_update", "step_type", "status", "conversation_id", "tool_info", "parameters", "payload",
    "item", "thread_id", "turn_id", "response_id", "changes", "msg", "sid", "ts", "ctx", "prompt_id", "modelUsage",
    "rawInput", "rawOutput", "command", "$set", "messages", "toolCalls", "severity", "stats", "total_tokens",
    "error_status", "retry_delay_ms", "api_error_status", "total_cost_usd", "responseHeaders", "retry-after",
    "statusCode", "cost", "text", "messageID", "costBasis", "isSidechain", "input_tokens", "step_index",
]  # fmt: skip
KINDS = [
    "system", "init", "assistant", "user", "result", "api_retry", "cost-state", "rate_limit_event", "message",
    "tool_use", "error", "gemini", "thread.started", "item.started", "item.completed", "turn.failed",
    "turn.completed", "session_meta", "turn_context", "agent_message", "token_usage_record", "file_change",
    "command_execution", "text", "thought", "tool_call", "tool_call_update", "end", "step_start",
    "shell.turn.inference_done", "shell.handle_prompt.start", "step_finish", "reasoning", "step_update",
]  # fmt: skip
VALUES = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=9) | st.sampled_from(KINDS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=6),
    max_leaves=20,
)


@given(st.sampled_from(sorted(ADAPTERS)), st.sampled_from(KINDS), VALUES, st.text(max_size=300), st.integers(-64, 255))
def test_no_line_and_no_exit_code_makes_a_reader_raise(kind: str, word: str, value: object, text: str, code: int):
    reader = ADAPTERS[kind].reader()
    shape = dict.fromkeys(WORDS, value) | {"type": word, "event": word, "msg": word, word: value, "sid": "s"}
    whole = json.dumps(shape | {"sessionID": "s", "sessionId": "s", "is_error": True})
    log = f'timestamp=t level=ERROR run=r message="stream error" session.id=ses_1 error.error={json.dumps(text)}'
    stated = (f"AGY_ERROR: {json.dumps(value)}", f"error: {text}", f"Attempt 1 failed {text}", "{" + text)
    for line in (whole, json.dumps(value), whole[: code * 4], text, log, log[:code], *stated):
        for read_one in (reader.stdout, reader.stderr, reader.transcript):
            assert all(isinstance(event, Event) for event in read_one(line))
    reader.exit(code)


@pytest.mark.parametrize("kind", AGENTS)
def test_no_cut_line_of_a_recorded_stream_raises_and_reading_twice_gives_the_same(kind: str):
    for path in sorted(CLIS[kind].golden.glob("*.*.*")):
        assert read(kind, path.name) == read(kind, path.name)
        reader = ADAPTERS[kind].reader()
        for line in path.read_text().splitlines():
            for end in range(0, len(line), 97):
                if path.name.endswith(".jsonl"):
                    assert () == reader.stdout(line[:end]) == reader.transcript(line[:end])
                reader.stderr(line[:end])


@pytest.mark.parametrize("args", [("-m", "other"), ("--model=other",), ("--effort", "low"), ("--api-key=sk-abc",)])
def test_options_that_would_make_the_record_untrue_or_hold_a_key_are_refused(
    args: tuple[str, ...], stand: Stand, machine: Machine
):
    answer = stand.check(stand.competitor(args=args), machine)
    assert not answer.ok
    assert "args" in answer.problem


def test_one_key_at_two_endpoints_is_two_accounts(stand: Stand, machine: Machine):
    accounts = {stand.check(stand.competitor(base_url=f"http://127.0.0.1:{port}"), machine).account for port in (1, 2)}
    assert 2 == len(accounts)
