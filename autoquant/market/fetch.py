"""One archive over HTTP: checksum first, then the file, verified before anybody sees it.

What the network does wrong is tried again with exponential back-off and jitter; what the archive says for good (404)
is an answer. When the tries are used up, one line names URL and reason.
"""

from __future__ import annotations

import os
import random
import re
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar

import requests
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection
from urllib3.connectionpool import HTTPConnectionPool

from autoquant.clock import Clock, SystemClock
from autoquant.errors import AutoQuantError, DataError, InfrastructureFault
from autoquant.files import sha256_bytes

Answer = TypeVar("Answer")

CONTINUE = "run the same command again: it goes on where it stopped"
_CHECKSUM = re.compile(rb"\s*([0-9a-fA-F]{64})(?:\s|$)")


@dataclass(frozen=True)
class Patience:
    """How long a fetcher goes on trying; seconds."""

    attempts: int = 6
    mismatch_attempts: int = 3
    first_wait: float = 0.5
    wait_ceiling: float = 30.0
    retry_after_ceiling: float = 60.0
    connect_timeout: float = 10.0
    read_timeout: float = 30.0
    file_timeout: float = 300.0
    max_bytes: int = 64 * 1024**2


class _PromptConnection(HTTPConnection):
    """Acknowledges at once while an answer is due.

    A plain server that sends headers and body as two small packets otherwise waits for the 40 ms delayed
    acknowledgement on every kept-alive request: 5,000 requests from a local mirror took 30 s, now 10 s.
    """

    def getresponse(self) -> Any:
        if hasattr(socket, "TCP_QUICKACK") and self.sock is not None:
            self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
        return super().getresponse()


class _PromptPool(HTTPConnectionPool):
    ConnectionCls = _PromptConnection


_ERROR_BODY_BYTES = 1 << 16


class _PromptAdapter(HTTPAdapter):
    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        super().init_poolmanager(*args, **kwargs)
        self.poolmanager.pool_classes_by_scheme = {**self.poolmanager.pool_classes_by_scheme, "http": _PromptPool}


class Stopped(AutoQuantError):
    """Another worker failed first; this one gives up quietly."""


class _Retry(Exception):
    """One try went wrong in a way that may pass."""

    def __init__(self, reason: str, wait: float | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.wait = wait


class Fetcher:
    """Fetches archives below one base URL; one keep-alive session per thread.

    Parameters
    ----------
    base_url : where `data/futures/um/…` begins.
    clock, jitter : time and randomness; tests pass their own.
    session : makes a session.
    """

    def __init__(
        self,
        base_url: str,
        *,
        patience: Patience | None = None,
        clock: Clock | None = None,
        jitter: random.Random | None = None,
        session: Callable[[], requests.Session] = requests.Session,
    ) -> None:
        if not re.match(r"https?://[^/\s]+", base_url):
            raise DataError(f"base URL {base_url!r} is not an http address", "give it like http://127.0.0.1:8777")
        self.base_url = base_url.rstrip("/")
        self.patience = patience or Patience()
        self._clock = clock or SystemClock()
        self._jitter = jitter or random.Random()
        self._new_session = session
        self._local = threading.local()
        self._stop = threading.Event()
        # Read once: requests would look through the environment and ~/.netrc on every single request.
        self._proxies = requests.utils.get_environ_proxies(self.base_url, no_proxy=None)
        self._certificates = os.environ.get("REQUESTS_CA_BUNDLE") or os.environ.get("CURL_CA_BUNDLE") or True

    def url(self, path: str) -> str:
        """Address of an archive path."""
        return f"{self.base_url}/{path}"

    def stop(self) -> None:
        """Make every worker give up at its next step."""
        self._stop.set()

    def checksum(self, path: str) -> str | None:
        """The published sha256 of an archive, None when the archive has no such file (404).

        Raises
        ------
        InfrastructureFault : no usable answer; names URL and reason.
        """
        url = self.url(path) + ".CHECKSUM"

        def attempt() -> str | None:
            body = self._get(url, 4096)
            if body is None:
                return None
            found = _CHECKSUM.match(body)
            if found is None:
                raise _Retry("is not a checksum file")
            return found.group(1).decode().lower()

        return self._try(attempt, url)

    def archive(self, path: str, sha256: str) -> bytes:
        """The bytes of an archive whose sha256 is `sha256`.

        Raises
        ------
        DataError : the archive is gone (404).
        InfrastructureFault : no usable answer; names URL and reason.
        """
        return self.any_archive(path, lambda got: got == sha256)

    def any_archive(self, path: str, accept: Callable[[str], bool]) -> bytes:
        """The bytes of an archive whose sha256 `accept` takes; else as `archive`."""
        url = self.url(path)

        def attempt() -> bytes | None:
            body = self._get(url, self.patience.max_bytes)
            if body is not None and not accept(sha256_bytes(body)):
                kind = "is an HTML page, not an archive" if body.lstrip()[:1] == b"<" else "differs from its checksum"
                raise _Retry(kind)
            return body

        body = self._try(attempt, url)
        if body is None:
            raise DataError(f"{url}: 404, though its checksum is published", CONTINUE)
        return body

    def _try(self, attempt: Callable[[], Answer], url: str) -> Answer:
        number = 0
        while True:
            if self._stop.is_set():
                raise Stopped(f"{url}: not fetched, another archive failed first")
            number += 1
            try:
                return attempt()
            except _Retry as failure:
                final = self.patience.mismatch_attempts if failure.wait is None else self.patience.attempts
                if number >= final:
                    raise InfrastructureFault(f"{url}: {failure.reason} ({number} tries)", CONTINUE) from None
                self._rest(failure.wait or 0.0, number)

    def _rest(self, asked: float, number: int) -> None:
        """Wait what the server asked for, or the back-off if that is longer, in steps that notice `stop`."""
        backoff = min(self.patience.wait_ceiling, self.patience.first_wait * 2.0 ** (number - 1))
        left = max(min(asked, self.patience.retry_after_ceiling), backoff * self._jitter.uniform(0.5, 1.0))
        while left > 0 and not self._stop.is_set():
            self._clock.sleep(min(left, 0.5))
            left -= 0.5

    def _get(self, url: str, limit: int) -> bytes | None:
        """Body of one GET, None for 404; anything that may pass raises `_Retry`."""
        patience = self.patience
        deadline = self._clock.monotonic() + patience.file_timeout
        try:
            with self._session().get(
                url,
                timeout=(patience.connect_timeout, patience.read_timeout),
                stream=True,
                allow_redirects=True,
            ) as answer:
                if answer.status_code != 200:
                    self._refused(url, answer)
                    return None
                body = bytearray()
                for chunk in answer.iter_content(1 << 16):
                    body += chunk
                    if len(body) > limit:
                        raise _Retry(f"is larger than {limit} bytes")
                    if self._clock.monotonic() > deadline:
                        raise _Retry(f"took longer than {patience.file_timeout:.0f} s", 0.0)
                return bytes(body)
        except requests.Timeout:
            raise _Retry("timed out", 0.0) from None
        except requests.exceptions.ChunkedEncodingError:
            raise _Retry("was cut short", 0.0) from None
        except requests.ConnectionError as error:
            raise _Retry(f"cannot connect ({_reason(error)})", 0.0) from None
        except requests.RequestException as error:
            raise InfrastructureFault(f"{url}: {_reason(error)}", CONTINUE) from None

    def _refused(self, url: str, answer: requests.Response) -> None:
        """Return for 404, raise `_Retry` for what may pass and a fault for what will not."""
        status = answer.status_code
        if status == 404:
            answer.raw.read(_ERROR_BODY_BYTES)  # a short body read to its end keeps the connection
            return
        if status in (408, 425, 429) or status >= 500:
            raise _Retry(f"answers {status}", _retry_after(answer.headers.get("Retry-After"), self._clock))
        raise InfrastructureFault(f"{url}: answers {status}", "check the base URL, a proxy, or the archive's terms")

    def _session(self) -> requests.Session:
        session: requests.Session | None = getattr(self._local, "session", None)
        if session is None:
            session = self._new_session()
            session.trust_env = False
            session.proxies.update(self._proxies)
            session.verify = self._certificates
            session.mount("http://", _PromptAdapter())
            self._local.session = session
        return session


def _retry_after(header: str | None, clock: Clock) -> float:
    """Seconds a Retry-After header asks for; 0 without one or with one that makes no sense."""
    if header is None:
        return 0.0
    if header.strip().isdigit():
        return float(header.strip())
    try:
        return max(0.0, (parsedate_to_datetime(header) - clock.now()).total_seconds())
    except (ValueError, TypeError):
        return 0.0


def _reason(error: Exception) -> str:
    """The innermost cause of a network error, on one line."""
    cause: BaseException = error
    seen = 0
    while seen < 10:
        inner = getattr(cause, "reason", None)
        deeper = inner if isinstance(inner, BaseException) else cause.__cause__ or cause.__context__
        if deeper is None:
            break
        cause, seen = deeper, seen + 1
    text = str(cause) or type(cause).__name__
    return text.split("\n", 1)[0][:200]
