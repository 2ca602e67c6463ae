"""What Grok prints and writes down: events of `--output-format streaming-json`, and its log with each request's tokens.

The stream has no id before its last event, and an interrupted one has none at all. `logs/unified.jsonl` names session
and prompt before the first request, and has a line per answered request, written before the answer's tool runs. The
stream's last event has the sum of one prompt under the same two ids. Requests with which Grok shortens a full
conversation are in neither (1.0.41 against the scripted server).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from autoquant.harness import jsonl
from autoquant.harness.complaints import asked_wait, by_words
from autoquant.harness.events import Called, Event, Finished, Hurt, ModelSeen, Named, Said, Spent, Trouble, Usage

TEXT_LIMIT = 400
_SPOKEN_LIMIT = 2_000

_COMPLAINTS: tuple[tuple[Trouble, str], ...] = (
    (Trouble.CONTEXT_FULL, r"maximum prompt length|context window|context[ _]length|prompt is too long"),
    (
        Trouble.QUOTA,
        r"status 402|insufficient_quota|current quota|available credits|out of credits|spending (limit|cap)",
    ),
    (Trouble.QUOTA, r"(available|out of) credits|spending (limit|cap)|(usage|weekly|credit|monthly) limit"),
    (Trouble.RATE_LIMIT, r"status 429|rate[ _]limit|too many requests|resource has been exhausted|slow down"),
    (Trouble.AUTH, r"status 401|\(401\)|unauthorized|(incorrect|invalid) api key|\b(not signed in|sign in again)\b"),
    (Trouble.SETUP, r"unknown model|unknown effort|couldn't set model|status 404|model .* does not exist"),
)
"""Words of Grok's own messages, as the scripted server provoked them. Whatever fits none is the provider's trouble.
Of a 429 Grok passes on the provider's words alone, without the number."""

_IN_SESSION = re.compile(r"/sessions/[^/]+/([0-9a-f-]{36})/")
"""In the name of the file where Grok keeps a command's output: the stream's only word on the session before its end."""
_REFUSED = re.compile(r"error: (unexpected argument|invalid value|unrecognized|the argument)")


class GrokReader:
    """Reads one session's streams, or any number of logs."""

    def __init__(self) -> None:
        self._kind = ""
        self._spoken = ""
        """Text and thoughts come in pieces of a few words: put together until something else comes."""
        self._answer = ""
        self._prompts: dict[str, str] = {}
        """The prompt a session works on, by the session's id."""

    def stdout(self, line: str) -> tuple[Event, ...]:
        """Events of one line of the stream."""
        event = jsonl.parse(line)
        kind = event.get("type")
        if kind in ("text", "thought"):
            said = self._flush() if kind != self._kind else ()
            self._kind = str(kind)
            self._spoken = (self._spoken + jsonl.text(event.get("data"), _SPOKEN_LIMIT))[:_SPOKEN_LIMIT]
            return said
        if not isinstance(kind, str):
            return ()
        return (*self._flush(), *self._event(kind, event))

    def stderr(self, line: str) -> tuple[Event, ...]:
        """A refused command line. The stream's `error` event comes here a second time, which tells nothing new."""
        if _REFUSED.search(line):
            return (Hurt(Trouble.SETUP, line.strip()[:TEXT_LIMIT], gives_up=True),)
        return ()

    def transcript(self, line: str) -> tuple[Event, ...]:
        """Tokens of one answered request; nothing for a request whose prompt is not known, lest it count twice."""
        if '"shell.handle_prompt.start"' not in line and '"shell.turn.inference_done"' not in line:
            return ()
        record = jsonl.parse(line)
        session, said = jsonl.text(record.get("sid")), jsonl.child(record, "ctx")
        if not session:
            return ()
        if record.get("msg") == "shell.handle_prompt.start":
            self._prompts[session] = jsonl.text(said.get("prompt_id"))
            return (Named(session),)
        prompt, moment = self._prompts.get(session), jsonl.text(record.get("ts"))
        if record.get("msg") != "shell.turn.inference_done" or not prompt or not moment:
            return ()
        usage = Usage(
            input=jsonl.count(said.get("prompt_tokens")),
            cached=jsonl.count(said.get("cached_prompt_tokens")),
            output=jsonl.count(said.get("completion_tokens")),
            reasoning=jsonl.count(said.get("reasoning_tokens")),
            requests=1,
        )
        return (Spent(f"{session}/{prompt}", f"{moment}/{jsonl.count(said.get('loop_index'))}", usage),)

    def exit(self, code: int) -> Hurt | None:
        """2 is a refused command line, and nothing else."""
        return Hurt(Trouble.SETUP, "grok refused its command line", gives_up=True) if code == 2 else None

    def _event(self, kind: str, event: Mapping[str, Any]) -> tuple[Event, ...]:
        match kind:
            case "tool_call":
                return (Called(jsonl.text(event.get("toolName"), TEXT_LIMIT), _asked(jsonl.child(event, "rawInput"))),)
            case "tool_call_update":
                place = jsonl.text(jsonl.child(event, "rawOutput").get("output_file"))
                return (Named(named[1]),) if (named := _IN_SESSION.search(place)) else ()
            case "error":
                hurt = _hurt(jsonl.text(event.get("message")) or "grok gave no reason")
                return hurt, Finished(False, hurt.message)
            case "end":
                return self._end(event)
        return ()

    def _end(self, event: Mapping[str, Any]) -> tuple[Event, ...]:
        session, prompt = jsonl.text(event.get("sessionId")), jsonl.text(event.get("requestId"))
        usage, models = jsonl.child(event, "usage"), jsonl.child(event, "modelUsage")
        events: list[Event] = [Named(session)] if session else []
        events += [ModelSeen(model) for model in models]
        if session and prompt and usage:
            cached = jsonl.count(usage.get("cache_read_input_tokens"))
            written = jsonl.count(usage.get("cache_creation_input_tokens"))
            total = Usage(
                input=jsonl.count(usage.get("input_tokens")) + cached + written,  # Grok tells the three apart
                cached=cached,
                output=jsonl.count(usage.get("output_tokens")),
                reasoning=jsonl.count(usage.get("reasoning_tokens")),
                requests=jsonl.count(event.get("num_turns")),
                cost_usd=jsonl.money(event.get("total_cost_usd")),
            )
            events.append(Spent(f"{session}/{prompt}", None, total, next(iter(models)) if len(models) == 1 else None))
        return (*events, Finished(event.get("stopReason") == "end_turn", self._answer))

    def _flush(self) -> tuple[Event, ...]:
        spoken, self._spoken = self._spoken, ""
        if self._kind == "text" and spoken:
            self._answer = spoken
        return (Said(spoken),) if spoken else ()


def _asked(given: Mapping[str, Any]) -> str:
    """What a tool call is about: the command, the file, or else Grok's own words for it."""
    keys = ("command", "path", "file_path", "target_file", "pattern", "query", "description")
    return next((text for key in keys if (text := jsonl.text(given.get(key), TEXT_LIMIT))), "")


def _hurt(text: str) -> Hurt:
    """An `error` event is the last of its stream: while Grok tries again it says nothing."""
    return Hurt(by_words(text, _COMPLAINTS) or Trouble.SERVER, text[:TEXT_LIMIT], True, asked_wait(text))
