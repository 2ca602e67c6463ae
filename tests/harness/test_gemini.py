from __future__ import annotations

import json
import os
from pathlib import Path

import cli_stand
import pytest
from cli_stand import CLIS, KEY, PROMPT, Stand, lines, of, requests, total

from autoquant.harness.base import SessionPlan
from autoquant.harness.events import Called, Event, Finished, Hurt, ModelSeen, Named, Said, Spent, Trouble, Usage
from autoquant.harness.gemini import EFFORTS, PROVED
from autoquant.harness.gemini_reader import GeminiReader
from autoquant.harness.gemini_resume import LIMIT, mended_chat, mending

SESSION = "ec0f2dc3-2142-47d7-a828-630389f193b8"


@pytest.fixture
def gemini(tmp_path: Path) -> Stand:
    return Stand("gemini", tmp_path)


def read(*names: str) -> list[Event]:
    return cli_stand.read("gemini", *names)


def settings(made: SessionPlan) -> dict[str, dict[str, object]]:
    assert made.files[".gemini/settings.json"] == made.files[".gemini/race-settings.json"]
    return json.loads(made.files[".gemini/race-settings.json"])  # type: ignore[no-any-return]


# ---------------------------------------------------------------------------------------------------------- the check


def test_an_installed_cli_with_a_key_is_available(gemini: Stand):
    found = gemini.check()
    assert (True, f"gemini {PROVED}", "API key (GEMINI_API_KEY)", "") == (
        found.ok, found.version, found.login, found.note,
    )  # fmt: skip
    assert KEY not in repr(found)


@pytest.mark.parametrize("effort", ["", "xhigh", "HIGH"])
def test_an_unknown_effort_is_named_with_those_allowed(gemini: Stand, effort: str):
    found = gemini.check(gemini.competitor(effort=effort))
    assert not found.ok
    assert "minimal, low, medium, high" in found.hint


@pytest.mark.parametrize("model", ["", "auto", "auto-gemini-3", "pro", "flash", "flash-lite", "gemini-2.5-pro"])
def test_a_model_must_be_named_exactly_and_know_thinking_levels(gemini: Stand, model: str):
    assert not gemini.check(gemini.competitor(model=model)).ok


def test_a_plain_http_endpoint_must_be_on_this_machine(gemini: Stand):
    assert gemini.check(gemini.competitor(base_url="http://127.0.0.1:9")).ok
    assert gemini.check(gemini.competitor(base_url="https://gateway.example")).ok
    assert "https" in gemini.check(gemini.competitor(base_url="http://gateway.example")).problem


# ----------------------------------------------------------------------------------------------------------- the plan


def test_a_fresh_session_gets_the_prompt_on_standard_input(gemini: Stand):
    made = gemini.plan()
    assert str(gemini.root / "bin" / "gemini") == made.argv[0]
    assert ("--approval-mode", "yolo", "--skip-trust", "-o", "stream-json", "-m", "gemini-3.6-flash") == made.argv[1:]
    assert PROMPT.encode() == made.stdin
    assert gemini.root / "work tree" == made.cwd


@pytest.mark.parametrize("effort", EFFORTS)
def test_the_effort_is_an_override_because_an_alias_loses_it(gemini: Stand, effort: str):
    (override,) = settings(gemini.plan(gemini.competitor(effort=effort)))["modelConfigs"]["customOverrides"]
    assert {"model": "gemini-3.6-flash"} == override["match"]
    thinking = override["modelConfig"]["generateContentConfig"]["thinkingConfig"]
    assert {"includeThoughts": True, "thinkingLevel": effort.upper()} == thinking


def test_helpers_ask_the_competitors_model(gemini: Stand):
    aliases = settings(gemini.plan(gemini.competitor(model="gemini-3.5-flash")))["modelConfigs"]["customAliases"]
    assert {"chat-compression-default", "llm-edit-fixer", "summarizer-default"} <= set(aliases)
    assert {"gemini-3.5-flash"} == {alias["modelConfig"]["model"] for alias in aliases.values()}


def test_the_settings_of_the_race_overrule_those_of_the_workspace(gemini: Stand):
    made = gemini.plan()
    place = str(gemini.root / "home" / ".gemini" / "race-settings.json")
    assert place == made.env["GEMINI_CLI_SYSTEM_SETTINGS_PATH"]
    assert str(gemini.root / "home") == made.env["GEMINI_CLI_HOME"]
    found = settings(made)
    assert {"google_web_search", "web_fetch", "save_memory"} <= set(found["tools"]["exclude"])
    assert 3600 == found["tools"]["shell"]["inactivityTimeout"]
    assert found["model"]["disableLoopDetection"]
    assert not found["privacy"]["usageStatisticsEnabled"]
    assert not found["telemetry"]["enabled"]
    assert not found["general"]["enableAutoUpdate"]
    assert not found["experimental"]["enableAgents"]


def test_the_base_url_and_the_key_reach_the_program_and_nothing_else_holds_the_secret(gemini: Stand):
    made = gemini.plan(gemini.competitor(base_url="http://127.0.0.1:9"))
    assert "http://127.0.0.1:9" == made.env["GOOGLE_GEMINI_BASE_URL"]
    assert KEY == made.env["GEMINI_API_KEY"]
    assert KEY not in " ".join(made.argv) + "".join(made.files.values())
    assert "GOOGLE_GEMINI_BASE_URL" not in gemini.plan().env


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
    content = (CLIS["gemini"].golden / "ok.transcript.jsonl").read_text()
    assert ["u", "u", "ma", "a", "ma", "a", "m"] == read_back(content)
    assert ["u", "u", "ma", "ma", "m"] == read_back(content + mending(content, SESSION))


def test_after_a_resume_only_what_is_new_is_mended():
    content = (CLIS["gemini"].golden / "resumed.transcript.jsonl").read_text()
    assert 1 == len(mending(content, SESSION).splitlines())
    assert "" == mending(content + mending(content, SESSION), SESSION)


def test_what_needs_no_mending_is_left_alone():
    content = (CLIS["gemini"].golden / "ok.transcript.jsonl").read_text()
    assert "" == mending(content, "another")
    assert "" == mending(content.replace('"toolCalls"', '"calls"'), SESSION)
    assert "" == mending("", SESSION)


def test_the_mended_file_begins_with_all_that_was_there(gemini: Stand):
    chats = gemini.root / "home" / ".gemini" / "tmp" / "work-tree" / "chats"
    chats.mkdir(parents=True)
    content = (CLIS["gemini"].golden / "ok.transcript.jsonl").read_text()
    name = "session-2026-11-30T17-19-ec0f2dc3.jsonl"
    (chats / name).write_text(content + '{"torn": ')
    (chats / "session-2026-11-30T17-19-00000000.jsonl").write_text(content)
    made = gemini.plan(resume=SESSION).files
    assert {".gemini/race-settings.json", ".gemini/settings.json", f".gemini/tmp/work-tree/chats/{name}"} == set(made)
    assert made[f".gemini/tmp/work-tree/chats/{name}"].startswith(content + '{"torn": \n{')


def test_a_link_in_place_of_a_chat_file_is_not_followed(gemini: Stand):
    chats = gemini.root / ".gemini" / "tmp" / "x" / "chats"
    chats.mkdir(parents=True)
    (chats / f"session-{SESSION[:8]}.jsonl").symlink_to(CLIS["gemini"].golden / "ok.transcript.jsonl")
    (chats / f"session-b-{SESSION[:8]}.jsonl").write_bytes(b"\xff\xfe")
    assert {} == mended_chat(gemini.root, SESSION)


def test_of_several_chat_files_only_the_newest_is_read(gemini: Stand):
    chats = gemini.root / ".gemini" / "tmp" / "x" / "chats"
    chats.mkdir(parents=True)
    for age, name in enumerate(("newest", "older", "oldest")):
        path = chats / f"session-{name}-{SESSION[:8]}.jsonl"
        path.write_text((CLIS["gemini"].golden / "ok.transcript.jsonl").read_text())
        os.utime(path, (1_000_000 - age, 1_000_000 - age))
    made = mended_chat(gemini.root, SESSION)
    assert made is not None
    assert [f".gemini/tmp/x/chats/session-newest-{SESSION[:8]}.jsonl"] == list(made)


def test_a_chat_too_large_to_mend_is_not_resumed(gemini: Stand):
    chat = gemini.root / "home" / ".gemini" / "tmp" / "x" / "chats" / f"session-{SESSION[:8]}.jsonl"
    chat.parent.mkdir(parents=True)
    with chat.open("wb") as file:
        file.truncate(LIMIT + 1)
    made = gemini.plan(resume=SESSION)
    assert (gemini.plan().argv, gemini.plan().files) == (made.argv, made.files)
    os.truncate(chat, LIMIT)
    assert ("--resume", SESSION) == gemini.plan(resume=SESSION).argv[-2:]


# --------------------------------------------------------------------------------------------------------- the reader


def test_a_session_is_named_before_its_first_answer_and_keeps_the_name():
    assert [Named(SESSION)] == read("ok.stdout.jsonl")[:1]
    assert [Named(SESSION)] == of(Named, read("resumed.stdout.jsonl"))


@pytest.mark.parametrize("case", ["auth", "quota", "server-error"])
def test_a_session_without_an_answer_has_no_name_because_it_cannot_be_resumed(case: str):
    assert [] == of(Named, read(f"{case}.stdout.jsonl"))


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
    reader.stdout(lines("gemini", "ok.stdout.jsonl")[0])
    line = next(line for line in lines("gemini", "ok.transcript.jsonl") if '"tokens"' in line)
    assert SESSION == reader.transcript(line)[0].conversation


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
