"""What Gemini CLI prints (`-o stream-json`) and writes to its chat file, in the words of events.py.

Tokens per request come from the chat file: JSON lines, appended right after each response and before its tools run, so
that a killed session loses nothing (0.61.0 against the scripted server). The stream only adds up at the end of an
invocation. That sum has helper requests in it that the chat file has not (a compression), but starts anew with each
resume: as a running total of the conversation it is never more than the truth.
"""

from __future__ import annotations

import re
from typing import Any

from autoquant.harness.complaints import Waits, asked_wait, loses_conversation, of_forbidden
from autoquant.harness.events import Called, Event, Finished, Hurt, ModelSeen, Named, Said, Spent, Trouble, Usage
from autoquant.harness.jsonl import child, count, parse, text

_SHORT = 300
_RETRY = re.compile(r"Attempt \d+ failed(?: with status (\d{3}))?")
_DUMPED = re.compile(r"  (?:status|code): (\d{3}),?$")
"""The HTTP status in the dump of an error that ends the turn; the stream's error has only the provider's sentence."""
_STATUS = re.compile(r'"code":\s*(\d{3})\b')

_EXITS = {
    401 % 256: Trouble.AUTH,
    402 % 256: Trouble.QUOTA,
    403 % 256: Trouble.SERVER,
    429 % 256: Trouble.RATE_LIMIT,
    500 % 256: Trouble.SERVER,
    502 % 256: Trouble.SERVER,
    503 % 256: Trouble.SERVER,
    504 % 256: Trouble.SERVER,
    41: Trouble.AUTH,
    52: Trouble.SETUP,
    55: Trouble.SETUP,
}
"""API errors end the program with their HTTP status modulo 256; the small numbers are its own: no login, bad settings,
a folder it does not trust."""


class GeminiReader:
    """Reader of one session."""

    def __init__(self) -> None:
        self._session = ""
        self._named = False
        self._conversation = ""
        self._model = ""
        self._dumping = ""
        self._waits = Waits()

    def stdout(self, line: str) -> tuple[Event, ...]:
        """Events of one line of the stream."""
        return self._waits.fill(self._event(parse(line)))

    def stderr(self, line: str) -> tuple[Event, ...]:
        """Its notes about failed tries, and refusals to start; what tools print does not come here."""
        return self._waits.fill(self._note(line))

    def transcript(self, line: str) -> tuple[Event, ...]:
        """Tokens of one line of the chat file, in which a message is written again when its tools have answered."""
        record = parse(line)
        if session := text(record.get("sessionId")) or text(child(record, "$set").get("sessionId")):
            self._conversation = session
        tokens, request = child(record, "tokens"), text(record.get("id"))
        if not tokens or not request or record.get("type") != "gemini":
            return ()
        model = text(record.get("model"))
        usage = Usage(
            input=count(tokens.get("input")) + count(tokens.get("tool")),
            cached=count(tokens.get("cached")),
            output=count(tokens.get("output")) + count(tokens.get("thoughts")),
            reasoning=count(tokens.get("thoughts")),
            requests=1,
        )
        spent = Spent(self._conversation or self._session, request, usage, model or None)
        changed, self._model = bool(model) and model != self._model, model or self._model
        return (spent, ModelSeen(model)) if changed else (spent,)

    def exit(self, code: int) -> Hurt | None:
        """The trouble that the exit code names by itself."""
        trouble = _EXITS.get(code)
        return None if trouble is None else Hurt(trouble, f"exit code {code}", gives_up=True)

    def _event(self, event: dict[str, Any]) -> tuple[Event, ...]:
        match text(event.get("type")):
            case "init":
                self._session = text(event.get("session_id"))
            case "message":
                said = text(event.get("content"))
                answered = said.strip() and event.get("role") == "assistant"
                return (*self._name(), Said(said)) if answered else ()
            case "tool_use":
                asked = child(event, "parameters")
                words = (text(asked.get(name), _SHORT) for name in ("command", "file_path", "dir_path", "pattern"))
                what = next((word for word in words if word), "")
                return (*self._name(), Called(text(event.get("tool_name"), _SHORT), what))
            case "error":
                if event.get("severity") == "error":
                    return (_hurt(text(event.get("message")), gives_up=False),)
            case "result":
                return self._result(event)
        return ()

    def _note(self, line: str) -> tuple[Event, ...]:
        if match := _RETRY.match(line):
            self._dumping = ""
            return (_hurt(line, gives_up=False, status=int(match[1] or 0)),)
        if line.startswith("Error when talking to Gemini API"):
            self._dumping = line.partition(".json ")[2] or line  # behind the name of a file with the details
        elif self._dumping and (match := _DUMPED.match(line)):
            said, self._dumping = self._dumping, ""
            return (_hurt(said, gives_up=True, status=int(match[1])),)
        elif line.startswith("Error resuming session"):
            return (Hurt(Trouble.CONTEXT_FULL, line[:_SHORT], gives_up=True),)  # a fresh conversation is the remedy
        elif line.startswith(("Invalid configuration", "Unknown argument")) or "not running in a trusted" in line:
            return (Hurt(Trouble.SETUP, line[:_SHORT], gives_up=True),)
        elif line.startswith(("Please set an Auth method", "When using Gemini API, you must")):
            return (Hurt(Trouble.AUTH, line[:_SHORT], gives_up=True),)
        return ()

    def _name(self) -> tuple[Event, ...]:
        """The conversation, said once something is in it: the CLI refuses to resume one without an answer."""
        named, self._named = self._named, True
        return (Named(self._session),) if self._session and not named else ()

    def _result(self, event: dict[str, Any]) -> tuple[Event, ...]:
        stats = child(event, "stats")
        events: list[Event] = []
        if self._session and (total := count(stats.get("total_tokens"))):
            read = count(stats.get("input_tokens"))
            usage = Usage(read, count(stats.get("cached")), max(total - read, 0))
            events.append(Spent(self._session, None, usage))
        bad = event.get("status") == "error"
        said = text(child(event, "error").get("message"))
        if bad:
            events.append(_hurt(said, gives_up=True))
        events.append(Finished(not bad, said))
        return tuple(events)


def _hurt(said: str, *, gives_up: bool, status: int = 0) -> Hurt:
    """A complaint of the CLI's own, classified by the HTTP status and by the provider's sentence."""
    low = said.lower()
    if not status and (found := _STATUS.search(said)):
        status = int(found[1])
    return Hurt(_classify(status, low), said[:_SHORT].strip(), gives_up, asked_wait(said))


def _classify(status: int, low: str) -> Trouble:
    def says(*hints: str) -> bool:
        return any(hint in low for hint in hints)

    if loses_conversation(low):
        return Trouble.CONTEXT_FULL
    if status == 403:
        return of_forbidden(low)
    if status == 401 or says("api key not valid", "api_key_invalid", "api key expired", "authentication_error"):
        return Trouble.AUTH
    # The last one: this conversation cannot go on, but a fresh one can (see gemini_resume).
    if says("maximum number of tokens", "context window", "invalid argument"):
        return Trouble.CONTEXT_FULL
    # "Check your plan and billing details" stands in the per-minute refusals too, so it tells nothing.
    if status == 402 or says("perday", "per day", "daily", "credits are depleted", "billing_error", "spending cap"):
        return Trouble.QUOTA
    if status == 429 or says("resource_exhausted", "quota", "rate_limit", "rate limit"):
        return Trouble.RATE_LIMIT
    return Trouble.SETUP if status in (400, 404) else Trouble.SERVER
