"""Mends the chat files of Gemini CLI before a resume.

Version 0.61.0 writes what a tool answered twice, with the call and as a message of the user, and reads both back: a
resumed conversation sends every tool answer twice, three times after the next resume. The context fills up, and the
provider wants as many answers as calls (google-gemini/gemini-cli#6379, #19580). A later line with the same id replaces
a message, and a user's message without text is left out: so empty messages are appended for the second copies.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from autoquant import files
from autoquant.harness.jsonl import child, parse, text

LIMIT = 256 << 20
"""A larger chat file is left alone."""


def mended_chats(home: Path, session: str) -> dict[str, str]:
    """Chat files of `session` that need it: path below `home`, the old content with the mending lines after it."""
    mended: dict[str, str] = {}
    for path in sorted(home.glob(".gemini/tmp/*/chats/*.jsonl")):
        if not path.stem.endswith(session[:8]):
            continue
        relative = path.relative_to(home).as_posix()
        try:
            content = files.read_regular(home, relative, LIMIT).decode()
        except (OSError, UnicodeDecodeError, files.NotRegularFile):
            continue
        if repair := mending(content, session):
            mended[relative] = content.rstrip("\n") + "\n" + repair
    return mended


def mending(content: str, session: str) -> str:
    """Lines to append to a chat file so that each tool answer is read back once; empty when none is needed."""
    messages: dict[str, dict[str, Any]] = {}
    found = False
    for line in content.split("\n"):
        record = parse(line)
        found = found or session in (record.get("sessionId"), child(record, "$set").get("sessionId"))
        listed = child(record, "$set").get("messages")
        if isinstance(listed, list):  # replaces all that was before
            messages = {text(item.get("id")): item for item in listed if isinstance(item, dict)}
        elif name := text(record.get("id")):
            messages[name] = record
    if not found:
        return ""
    answered: set[str] = set()
    for message in messages.values():
        calls = message.get("toolCalls")
        for call in calls if isinstance(calls, list) else ():
            if isinstance(call, dict) and call.get("result"):
                answered.add(text(call.get("id")))
    lines = []
    for name, message in messages.items():
        answers = _answers(message.get("content"))
        if message.get("type") == "user" and answers and answers <= answered:
            empty = {"id": name, "timestamp": text(message.get("timestamp")), "type": "user", "content": ""}
            lines.append(json.dumps(empty) + "\n")
    return "".join(lines)


def _answers(content: Any) -> set[str]:
    """Ids of the tool answers that make up a message; empty when anything else stands in it."""
    if not isinstance(content, list) or not content:
        return set()
    names = [text(child(part, "functionResponse").get("id")) for part in content]
    return set(names) if all(names) else set()
