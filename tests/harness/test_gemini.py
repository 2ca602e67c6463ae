from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoquant.errors import HarnessFault
from autoquant.harness.base import Competitor, SessionPlan, SessionRequest
from autoquant.harness.events import Called, Event, Finished, Hurt, ModelSeen, Named, Said, Spent, Trouble, Usage
from autoquant.harness.gemini import EFFORTS, PROVED, GeminiHarness
from autoquant.harness.gemini_reader import GeminiReader
from autoquant.harness.gemini_resume import mended_chats, mending
from autoquant.harness.machine import Machine

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / f"gemini-{PROVED}"
HARNESS = GeminiHarness()
KEY = {"GEMINI_API_KEY": "key-one"}
SESSION = "ec0f2dc3-2142-47d7-a828-630389f193b8"


def competitor(**changes: object) -> Competitor:
    facts: dict[str, object] = {
        "name": "x", "harness": "gemini", "model": "gemini-3.6-flash", "effort": "high", "colour": "#000000",
    }  # fmt: skip
    return Competitor(**(facts | changes))  # type: ignore[arg-type]


def machine(root: Path, *, env: dict[str, str] | None = None, says: str = PROVED) -> Machine:
    folder = root / "bin"
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "gemini"
    program.write_text(f"#!/bin/sh\necho '{says}'\n")
    program.chmod(0o755)
    return Machine({"PATH": str(folder), **(KEY if env is None else env)}, root / "user", False)


def plan(root: Path, who: Competitor, *, resume: str | None = None, on: Machine | None = None) -> SessionPlan:
    request = SessionRequest(root / "work tree", root / "prompt.md", "Go on – ü\n", root / "home", 1, 0, resume)
    return HARNESS.session(who, request, on or machine(root))


def settings(made: SessionPlan) -> dict[str, dict[str, object]]:
    assert made.files[".gemini/settings.json"] == made.files[".gemini/race-settings.json"]
    return json.loads(made.files[".gemini/race-settings.json"])  # type: ignore[no-any-return]


def read(name: str) -> list[Event]:
    reader = GeminiReader()
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


def test_an_installed_cli_with_a_key_is_available(tmp_path: Path):
    found = HARNESS.check(competitor(), machine(tmp_path))
    assert (True, f"gemini {PROVED}", "API key (GEMINI_API_KEY)", "") == (
        found.ok, found.version, found.login, found.note,
    )  # fmt: skip
    assert "key-one" not in repr(found)


def test_a_missing_program_says_how_to_install_it(tmp_path: Path):
    found = HARNESS.check(competitor(), Machine({"PATH": str(tmp_path), **KEY}, tmp_path, False))
    assert (False, "gemini not found") == (found.ok, found.problem)
    assert "npm install" in found.hint


def test_another_version_is_only_a_note_and_none_is_a_problem(tmp_path: Path):
    found = HARNESS.check(competitor(), machine(tmp_path, says="0.62.0"))
    assert (True, f"proved with {PROVED}") == (found.ok, found.note)
    assert not HARNESS.check(competitor(), machine(tmp_path / "b", says="hello")).ok


@pytest.mark.parametrize("effort", ["", "xhigh", "HIGH"])
def test_an_unknown_effort_is_named_with_those_allowed(tmp_path: Path, effort: str):
    found = HARNESS.check(competitor(effort=effort), machine(tmp_path))
    assert not found.ok
    assert "minimal, low, medium, high" in found.hint


@pytest.mark.parametrize("model", ["", "auto", "auto-gemini-3", "pro", "flash", "flash-lite", "gemini-2.5-pro"])
def test_a_model_must_be_named_exactly_and_know_thinking_levels(tmp_path: Path, model: str):
    assert not HARNESS.check(competitor(model=model), machine(tmp_path)).ok


def test_a_plain_http_endpoint_must_be_on_this_machine(tmp_path: Path):
    assert HARNESS.check(competitor(base_url="http://127.0.0.1:9"), machine(tmp_path)).ok
    assert HARNESS.check(competitor(base_url="https://gateway.example"), machine(tmp_path)).ok
    assert "https" in HARNESS.check(competitor(base_url="http://gateway.example"), machine(tmp_path)).problem


def test_without_a_key_it_is_not_logged_in(tmp_path: Path):
    found = HARNESS.check(competitor(), machine(tmp_path, env={}))
    assert (False, "not logged in") == (found.ok, found.problem)
    with pytest.raises(HarnessFault, match="not logged in"):
        plan(tmp_path, competitor(), on=machine(tmp_path, env={}))


def test_a_named_key_variable_must_be_set_and_is_the_only_one_used(tmp_path: Path):
    who = competitor(api_key_env="GATEWAY_KEY")
    assert "GATEWAY_KEY is not set" in HARNESS.check(who, machine(tmp_path)).problem
    on = machine(tmp_path, env={**KEY, "GATEWAY_KEY": "other"})
    assert "API key (GATEWAY_KEY)" == HARNESS.check(who, on).login
    assert "other" == plan(tmp_path, who, on=on).env["GEMINI_API_KEY"]


# ----------------------------------------------------------------------------------------------------------- the plan


def test_a_fresh_session_gets_the_prompt_on_standard_input(tmp_path: Path):
    made = plan(tmp_path, competitor())
    assert str(tmp_path / "bin" / "gemini") == made.argv[0]
    assert ("--approval-mode", "yolo", "--skip-trust", "-o", "stream-json", "-m", "gemini-3.6-flash") == made.argv[1:]
    assert "Go on – ü\n".encode() == made.stdin
    assert tmp_path / "work tree" == made.cwd


def test_a_resume_differs_by_the_id_alone(tmp_path: Path):
    fresh, resumed = plan(tmp_path, competitor()), plan(tmp_path, competitor(), resume=SESSION)
    assert ("--resume", SESSION) == resumed.argv[-2:]
    assert fresh.argv == resumed.argv[:-2]
    assert (fresh.env, fresh.files, fresh.stdin) == (resumed.env, resumed.files, resumed.stdin)


def test_options_of_the_roster_come_last(tmp_path: Path):
    assert ("--debug",) == plan(tmp_path, competitor(args=("--debug",))).argv[-1:]


@pytest.mark.parametrize("effort", EFFORTS)
def test_the_effort_is_an_override_because_an_alias_loses_it(tmp_path: Path, effort: str):
    (override,) = settings(plan(tmp_path, competitor(effort=effort)))["modelConfigs"]["customOverrides"]
    assert {"model": "gemini-3.6-flash"} == override["match"]
    thinking = override["modelConfig"]["generateContentConfig"]["thinkingConfig"]
    assert {"includeThoughts": True, "thinkingLevel": effort.upper()} == thinking


def test_helpers_ask_the_competitors_model(tmp_path: Path):
    aliases = settings(plan(tmp_path, competitor(model="gemini-3.5-flash")))["modelConfigs"]["customAliases"]
    assert {"chat-compression-default", "llm-edit-fixer", "summarizer-default"} <= set(aliases)
    assert {"gemini-3.5-flash"} == {alias["modelConfig"]["model"] for alias in aliases.values()}


def test_the_settings_of_the_race_overrule_those_of_the_workspace(tmp_path: Path):
    made = plan(tmp_path, competitor())
    place = str(tmp_path / "home" / ".gemini" / "race-settings.json")
    assert place == made.env["GEMINI_CLI_SYSTEM_SETTINGS_PATH"]
    assert str(tmp_path / "home") == made.env["GEMINI_CLI_HOME"]
    found = settings(made)
    assert {"google_web_search", "web_fetch", "save_memory"} <= set(found["tools"]["exclude"])
    assert 3600 == found["tools"]["shell"]["inactivityTimeout"]
    assert found["model"]["disableLoopDetection"]
    assert not found["privacy"]["usageStatisticsEnabled"]
    assert not found["telemetry"]["enabled"]
    assert not found["general"]["enableAutoUpdate"]
    assert not found["experimental"]["enableAgents"]


def test_the_base_url_and_the_key_reach_the_program_and_nothing_else_holds_the_secret(tmp_path: Path):
    made = plan(tmp_path, competitor(base_url="http://127.0.0.1:9"))
    assert "http://127.0.0.1:9" == made.env["GOOGLE_GEMINI_BASE_URL"]
    assert "key-one" == made.env["GEMINI_API_KEY"]
    assert "key-one" not in " ".join(made.argv) + "".join(made.files.values())
    assert "GOOGLE_GEMINI_BASE_URL" not in plan(tmp_path, competitor()).env


# ------------------------------------------------------------------------------------------- mending before a resume


def read_back(content: str) -> list[str]:
    """Kinds of the messages that the CLI would make of a chat file: `a` for a tool answer, `u`, `m` for texts."""
    messages: dict[str, dict[str, object]] = {}
    for line in content.splitlines():
        record = json.loads(line)
        if isinstance(record.get("$set", {}).get("messages"), list):
            messages = {message["id"]: message for message in record["$set"]["messages"]}
        elif "id" in record:
            messages[record["id"]] = record
    kinds = []
    for message in messages.values():
        if message["type"] == "user" and message["content"]:
            kinds.append("a" if "functionResponse" in message["content"][0] else "u")  # type: ignore[index]
        elif message["type"] == "gemini":
            kinds.append("m" + "a" * len(message.get("toolCalls", ())))  # type: ignore[arg-type]
    return kinds


def test_each_tool_answer_is_read_back_once():
    content = (GOLDEN / "ok.transcript.jsonl").read_text()
    assert ["u", "u", "ma", "a", "ma", "a", "m"] == read_back(content)
    assert ["u", "u", "ma", "ma", "m"] == read_back(content + mending(content, SESSION))


def test_after_a_resume_only_what_is_new_is_mended():
    content = (GOLDEN / "resumed.transcript.jsonl").read_text()
    assert 1 == len(mending(content, SESSION).splitlines())
    assert "" == mending(content + mending(content, SESSION), SESSION)


def test_what_needs_no_mending_is_left_alone():
    content = (GOLDEN / "ok.transcript.jsonl").read_text()
    assert "" == mending(content, "another")
    assert "" == mending(content.replace('"toolCalls"', '"calls"'), SESSION)
    assert "" == mending("", SESSION)


def test_the_mended_file_begins_with_all_that_was_there(tmp_path: Path):
    chats = tmp_path / "home" / ".gemini" / "tmp" / "work-tree" / "chats"
    chats.mkdir(parents=True)
    content = (GOLDEN / "ok.transcript.jsonl").read_text()
    name = "session-2026-11-30T17-19-ec0f2dc3.jsonl"
    (chats / name).write_text(content + '{"torn": ')
    (chats / "session-2026-11-30T17-19-00000000.jsonl").write_text(content)
    made = plan(tmp_path, competitor(), resume=SESSION).files
    assert {".gemini/race-settings.json", ".gemini/settings.json", f".gemini/tmp/work-tree/chats/{name}"} == set(made)
    assert made[f".gemini/tmp/work-tree/chats/{name}"].startswith(content + '{"torn": \n{')


def test_a_link_in_place_of_a_chat_file_is_not_followed(tmp_path: Path):
    chats = tmp_path / ".gemini" / "tmp" / "x" / "chats"
    chats.mkdir(parents=True)
    (chats / f"session-{SESSION[:8]}.jsonl").symlink_to(GOLDEN / "ok.transcript.jsonl")
    (chats / f"session-b-{SESSION[:8]}.jsonl").write_bytes(b"\xff\xfe")
    assert {} == mended_chats(tmp_path, SESSION)


# --------------------------------------------------------------------------------------------------------- the reader


def test_a_session_is_named_by_its_first_line_and_keeps_the_name():
    assert [Named(SESSION)] == read("ok.stdout.jsonl")[:1]
    assert [Named(SESSION)] == of(Named, read("resumed.stdout.jsonl"))


def test_what_is_said_and_called():
    events = read("ok.stdout.jsonl")
    assert Called("run_shell_command", "echo hi > a.txt") == of(Called, events)[0]
    assert [Said("Done: scripted run finished.")] == of(Said, events)
    assert [Finished(True)] == of(Finished, events)
    assert [] == of(Hurt, events)


def test_the_chat_file_has_every_request_of_both_sessions():
    """The server answered 1000, 1050, 1100 tokens in, then 1100, 1150; each with 400 cached, 32 out and 8 thought."""
    events = read("resumed.transcript.jsonl")
    found = list(requests(events).values())
    assert [1000, 1050, 1100, 1100, 1150] == [usage.input for usage in found]
    assert {(400, 40, 8, 1)} == {(usage.cached, usage.output, usage.reasoning, usage.requests) for usage in found}
    assert [ModelSeen("gemini-3.6-flash")] == of(ModelSeen, events)


def test_the_total_of_an_invocation_is_that_of_its_requests():
    assert Usage(3150, 1200, 120) == total(read("ok.stdout.jsonl"))
    assert Usage(2250, 800, 80) == total(read("resumed.stdout.jsonl"))
    assert 3150 == sum(usage.input for usage in requests(read("ok.transcript.jsonl")).values())


def test_stream_and_chat_file_name_one_conversation():
    names = {event.conversation for name in ("ok.stdout.jsonl", "resumed.stdout.jsonl", "resumed.transcript.jsonl")
             for event in read(name) if isinstance(event, Spent)}  # fmt: skip
    assert {SESSION} == names


def test_requests_of_a_killed_session_are_counted():
    """1000 and 1050 before the SIGKILL; the call without an answer is lost: 1050, 1100, 1150 after it."""
    events = read("killed-resumed.transcript.jsonl")
    assert [1000, 1050, 1050, 1100, 1150] == [usage.input for usage in requests(events).values()]
    assert [] == of(Spent, read("killed.stdout.jsonl"))


def test_a_file_read_from_its_middle_belongs_to_the_conversation_of_the_stream():
    reader = GeminiReader()
    reader.stdout((GOLDEN / "ok.stdout.jsonl").read_text().splitlines()[0])
    line = next(line for line in (GOLDEN / "ok.transcript.jsonl").read_text().splitlines() if '"tokens"' in line)
    assert SESSION == reader.transcript(line)[0].conversation


def test_the_file_has_the_same_keys_however_often_it_is_read():
    assert read("resumed.transcript.jsonl") == read("resumed.transcript.jsonl")


@pytest.mark.parametrize(
    ("case", "trouble"),
    [
        ("rate-limited-to-the-end.stdout.jsonl", Trouble.RATE_LIMIT), ("auth.stdout.jsonl", Trouble.AUTH),
        ("auth.stderr.txt", Trouble.AUTH), ("quota.stdout.jsonl", Trouble.QUOTA), ("quota.stderr.txt", Trouble.QUOTA),
        ("server-error.stdout.jsonl", Trouble.SERVER), ("unknown-model.stderr.txt", Trouble.SETUP),
        ("no-key.stderr.txt", Trouble.AUTH), ("unknown-session.stderr.txt", Trouble.CONTEXT_FULL),
    ],
)  # fmt: skip
def test_what_ends_a_session_has_its_class(case: str, trouble: Trouble):
    assert [(trouble, True)] == [(hurt.trouble, hurt.gives_up) for hurt in of(Hurt, read(case))]


@pytest.mark.parametrize(
    ("case", "trouble"),
    [
        ("rate-limited", Trouble.RATE_LIMIT), ("rate-limited-to-the-end", Trouble.RATE_LIMIT),
        ("server-error", Trouble.SERVER),
    ],
)  # fmt: skip
def test_a_retry_is_a_complaint_that_does_not_give_up(case: str, trouble: Trouble):
    hurts = of(Hurt, read(f"{case}.stderr.txt"))
    assert {(trouble, False)} == {(hurt.trouble, hurt.gives_up) for hurt in hurts}


@pytest.mark.parametrize(
    ("said", "trouble"),
    [
        ('{"error":{"code":400,"message":"API key not valid. Please pass a valid API key."}}', Trouble.AUTH),
        ("The input token count (1048577) exceeds the maximum number of tokens allowed", Trouble.CONTEXT_FULL),
        ('{"error":{"code":400,"message":"number of function response parts is equal to"}}', Trouble.CONTEXT_FULL),
        ("You exceeded your quota, check your plan and billing details. Please retry in 33.5s", Trouble.RATE_LIMIT),
        ("Quota exceeded: GenerateRequestsPerDayPerProjectPerModel", Trouble.QUOTA),
        ("Your prepayment credits are depleted", Trouble.QUOTA),
        ('{"error":{"code":404,"message":"models/x is not found"}}', Trouble.SETUP),
        ('{"error":{"code":503,"message":"The model is overloaded."}}', Trouble.SERVER),
        ("fetch failed", Trouble.SERVER),
    ],
)  # fmt: skip
def test_the_providers_sentence_tells_the_class(said: str, trouble: Trouble):
    line = json.dumps({"type": "result", "status": "error", "error": {"message": f"[API Error: {said}]"}})
    hurt = GeminiReader().stdout(line)[0]
    assert (trouble, True) == (hurt.trouble, hurt.gives_up)
    assert (33.5 if "33.5" in said else None) == hurt.retry_after_seconds


def test_words_of_the_model_and_of_tools_are_no_complaint():
    words = "Attempt 1 failed with status 429. API key not valid, quota, 401"
    lines = (
        {"type": "message", "role": "assistant", "content": words},
        {"type": "tool_result", "status": "error", "output": words, "error": {"message": words}},
        {"type": "error", "severity": "warning", "message": words},
    )
    reader = GeminiReader()
    assert [] == of(Hurt, [event for line in lines for event in reader.stdout(json.dumps(line))])
    assert () == reader.stderr(f"Error executing tool run_shell_command: {words}")


def test_an_exit_code_is_a_status_modulo_256():
    seen = {code: hurt.trouble for code in range(256) if (hurt := GeminiReader().exit(code))}
    assert {145: Trouble.AUTH, 173: Trouble.RATE_LIMIT, 244: Trouble.SERVER, 41: Trouble.AUTH} == {
        code: seen[code] for code in (145, 173, 244, 41)
    }
    assert not {0, 1, 42, 53, 130} & set(seen)


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=9)
    | st.sampled_from(["init", "message", "result", "error", "gemini", "user", "assistant", "tool_use"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["type", "role", "content", "stats", "id", "model", "sessionId", "session_id", "tokens", "$set",
                         "messages", "toolCalls", "functionResponse", "error", "message", "status", "severity", "input",
                         "total_tokens", "result", "timestamp"]),
        inner, max_size=6),
    max_leaves=20,
)  # fmt: skip


@given(JSON, st.integers(0, 200), st.text())
def test_nothing_a_line_holds_raises(value: object, cut: int, foreign: str):
    reader = GeminiReader()
    line = json.dumps(value)
    for read_one in (reader.stdout, reader.stderr, reader.transcript):
        for garbage in (line, line[:cut], foreign, "{" + foreign, "Attempt 1 failed" + foreign, "retry in 1.1.1s"):
            read_one(garbage)
    mending(f"{line}\n{foreign}\n{line[:cut]}", "s")


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.jsonl")), ids=lambda path: path.name)
def test_no_cut_line_of_a_real_stream_raises(path: Path):
    reader = GeminiReader()
    for line in path.read_text().splitlines():
        for end in range(0, len(line), 97):
            assert () == reader.stdout(line[:end])
            assert () == reader.transcript(line[:end])
