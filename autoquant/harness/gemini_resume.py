"""Mends the chat files of Gemini CLI before a resume.

Version 0.61.0 writes what a tool answered twice, with the call and as a message of the user, and reads both back: a
resumed conversation sends every tool answer twice, three times after the next resume. The context fills up, and the
provider wants as many answers as calls (google-gemini/gemini-cli#6379, #19580). A later line with the same id replaces
a message, and a user's message without text is left out: so empty messages are appended for the second copies.
"""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

from autoquant import files
from autoquant.harness.jsonl import child, parse, text

LIMIT = 32 << 20
"""Bytes of a chat file. A conversation without second copies stays far below it, whatever its model's context."""


def mended_chat(home: Path, session: str) -> dict[str, str] | None:
    """The chat file of `session` if it needs mending: path below `home`, the old content with the mending lines.

    None for a file too large to be mended: that conversation is not worth a resume. Of several files the newest counts.
    """
    paths = [path for path in home.glob(".gemini/tmp/*/chats/*.jsonl") if path.stem.endswith(session[:8])]
    try:
        path = max(filter(_is_file, paths), key=lambda path: path.lstat().st_mtime_ns, default=None)
        if path is None:
            return {}
        if path.lstat().st_size > LIMIT:
            return None
        relative = path.relative_to(home).as_posix()
        content = files.read_regular(home, relative, LIMIT).decode()
    except (OSError, UnicodeDecodeError, files.NotRegularFile):
        return {}
    repair = mending(content, session)
    return {relative: content.rstrip("\n") + "\n" + repair} if repair else {}


def _is_file(path: Path) -> bool:
    return stat.S_ISREG(path.lstat().st_mode)


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
