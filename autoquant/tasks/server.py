"""The tasks over HTTP and WebSocket, as an OpenEnv environment (the optional extra `openenv`).

At most `AT_ONCE` gradings run at a time; further ones wait. Each has a clean process of its own.
"""

from __future__ import annotations

import contextlib
import importlib.util
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from autoquant import process
from autoquant.errors import InfrastructureFault, UserError
from autoquant.sandbox import WarmParent, strategy_seal
from autoquant.sealing import Seal
from autoquant.tasks.door import Door
from autoquant.tasks.episode import QuantResearchEnv
from autoquant.tasks.grader import Ground
from autoquant.tasks.ground import clean_parent, load_ground
from autoquant.tasks.spec import ORDER, task

if TYPE_CHECKING:
    from fastapi import FastAPI

SESSIONS = 8
AT_ONCE = 2
MAXIMUM_MESSAGE = 2 * 1024 * 1024
"""Bytes of one WebSocket message, or of a request's body."""
FAREWELL_SECONDS = 1
"""What runs when the server is interrupted has so long to end by itself."""
BACKLOG = 64
"""Connections that may wait to be accepted."""


class Shop:
    """What sessions share: the data, read once, how many gradings may run at a time, and what they run in.

    Truths are worked out afresh: whom it serves may have been able to write into the data folder before.
    """

    def __init__(self, data_root: Path, at_once: int = AT_ONCE, *, seal: Seal | None = None) -> None:
        self._seal = seal
        self._slots = threading.BoundedSemaphore(at_once)
        self._lock = threading.Lock()
        self._open: set[WarmParent] = set()
        self._closed = False
        with clean_parent(seal) as parent:
            self._grounds = {name: load_ground(data_root, name, parent, believing=False) for name in ORDER}

    def ground(self, name: str) -> Ground:
        """What a task is graded on.

        Raises
        ------
        UserError : no such task.
        """
        return self._grounds[task(name).name]

    @contextmanager
    def parent(self) -> Iterator[WarmParent]:
        """A clean process, once one of the slots is free. The slot returns whatever becomes of the client.

        Raises
        ------
        InfrastructureFault : the shop is closed.
        """
        with self._slots, clean_parent(self._seal) as parent:
            try:
                with self._lock:
                    if self._closed:
                        raise InfrastructureFault("the server is ending")
                    self._open.add(parent)
                yield parent
            finally:
                with self._lock:
                    self._open.discard(parent)

    def close(self) -> None:
        """End the gradings that run; none begins any more."""
        with self._lock:
            self._closed = True
            for parent in self._open:
                process.end_tree(parent.pid)

    def episode(self) -> QuantResearchEnv:
        """A session's own episode."""
        return QuantResearchEnv(self.ground, self.parent)


def make_app(shop: Shop, sessions: int = SESSIONS) -> FastAPI:
    """The server as an application, without OpenEnv's tool interface: there are no tools, and a session that is begun
    over it stands on no connection whose end would free its place.
    """
    from openenv.core.env_server.http_server import create_fastapi_app

    from autoquant.tasks.openenv_environment import TaskEnvironment
    from autoquant.tasks.openenv_models import TaskAction, TaskObservation

    app: FastAPI = create_fastapi_app(
        lambda: TaskEnvironment(shop.episode()), TaskAction, TaskObservation, max_concurrent_envs=sessions
    )
    app.router.routes[:] = [route for route in app.router.routes if getattr(route, "path", "") != "/mcp"]
    return app


def serve(data_root: Path, port: int, say: Callable[[str], None], host: str = "127.0.0.1") -> None:
    """Serve until interrupted.

    Parameters
    ----------
    port : 0 takes a free one; `say` tells which.

    Raises
    ------
    UserError : the extra is not installed, or the port is taken. DataError : no index data.
    """
    if importlib.util.find_spec("openenv") is None:
        raise UserError("serving needs openenv-core", "uv sync --extra openenv")
    import uvicorn

    with (
        contextlib.closing(_listen(host, port)) as listener,
        contextlib.closing(Shop(data_root, seal=strategy_seal())) as shop,
    ):
        config = uvicorn.Config(
            Door(make_app(shop), MAXIMUM_MESSAGE),
            log_level="critical",
            ws_max_size=MAXIMUM_MESSAGE,
            lifespan="off",
            timeout_graceful_shutdown=FAREWELL_SECONDS,
        )
        config.load()
        say(f"serving {', '.join(ORDER)} on http://{host}:{listener.getsockname()[1]}; Ctrl-C ends it")
        uvicorn.Server(config).run(sockets=[listener])


def _listen(host: str, port: int) -> socket.socket:
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(BACKLOG)
    except (OSError, OverflowError) as error:
        listener.close()
        problem = error.strerror if isinstance(error, OSError) else "ports run from 0 to 65535"
        raise UserError(f"port {port} of {host}: {problem}", "choose another one: --port N") from None
    return listener
