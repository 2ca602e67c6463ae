"""What Claude Code prints (`--output-format stream-json`) and writes to its session file, in the words of events.py.

Tokens per request come from the session file, not from the stream: the stream prints a message while it is made, with
`output_tokens` 1, and never corrects it. The session file has the final number within a tenth of a second, while the
message's tool runs, so that a killed session loses nothing (2.1.332 against the scripted server). What the CLI itself
adds up, its figure in dollars included, goes on over resumes but forgets a session that was killed: a running total,
never more than the truth. Only there does a compaction stand.
"""

from __future__ import annotations

from typing import Any

from autoquant.harness.complaints import Waits, loses_conversation, of_forbidden
from autoquant.harness.events import Called, Event, Finished, Hurt, ModelSeen, Named, Said, Spent, Trouble, Usage
from autoquant.harness.jsonl import child, count, money, parse, text

_SHORT = 300
_SYNTHETIC = "<synthetic>"
"""Model name of a message that the CLI wrote itself: an API error, the filler after a kill."""

_GONE = "no conversation found"
"""A resume of something that is not there; as with a full context, the remedy is a fresh conversation."""

_BY_WORD = {
    "authentication_failed": Trouble.AUTH,
    "oauth_org_not_allowed": Trouble.AUTH,
    "account_on_hold": Trouble.AUTH,
    "verification_required": Trouble.AUTH,
    "cloud_credential_error": Trouble.AUTH,
    "billing_error": Trouble.QUOTA,
    "rate_limit": Trouble.RATE_LIMIT,
    "overloaded": Trouble.SERVER,
    "server_error": Trouble.SERVER,
    "model_not_found": Trouble.SETUP,
}


class ClaudeReader:
    """Reader of one session."""

    def __init__(self) -> None:
        self._largest: dict[str, int] = {}
        self._complaint = ""
        self._model = ""
        self._waits = Waits()

    def stdout(self, line: str) -> tuple[Event, ...]:
        """Events of one line of the stream."""
        return self._waits.fill(self._event(parse(line)))

    def stderr(self, line: str) -> tuple[Event, ...]:
        """Refusals to start; everything else on standard error is chatter."""
        low = line.lower()
        if "cannot be used with root" in low or "unknown option" in low or "invalid api key" in low:
            trouble = Trouble.AUTH if "invalid api key" in low else Trouble.SETUP
            return (Hurt(trouble, line.strip()[:_SHORT], gives_up=True),)
        return ()

    def transcript(self, line: str) -> tuple[Event, ...]:
        """Tokens of one line of the session file: a content block of a message, or the CLI's own running total."""
        record = parse(line)
        session = text(record.get("sessionId"))
        if not session:
            return ()
        if record.get("type") == "cost-state":
            known = record.get("hasUnknownModelCost") is False
            return _total(session, record.get("modelUsage"), record.get("totalCostUSD") if known else None)
        message = child(record, "message")
        model, request = text(message.get("model")), text(message.get("id"))
        if record.get("type") != "assistant" or not request or model in ("", _SYNTHETIC):
            return ()
        usage = _usage(child(message, "usage"))
        if usage.output < self._largest.get(request, 0):
            return ()
        self._largest[request] = usage.output
        spent = Spent(session, request, usage, model)
        return (spent,) if record.get("isSidechain") is True else (spent, *self._seen(model))

    def exit(self, code: int) -> Hurt | None:
        """Nothing: 1 stands for everything, and 0 has been seen after a tool was killed."""
        return None

    def _event(self, event: dict[str, Any]) -> tuple[Event, ...]:
        match text(event.get("type")):
            case "system":
                return self._system(event)
            case "assistant":
                return self._assistant(event)
            case "rate_limit_event":
                if text(child(event, "rate_limit_info").get("status")) == "rejected":
                    return (Hurt(Trouble.QUOTA, "usage limit of the subscription reached"),)
            case "result":
                return self._result(event)
        return ()

    def _system(self, event: dict[str, Any]) -> tuple[Event, ...]:
        session = text(event.get("session_id"))
        match text(event.get("subtype")):
            case "init":
                return (Named(session),) if session else ()
            case "api_retry":
                status, word = count(event.get("error_status")), text(event.get("error"), _SHORT)
                delay = money(event.get("retry_delay_ms"))
                message = f"{status or 'no answer'} {word}, try {count(event.get('attempt'))} failed"
                return (Hurt(_classify(status, word), message, retry_after_seconds=delay and delay / 1000),)
        return ()

    def _assistant(self, event: dict[str, Any]) -> tuple[Event, ...]:
        message = child(event, "message")
        model = text(message.get("model"))
        content = message.get("content")
        blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
        if word := text(event.get("error"), _SHORT):  # the CLI's own words about a failed request
            self._complaint = word
            return ()
        events: list[Event] = []
        for block in blocks if model != _SYNTHETIC else ():
            said = text(block.get("text")) or text(block.get("thinking"))
            if said.strip():
                events.append(Said(said))
            if block.get("type") == "tool_use":
                asked = child(block, "input")
                words = (text(asked.get(name), _SHORT) for name in ("command", "file_path", "pattern", "description"))
                events.append(Called(text(block.get("name"), _SHORT), next((word for word in words if word), "")))
        if model and model != _SYNTHETIC and not event.get("parent_tool_use_id"):
            events.extend(self._seen(model))
        return tuple(events)

    def _result(self, event: dict[str, Any]) -> tuple[Event, ...]:
        errors = event.get("errors")
        session, bad = text(event.get("session_id")), event.get("is_error") is True
        said = text(event.get("result")) or text(errors[0] if isinstance(errors, list) and errors else "")
        events: list[Event] = []
        if session:
            models = child(event, "modelUsage")
            known = bool(models) and all(child(models, name).get("costBasis") != "unknown" for name in models)
            events.extend(_total(session, models, event.get("total_cost_usd") if known else None))
        status = count(event.get("api_error_status"))
        if bad and (status or self._complaint or said):
            trouble = _classify(status, self._complaint, said)
            events.append(Hurt(trouble, said[:_SHORT] or f"{status} {self._complaint}", gives_up=True))
        events.append(Finished(not bad, said))
        return tuple(events)

    def _seen(self, model: str) -> tuple[ModelSeen, ...]:
        """The model that answered, said once until it changes."""
        changed, self._model = model != self._model, model
        return (ModelSeen(model),) if changed else ()


def _usage(raw: dict[str, Any]) -> Usage:
    """Usage of one request; what Anthropic calls input excludes both what was read from and written to the cache."""
    read = count(raw.get("cache_read_input_tokens"))
    return Usage(
        input=count(raw.get("input_tokens")) + read + count(raw.get("cache_creation_input_tokens")),
        cached=read,
        output=count(raw.get("output_tokens")),
        reasoning=count(child(raw, "output_tokens_details").get("thinking_tokens")),
        requests=1,
    )


def _total(session: str, models: Any, cost: Any) -> tuple[Event, ...]:
    """Running total of a conversation, helper requests included."""
    used = [child(models, name) for name in child(models)]
    if not used:
        return ()

    def over(name: str) -> int:
        return sum(count(entry.get(name)) for entry in used)

    usage = Usage(
        input=over("inputTokens") + over("cacheReadInputTokens") + over("cacheCreationInputTokens"),
        cached=over("cacheReadInputTokens"),
        output=over("outputTokens"),
        reasoning=over("thinkingTokens"),
        cost_usd=money(cost),
    )
    return (Spent(session, None, usage),)


def _classify(status: int, word: str, said: str = "") -> Trouble:
    """What kind of complaint this is, from the HTTP status, the CLI's word for it and its sentence."""
    low = said.lower()
    full = any(hint in low for hint in ("prompt is too long", "context limit", _GONE))
    if full or status == 413 or loses_conversation(said):
        return Trouble.CONTEXT_FULL
    if status == 402 or any(hint in low for hint in ("credit balance", "usage limit", "billing", "hit your limit")):
        return Trouble.QUOTA
    if "cannot be used with root" in low:
        return Trouble.SETUP
    if status == 403 and word in ("", "authentication_failed"):  # its own word for each of them
        return of_forbidden(said.partition("API Error:")[2])
    if status in (401, 403) or "not logged in" in low or "/login" in low:
        return Trouble.AUTH
    if status == 429:
        return Trouble.QUOTA if word == "billing_error" else Trouble.RATE_LIMIT
    if status in (400, 404, 405, 422):
        return Trouble.SETUP
    return _BY_WORD.get(word, Trouble.SERVER)
