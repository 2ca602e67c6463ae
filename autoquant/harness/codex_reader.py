"""What Codex prints and writes down: events of `codex exec --json`, and the session file with each request's tokens.

The stream tells tokens only at the end of a turn, as a total of the whole conversation. The session file has a line per
model response, written before the response's tool runs: a kill in the middle of a tool loses nothing. Compactions and
sub-agents are in it too (340 of 340 requests of a compaction loop; 0.171.0 against the scripted server).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from autoquant.harness import jsonl
from autoquant.harness.complaints import Waits, asked_wait, by_words
from autoquant.harness.events import Called, Event, Finished, Hurt, ModelSeen, Named, Said, Spent, Trouble, Usage

TEXT_LIMIT = 400

_COMPLAINTS: tuple[tuple[Trouble, str], ...] = (
    (Trouble.CONTEXT_FULL, r"context window|context_length_exceeded"),
    (Trouble.RATE_LIMIT, r"rate limit (reached|exceeded)"),
    (Trouble.QUOTA, r"usage limit|quota exceeded|insufficient_quota|status 402|payment required"),
    (Trouble.QUOTA, r"billing (details|hard limit)|out of credits|spend(ing)? (cap|limit)|with your chatgpt plan"),
    (Trouble.RATE_LIMIT, r"status:? 429|rate limit|too many requests"),
    (Trouble.AUTH, r"status:? 401\b|\bunauthorized\b|invalid_api_key|incorrect api key"),
    (Trouble.AUTH, r"missing environment variable|\baccess token\b|\bsign in again\b|\blog ?in\b"),
    (Trouble.SETUP, r"does not exist or you do not have access|model is not supported|model_not_found"),
    (Trouble.SETUP, r"unsupported[_ ](value|parameter)|unknown variant"),
)
"""Words of Codex's own messages, as the scripted server provoked them. Whatever fits none is the provider's trouble."""

_REROUTED = re.compile(r"model rerouted: \S+ -> (\S+)")
_REFUSED = re.compile(r"error: (unexpected argument|invalid value|unrecognized)|Error loading config\.toml")


class CodexReader:
    """Reads one session's streams, or any number of session files."""

    def __init__(self) -> None:
        self._thread = ""
        self._text = ""
        self._waits = Waits()
        self._models: dict[str, str] = {}
        """Model of a turn, by the turn's id: lines of several session files may come mixed."""

    def stdout(self, line: str) -> tuple[Event, ...]:
        """Events of one line of `codex exec --json`."""
        return self._waits.fill(self._event(jsonl.parse(line)))

    def stderr(self, line: str) -> tuple[Event, ...]:
        """A refused command line or configuration. Codex's own log lines there are about things it gets over."""
        if _REFUSED.search(line):
            return (Hurt(Trouble.SETUP, line.strip()[:TEXT_LIMIT], gives_up=True),)
        return ()

    def transcript(self, line: str) -> tuple[Event, ...]:
        """Tokens of one response, under the id of its thread: a resumed turn is appended to the same file."""
        if not line.startswith("{") or not any(kind in line[:400] for kind in _WANTED):
            return ()  # most of a session file is text for the model, in long lines
        record = jsonl.parse(line)
        said = jsonl.child(record, "payload")
        match record.get("type"):
            case "session_meta":
                session = jsonl.text(said.get("session_id")) or jsonl.text(said.get("id"))
                return (Named(session),) if session else ()
            case "turn_context":
                if turn := jsonl.text(said.get("turn_id")):
                    self._models[turn] = jsonl.text(said.get("model"))
                return ()
            case "token_usage_record":
                return self._request(said)
        return ()

    def exit(self, code: int) -> Hurt | None:
        """2 is a refused command line, and nothing else."""
        return Hurt(Trouble.SETUP, "codex refused its command line", gives_up=True) if code == 2 else None

    def _event(self, event: Mapping[str, Any]) -> tuple[Event, ...]:
        match event.get("type"):
            case "thread.started":
                self._thread = jsonl.text(event.get("thread_id"))
                return (Named(self._thread),) if self._thread else ()
            case "item.started" | "item.completed" as kind:
                return self._item(kind == "item.completed", jsonl.child(event, "item"))
            case "error":
                return (_hurt(event.get("message"), gives_up=False),)
            case "turn.failed":
                hurt = _hurt(jsonl.child(event, "error").get("message"), gives_up=True)
                return hurt, Finished(False, hurt.message)
            case "turn.completed":
                return (*self._total(jsonl.child(event, "usage")), Finished(True, self._text))
        return ()

    def _item(self, completed: bool, item: Mapping[str, Any]) -> tuple[Event, ...]:
        match item.get("type"):
            case "agent_message" | "reasoning" if completed:
                text = jsonl.text(item.get("text"))
                self._text = text or self._text
                return (Said(text),) if text else ()
            case "error" if rerouted := _REROUTED.search(jsonl.text(item.get("message"))):
                return (ModelSeen(rerouted[1]),)
            case "command_execution" if not completed:
                return (Called("shell", jsonl.text(item.get("command"), TEXT_LIMIT)),)
            case "file_change" if completed:
                changes = item.get("changes")
                first = changes[0] if isinstance(changes, list) and changes else None
                return (Called("edit", jsonl.text(jsonl.child(first).get("path"), TEXT_LIMIT)),)
            case "mcp_tool_call" | "collab_tool_call" if not completed:
                return (Called(jsonl.text(item.get("tool"), TEXT_LIMIT), jsonl.text(item.get("prompt"), TEXT_LIMIT)),)
            case "web_search" if completed:
                return (Called("web_search", jsonl.text(item.get("query"), TEXT_LIMIT)),)
        return ()

    def _total(self, usage: Mapping[str, Any]) -> tuple[Event, ...]:
        """The whole conversation so far, earlier sessions included."""
        return (Spent(self._thread, None, _usage(usage)),) if self._thread and usage else ()

    def _request(self, said: Mapping[str, Any]) -> tuple[Event, ...]:
        thread, usage = jsonl.text(said.get("thread_id")), jsonl.child(said, "usage")
        if not thread or not usage:
            return ()
        turn, session = jsonl.text(said.get("turn_id")), jsonl.text(said.get("session_id"))
        so_far = jsonl.count(jsonl.child(said, "thread_token_usage").get("total_tokens"))
        request = jsonl.text(said.get("response_id")) or f"{turn}/{so_far}"
        spent = Spent(thread, request, _usage(usage, requests=1), self._models.get(turn) or None)
        return (Named(session), spent) if session else (spent,)


_WANTED = ('"session_meta"', '"turn_context"', '"token_usage_record"')


def _usage(usage: Mapping[str, Any], requests: int = 0) -> Usage:
    """Codex counts as the Responses API does: input with the cached part, output with the reasoning."""
    return Usage(
        input=jsonl.count(usage.get("input_tokens")),
        cached=jsonl.count(usage.get("cached_input_tokens")),
        output=jsonl.count(usage.get("output_tokens")),
        reasoning=jsonl.count(usage.get("reasoning_output_tokens")),
        requests=requests,
    )


def _hurt(message: object, *, gives_up: bool) -> Hurt:
    text = jsonl.text(message) or "codex gave no reason"
    trouble = by_words(text, _COMPLAINTS) or Trouble.SERVER
    return Hurt(trouble, text[:TEXT_LIMIT], gives_up, asked_wait(text))
