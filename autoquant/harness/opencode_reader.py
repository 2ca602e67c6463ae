"""Understands `opencode run --format json --print-logs`: events on stdout, the program's own log on stderr.

Facts of 1.18.33 against the scripted server, unless marked otherwise:

* One request is one assistant message. `step_start` comes when its answer begins, `step_finish` with the tokens only
  when its tools have ended: a kill in the middle of a tool loses that request's tokens (the data base and the log have
  no more), so that it is counted from its start, without tokens.
* `tokens.input` leaves out what the cache gave, `tokens.output` leaves out reasoning. `cost` is 0 for an unknown price.
* The log names the session before the first request, and each failed try. The `error` event comes when it gives up.
* Requests that summarise the history are steps of the same stream, with the same effort (157 of 157 counted).
* A step with reason `stop` does not end a turn (a summary of the history has one too); the log's `exiting loop` does.
"""

from __future__ import annotations

import json
import re
from typing import Any

from autoquant.harness import jsonl
from autoquant.harness.complaints import Waits, asked_wait, by_words, loses_conversation, of_forbidden
from autoquant.harness.events import Called, Event, Finished, Hurt, ModelSeen, Named, Said, Spent, Trouble, Usage

_LOG = re.compile(
    r'timestamp=\S+ level=(?P<level>[A-Z]+) run=\S+ message=(?P<message>"(?:[^"\\]|\\.)*"|\S+)(?P<rest>.*)'
)
_FIELD = re.compile(r'(?:^| )([A-Za-z.]+)=("(?:[^"\\]|\\.)*"|\S*)')
_SHORT = 200

_QUOTA = (
    r"insufficient[_ ](quota|credit|balance|funds)|credit balance|billing|usage[_ ]?limit|spend(ing)? limit|"
    r"payment required"
)
_CONTEXT = r"context[_ ](length|window|limit)|prompt is too long|maximum context|too many tokens"
_SETUP = r"model not found|ProviderModelNotFound|ConfigInvalid|no such model"
_COMPLAINTS: tuple[tuple[Trouble, str], ...] = (
    (Trouble.CONTEXT_FULL, _CONTEXT),
    (Trouble.QUOTA, _QUOTA),
    (Trouble.RATE_LIMIT, r"\b429\b|rate[_ -]?limit|too many requests|resource[_ ]exhausted"),
    (Trouble.AUTH, r"\b401\b|unauthori[sz]ed|invalid[_ ](x-)?api[_ -]?key|incorrect api key"),
    (Trouble.SETUP, _SETUP),
    (Trouble.SERVER, r"\b(500|502|503|504|529)\b|overloaded|internal server error|service unavailable"),
    (Trouble.SERVER, r"cannot connect|unable to connect|socket|network|fetch failed|econnre|timed? ?out"),
)
"""Words of a complaint that came without a status."""


class OpencodeReader:
    """Reads one session."""

    def __init__(self) -> None:
        self._session = ""
        self._model = ""
        self._finished_steps: dict[str, int] = {}
        self._last_text = ""
        self._waits = Waits()

    def stdout(self, line: str) -> tuple[Event, ...]:
        """Events of one JSON line."""
        return self._waits.fill(self._event(jsonl.parse(line)))

    def stderr(self, line: str) -> tuple[Event, ...]:
        """Events of one line of the log, or of a complaint before the log began."""
        return self._waits.fill(self._logged(line))

    def transcript(self, line: str) -> tuple[Event, ...]:
        """Its data base tells no more than the stream."""
        return ()

    def exit(self, code: int) -> Hurt | None:
        """1 is any failure."""
        return None

    def _event(self, event: dict[str, Any]) -> tuple[Event, ...]:
        session = jsonl.text(event.get("sessionID"))
        if not session:
            return ()
        part = jsonl.child(event, "part")
        kind = event.get("type")
        named = self._name(session)
        if kind == "step_start":
            return (*named, Spent(session, self._request(part), Usage(requests=1), self._model or None))
        if kind == "step_finish":
            return (*named, Spent(session, self._request(part, finished=True), _usage(part), self._model or None))
        if kind == "tool_use":
            return (*named, _called(part))
        if kind in ("text", "reasoning"):
            self._last_text = jsonl.text(part.get("text")) if kind == "text" else self._last_text
            return (*named, Said(jsonl.text(part.get("text"))))
        if kind == "error":
            hurt = _hurt(jsonl.child(event, "error"))
            return (*named, *((hurt,) if hurt else ()), Finished(ok=False, text=hurt.message if hurt else "stopped"))
        return named

    def _logged(self, line: str) -> tuple[Event, ...]:
        entry = _LOG.match(line)
        if entry is None:
            # Told before any session exists, for example "Error: Model not found: x/y." in red.
            return (Hurt(Trouble.SETUP, line[:_SHORT], gives_up=True),) if _says(_SETUP, line) else ()
        message = _unquoted(entry["message"])
        fields = {name: _unquoted(value) for name, value in _FIELD.findall(entry["rest"])}
        session = fields.get("session.id", "")
        if message == "created" and fields.get("id", "").startswith("ses_"):
            return self._name(fields["id"])
        if message == "stream" and session:
            return (*self._name(session), *self._see(fields.get("modelID", "")))
        if message == "stream error" and session:
            text = fields.get("error.error", "")
            trouble = by_words(text, _COMPLAINTS)
            return (Hurt(trouble, text[:_SHORT], False, asked_wait(text)),) if trouble else ()
        if entry["level"] == "ERROR" and _says(_SETUP, fields.get("error", "")):
            return (Hurt(Trouble.SETUP, fields["error"][:_SHORT], gives_up=True),)
        if message == "exiting loop" and session:
            return (Finished(ok=True, text=self._last_text),)
        return ()

    def _name(self, session: str) -> tuple[Event, ...]:
        if session == self._session:
            return ()
        self._session = session
        return (Named(session),)

    def _see(self, model: str) -> tuple[Event, ...]:
        if not model or model == self._model:
            return ()
        self._model = model
        return (ModelSeen(model),)

    def _request(self, part: dict[str, Any], finished: bool = False) -> str:
        """Message and number of the step in it: a retried answer starts a step twice and finishes it once."""
        message = jsonl.text(part.get("messageID"), 80)
        number = self._finished_steps.get(message, 0)
        if finished:
            self._finished_steps[message] = number + 1
        return f"{message}.{number}"


def _usage(part: dict[str, Any]) -> Usage:
    tokens = jsonl.child(part, "tokens")
    cache = jsonl.child(tokens, "cache")
    reasoning = jsonl.count(tokens.get("reasoning"))
    cached = jsonl.count(cache.get("read"))
    return Usage(
        input=jsonl.count(tokens.get("input")) + cached + jsonl.count(cache.get("write")),
        cached=cached,
        output=jsonl.count(tokens.get("output")) + reasoning,
        reasoning=reasoning,
        requests=1,
        cost_usd=jsonl.money(part.get("cost")) or None,
    )


def _called(part: dict[str, Any]) -> Called:
    asked = jsonl.child(part, "state", "input")
    texts = (asked.get(name) for name in ("command", "filePath", "pattern", "path"))
    return Called(
        jsonl.text(part.get("tool"), 80) or "tool",
        next((text[:_SHORT] for text in texts if isinstance(text, str)), ""),
    )


def _hurt(error: dict[str, Any]) -> Hurt | None:
    name = jsonl.text(error.get("name"), 80)
    data = jsonl.child(error, "data")
    message = (jsonl.text(data.get("message")) or name or "error")[:_SHORT]
    if name == "MessageAbortedError":
        return None
    status = jsonl.count(data.get("statusCode"))
    body = jsonl.text(data.get("responseBody"), 20_000)
    text = f"{message} {body}"
    return Hurt(_trouble(name, status, text), message, True, _retry_after(data) or asked_wait(text))


def _trouble(name: str, status: int, text: str) -> Trouble:
    full = name == "ContextOverflowError" or (status in (0, 400, 413) and _says(_CONTEXT, text))
    if full or loses_conversation(text):
        return Trouble.CONTEXT_FULL
    if name == "ProviderAuthError" or status == 401:
        return Trouble.AUTH
    if status == 402:
        return Trouble.QUOTA
    if status == 403:
        return Trouble.QUOTA if _says(_QUOTA, text) else of_forbidden(text)
    if status == 429:
        # Google says "quota" and "billing" of a limit per minute too, but adds when to come back.
        return Trouble.QUOTA if _says(_QUOTA, text) and "retryDelay" not in text else Trouble.RATE_LIMIT
    if status == 408 or status >= 500:
        return Trouble.SERVER
    if by_text := by_words(text, _COMPLAINTS):
        return by_text
    return Trouble.SETUP if status in (400, 404, 405, 415, 422) or "NotFound" in name else Trouble.SERVER


def _says(words: str, text: str) -> bool:
    return re.search(words, text, re.IGNORECASE) is not None


def _retry_after(data: dict[str, Any]) -> float | None:
    headers = jsonl.child(data, "responseHeaders")
    for name, unit in (("retry-after-ms", 1e-3), ("retry-after", 1.0)):
        text = jsonl.text(headers.get(name), 20)
        if re.fullmatch(r"\d{1,7}(\.\d{1,6})?", text):
            return float(text) * unit
    return None


def _unquoted(value: str) -> str:
    if not value.startswith('"'):
        return value
    try:
        return str(json.loads(value))
    except ValueError:
        return value.strip('"')
