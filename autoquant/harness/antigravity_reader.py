"""Understands `agy --output-format stream-json` and its error lines, as documented: `antigravity` says what is proved.

* `init`, then `step_update`s, then one `result`. An `agent_response` step that is DONE carries the tokens of a request.
* `input_tokens` leaves out `cache_read_tokens`; `output_tokens` holds `thinking_tokens`.
* `result.usage` is a running total, of the conversation or of this invocation (observers differ); all zeros after the
  print time-out and after a failure before the turn. Steps and total are both reported, the larger one counts.
* It is not known whether `step_index` goes on in a resumed conversation: the duration of a step, in fractions of a
  second, is part of the request's key.
* stderr: `AGY_ERROR: {…}` when the model or the agent failed (exit code 3), `error: …`, and the print time-out.
"""

from __future__ import annotations

import re
from typing import Any

from autoquant.harness import jsonl
from autoquant.harness.complaints import Waits, asked_wait, by_words
from autoquant.harness.events import Called, Event, Finished, Hurt, ModelSeen, Named, Said, Spent, Trouble, Usage

_SHORT = 200
_COMPLAINTS: tuple[tuple[Trouble, str], ...] = (
    (Trouble.QUOTA, r"\b402\b|quota (reached|exceeded)|exhausted your quota|credits balance is too low|usage limit"),
    (Trouble.AUTH, r"authentication (required|failed)|not (logged|signed) in|\bplease sign in\b|\b401\b"),
    (Trouble.AUTH, r"unauthenticated|permission_denied|api key not valid|invalid api key"),
    (Trouble.SETUP, r"invalid model selection|flags? provided but not defined|not recognized as a known model"),
    (Trouble.CONTEXT_FULL, r"context (length|window)|input token count|too many tokens"),
    (Trouble.RATE_LIMIT, r"resource_exhausted|rate limit|too many requests|\b429\b"),
)
_REFUSED = re.compile(_COMPLAINTS[3][1], re.IGNORECASE)


class AntigravityReader:
    """Reads one session."""

    def __init__(self) -> None:
        self._conversation = ""
        self._model: str | None = None
        self._called: set[int] = set()
        self._waits = Waits()

    def stdout(self, line: str) -> tuple[Event, ...]:
        """Events of one JSON line."""
        return self._waits.fill(self._event(jsonl.parse(line)))

    def stderr(self, line: str) -> tuple[Event, ...]:
        """Only lines on which agy states an error: it logs on stderr too."""
        return self._waits.fill(self._stated(line))

    def transcript(self, line: str) -> tuple[Event, ...]:
        """Not read."""
        return ()

    def exit(self, code: int) -> Hurt | None:
        """3 is a failure of model or agent, 1 any other; neither proves a class."""
        return None

    def _event(self, event: dict[str, Any]) -> tuple[Event, ...]:
        kind = event.get("event")
        if kind == "init":
            return (*self._name(event), *self._see(jsonl.child(event, "init")))
        if kind == "step_update":
            step = jsonl.child(event, "step_update")
            return (*self._name(event, step), *self._step(step))
        if kind == "result":
            result = jsonl.child(event, "result")
            return (*self._name(event, result), *self._result(result))
        return ()

    def _stated(self, line: str) -> tuple[Event, ...]:
        if line.startswith("AGY_ERROR:"):
            error = jsonl.parse(line.removeprefix("AGY_ERROR:").strip())
            inner = jsonl.child(error, "error")
            texts = (
                source.get(name) for source in (error, inner) for name in ("short_error", "message", "error", "status")
            )
            message = next((text for text in texts if isinstance(text, str) and text), line)
            return (_hurt(error or inner, message),)
        if line[:6].lower() == "error:" or _REFUSED.search(line):
            return (_hurt({}, line[6:].strip() if line[:6].lower() == "error:" else line),)
        if line.startswith("[agy] print timeout after"):
            return (Said(line[:_SHORT]),)
        return ()

    def _name(self, *sources: dict[str, Any]) -> tuple[Event, ...]:
        found = (jsonl.text(source.get("conversation_id"), 200) for source in sources)
        conversation = next((text for text in found if text), "")
        if not conversation or conversation == self._conversation:
            return ()
        self._conversation = conversation
        return (Named(conversation),)

    def _see(self, init: dict[str, Any]) -> tuple[Event, ...]:
        self._model = jsonl.text(init.get("model"), 80) or None
        return (ModelSeen(self._model),) if self._model else ()

    def _step(self, step: dict[str, Any]) -> tuple[Event, ...]:
        index = jsonl.count(step.get("step_index"))
        events: list[Event] = []
        if said := jsonl.text(step.get("text_delta")):
            events.append(Said(said))
        if step.get("step_type") == "tool" and index not in self._called:
            self._called.add(index)
            asked = jsonl.child(step, "tool_info", "parameters")
            texts = (asked.get(name) for name in ("CommandLine", "TargetFile", "AbsolutePath"))
            text = next((text[:_SHORT] for text in texts if isinstance(text, str)), "")
            events.append(Called(jsonl.text(step.get("tool_name"), 80) or "tool", text))
        if step.get("state") in ("DONE", "ERROR"):
            usage = _usage(jsonl.child(step, "usage"), requests=1)
            if usage is not None and self._conversation:
                key = f"{index}@{jsonl.money(step.get('duration_seconds'))}"
                events.append(Spent(self._conversation, key, usage, self._model))
        if step.get("step_type") == "agent_response" and step.get("state") == "ERROR":
            error = step.get("error")
            message = jsonl.text(error) or jsonl.text(jsonl.child(step, "error").get("message"))
            events.append(_hurt({}, message or "the model's answer failed", gives_up=False))
        return tuple(events)

    def _result(self, result: dict[str, Any]) -> tuple[Event, ...]:
        events: list[Event] = []
        usage = _usage(jsonl.child(result, "usage"), requests=0)
        if usage is not None and self._conversation:
            events.append(Spent(self._conversation, None, usage, self._model))
        ok = result.get("status") == "SUCCESS"
        error = jsonl.text(result.get("error"))
        if not ok and error:
            events.append(_hurt({}, error))
        events.append(Finished(ok, jsonl.text(result.get("response")) or error[:_SHORT]))
        return tuple(events)


def _usage(told: dict[str, Any], requests: int) -> Usage | None:
    """Normalised; None for an object of zeros, which measures nothing."""
    cached = jsonl.count(told.get("cache_read_tokens"))
    usage = Usage(
        input=jsonl.count(told.get("input_tokens")) + cached,
        cached=cached,
        output=jsonl.count(told.get("output_tokens")),
        reasoning=jsonl.count(told.get("thinking_tokens")),
        requests=requests,
    )
    return usage if usage.input or usage.output else None


def _hurt(error: dict[str, Any], message: str, gives_up: bool = True) -> Hurt:
    codes = (jsonl.count(error.get(name)) for name in ("http_code", "code", "http_status"))
    words = (jsonl.text(error.get("status")), *(str(code) for code in codes if code), message)
    trouble = by_words(" ".join(words), _COMPLAINTS) or Trouble.SERVER
    if trouble is Trouble.RATE_LIMIT and error.get("retryable") is False:
        trouble = Trouble.QUOTA  # one status for two things: what will not come back by itself is a quota
    return Hurt(trouble, message[:_SHORT], gives_up, asked_wait(message))
