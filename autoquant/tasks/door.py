"""What comes into the server before OpenEnv reads it: bodies of bounded size, and nothing that cannot be told back.

OpenEnv and FastAPI repeat what they refuse. A lone surrogate or a NaN, which JSON does not have, breaks their answer:
the request would end as an error of the server, or the session with it. Such a message gets one clear answer here.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeAlias

Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
Application: TypeAlias = Callable[[Message, Receive, Send], Awaitable[None]]
"""As ASGI has them."""

TOO_LARGE, NOT_TAKEN = 413, 400
PATIENCE = 32
"""So many times what is allowed is thrown away unread, for a client hears an answer when it has sent everything."""


class Door:
    """An ASGI application that passes on to another one what that may see.

    Parameters
    ----------
    application : behind the door.
    most : bytes of a request's body. A WebSocket's messages are bounded by the server.
    """

    def __init__(self, application: Application, most: int) -> None:
        self._application = application
        self._most = most

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Serve one request or one WebSocket."""
        match scope["type"]:
            case "http":
                await self._request(scope, receive, send)
            case "websocket":
                await self._application(scope, _checked(receive, send), send)
            case _:
                await self._application(scope, receive, send)

    async def _request(self, scope: Message, receive: Receive, send: Send) -> None:
        body, size, more = bytearray(), 0, True
        while more and size <= PATIENCE * self._most:
            message = await receive()
            if message["type"] != "http.request":
                return  # the client is gone
            size += len(message.get("body", b""))
            body += message.get("body", b"") if size <= self._most else b""
            more = message.get("more_body", False)
        if size > self._most:
            await _refuse(send, TOO_LARGE, f"the body has more than {self._most:,} bytes")
            return
        words = problem(bytes(body)) if body else ""
        if words:
            await _refuse(send, NOT_TAKEN, words)
            return
        whole: list[Message] = [{"type": "http.request", "body": bytes(body), "more_body": False}]

        async def again() -> Message:
            return whole.pop() if whole else await receive()

        await self._application(scope, again, send)


def problem(data: str | bytes) -> str:
    """Why a message is not passed on, in words; empty when it is.

    >>> problem('{"type": "state"}'), problem('{"first": NaN}')
    ('', 'the message holds a number or a character that JSON does not have')
    """
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return "the message is not JSON"
    try:
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError):
        return "the message holds a number or a character that JSON does not have"
    return "" if isinstance(value, dict) else "the message is not a JSON object"


def _checked(receive: Receive, send: Send) -> Receive:
    """Messages that may be passed on; the others are answered on the way, one answer each."""

    async def next_one() -> Message:
        while True:
            message = await receive()
            if message["type"] != "websocket.receive":
                return message
            text = message.get("text")
            words = "the message is not text" if text is None else problem(text)
            if not words:
                return message
            answer = {"type": "error", "data": {"message": words, "code": "INVALID_JSON"}}
            await send({"type": "websocket.send", "text": json.dumps(answer)})

    return next_one


async def _refuse(send: Send, status: int, words: str) -> None:
    body = json.dumps({"detail": words}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
