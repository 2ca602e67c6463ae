"""What providers complain about in the same words whichever CLI passes them on, and how long they ask to wait.

Only for what a CLI states as an error of its own: what a model or a tool says never comes here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from autoquant.harness.events import Called, Event, Finished, Hurt, Said, Trouble

_READ = 20_000
"""Characters of a complaint that are looked at."""

_LOST = re.compile(
    # Anthropic; the concurrency is Claude Code's own word for the first.
    r"ids were found without .?tool_result|unexpected .?tool_use_id|tool use concurrency issues|"
    r"have a corresponding .?tool_(use|result)|multiple .?tool_result|tool_use.? ids must be unique|"
    r"invalid .?signature.? in .?thinking|must start with a thinking block|thinking.? blocks .{0,60}cannot be modified|"
    r"content blocks must be non-empty|must have non-empty content|roles must alternate|"
    r"image exceeds|image dimensions exceed|could not process image|"
    # OpenAI, and who speaks its protocols
    r"no tool (output|call) found for|without its required|items are not persisted|duplicate item found|"
    r"invalid_encrypted_content|encrypted content .{0,80}could not be|previous response .{0,80}not found|"
    r"must be followed by tool messages|must be a response to a prec\w+ message|"
    # Gemini
    r"number of function response parts|function (call|response) turn comes immediately|thought[_ ]signature",
    re.IGNORECASE,
)
_ABOUT_LOGIN = re.compile(
    r"(?<![a-z])(log(ged)?[ -]?(in|out)|sign(ed)?[ -]?(in|out)|api[ _-]?key|key|credentials?|token|permissions?|"
    r"unauthori[sz]ed|authori[sz]ation|authenticat\w*|oauth|organi[sz]ation|account|subscription|"
    r"do(es)? not have access)s?(?![a-z])",
    re.IGNORECASE,
)
_FORBIDDEN = re.compile(r"\b403\b|\bforbidden\b", re.IGNORECASE)
_PAGE = re.compile(r"<!doctype|<html|blocked by a gateway or proxy", re.IGNORECASE)
_URL = re.compile(r"https?://[^\s\"')]+")

_UNIT = r"(?:ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hours?|d|days?)(?![a-z])"
_ASKED = re.compile(rf"(?:try again|retry|resets?) in ((?:(?:\s|,|and)*\d{{1,9}}(?:\.\d{{1,9}})?\s?{_UNIT})+)", re.I)
_PART = re.compile(r"(\d+(?:\.\d+)?)\s?(ms|mil|[smhd])", re.I)
_PLAIN = re.compile(r"retry[ _-]?(?:after|delay)\W{1,6}(\d{1,7}(?:\.\d{1,9})?)", re.I)
_SECONDS = {"ms": 0.001, "mil": 0.001, "s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}


def loses_conversation(text: str) -> bool:
    """Whether a provider refuses this very conversation, and would again: only a fresh one can go on.

    >>> loses_conversation("No tool output found for function call call_1."), loses_conversation("Unknown parameter")
    (True, False)
    """
    return _LOST.search(text[:_READ]) is not None


def by_words(text: str, table: Sequence[tuple[Trouble, str]]) -> Trouble | None:
    """The class of a complaint: of the first words in the table that stand in it; None when none do.

    A conversation that is lost goes before the table, a 403 before its words for logins.
    """
    text = text[:_READ]
    if loses_conversation(text):
        return Trouble.CONTEXT_FULL
    trouble = next((kind for kind, words in table if re.search(words, text, re.IGNORECASE)), None)
    if trouble in (None, Trouble.AUTH) and _FORBIDDEN.search(text):
        return of_forbidden(text)
    return trouble


def of_forbidden(text: str) -> Trouble:
    """The class of a 403: a page comes from a proxy in between, and only words of a login make it a matter of one.

    >>> of_forbidden("403 Forbidden"), of_forbidden("<html>no permission</html>")
    (<Trouble.SERVER: 'server error'>, <Trouble.SERVER: 'server error'>)
    >>> of_forbidden("PERMISSION_DENIED"), of_forbidden("403 Forbidden, url: https://keys.example/login")
    (<Trouble.AUTH: 'auth'>, <Trouble.SERVER: 'server error'>)
    """
    text = text[:_READ]
    if _PAGE.search(text) or not _ABOUT_LOGIN.search(_URL.sub("", text)):
        return Trouble.SERVER
    return Trouble.AUTH


def asked_wait(text: str) -> float | None:
    """Seconds a provider asks to wait.

    >>> asked_wait("Please try again in 3.054s."), asked_wait("try again in 1m30s"), asked_wait("try again at 5:33 PM.")
    (3.054, 90.0, None)
    >>> asked_wait("Resets in 2h18m58s."), asked_wait('"retryDelay":"33s"'), asked_wait("retry in 4 days 1 hour")
    (8338.0, 33.0, 349200.0)
    """
    text = text[:_READ]
    if asked := _ASKED.search(text):
        return sum(float(number) * _SECONDS[unit.lower()] for number, unit in _PART.findall(asked[1]))
    plain = _PLAIN.search(text)
    return float(plain[1]) if plain else None


class Waits:
    """What providers asked to wait, by trouble. A later complaint about the same often does not say it again.

    Forgotten as soon as the model is heard again.
    """

    def __init__(self) -> None:
        self._asked: dict[Trouble, float] = {}

    def fill(self, events: tuple[Event, ...]) -> tuple[Event, ...]:
        """The events, each complaint with the wait that is known of it."""
        filled: list[Event] = []
        for event in events:
            match event:
                case Hurt(trouble=trouble, retry_after_seconds=None):
                    event = replace(event, retry_after_seconds=self._asked.get(trouble))
                case Hurt(trouble=trouble, retry_after_seconds=float(seconds)):
                    self._asked[trouble] = seconds
                case Said() | Called() | Finished(ok=True):
                    self._asked.clear()
            filled.append(event)
        return tuple(filled)
