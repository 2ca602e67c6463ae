"""What runs inside a Dask worker: it hands pieces of work to slots, processes of its own, and keeps parcels for them.

One slot per thread of the worker, kept from one piece to the next. Each is a process, so that a piece that dies takes
no other with it; and each hangs on the worker's life: see `autoquant.scale.guard`.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from autoquant.process import spawn
from autoquant.scale import wire
from autoquant.scale.identity import identity
from autoquant.scale.parcels import Parcel, Piece, Store

FOLDER = "autoquant"
"""Below the worker's --local-directory."""
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


class SlotProcess:
    """A slot, its guard, and the pipes to them."""

    def __init__(self, store: Path) -> None:
        self._lock = threading.Lock()
        life, self._life = os.pipe()
        command = [sys.executable, "-m", "autoquant.scale.guard", str(life), str(store)]
        try:
            self._guard = spawn(
                command,
                cwd=Path.cwd(),
                env={**os.environ, **ONE_THREAD},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=None,
                pass_fds=(life,),
            )
        except BaseException:
            os.close(self._life)
            raise
        finally:
            os.close(life)

    def perform(self, order: dict[str, Any]) -> dict[str, Any]:
        """Do a piece of work.

        Raises
        ------
        EOFError, OSError : the slot is gone.
        """
        assert self._guard.stdin is not None
        assert self._guard.stdout is not None
        wire.send(self._guard.stdin, order)
        answer: dict[str, Any] = wire.receive(self._guard.stdout)
        return answer

    def hang_up(self) -> None:
        """Order the end of the slot and all it started; a call of `perform` that goes on gets an EOFError."""
        with self._lock:
            life, self._life = self._life, -1
        if life >= 0:
            os.close(life)

    def end(self) -> None:
        """End the slot and all it started, and wait until both are gone."""
        self.hang_up()
        self._guard.wait(30)
        for pipe in (self._guard.stdin, self._guard.stdout):
            with contextlib.suppress(OSError, ValueError):
                if pipe is not None:
                    pipe.close()


class Slots:
    """The slots of this worker process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[SlotProcess] = []
        self._busy: dict[SlotProcess, str] = {}

    def perform(self, order: dict[str, Any], store: Path) -> dict[str, Any]:
        """Do a piece of work in an idle slot, or a new one; `broken` when the slot died under it."""
        with self._lock:  # also while one starts: what is not in the table, `leave` does not find
            slot = self._idle.pop() if self._idle else SlotProcess(store)
            self._busy[slot] = order["session"]
        try:
            answer = slot.perform(order)
        except (EOFError, OSError):
            with self._lock:
                self._busy.pop(slot, None)
            slot.end()
            return {"kind": "broken"}
        with self._lock:
            is_wanted = self._busy.pop(slot, None) is not None
            if is_wanted:
                self._idle.append(slot)
        if not is_wanted:  # its client left at this moment, and it was hung up on
            slot.end()
        return answer

    def leave(self, session: str) -> int:
        """A client goes: end what is at work for it, and the idle slots; returns how many were at work."""
        with self._lock:
            busy = [slot for slot, owner in self._busy.items() if owner == session]
            for slot in busy:
                self._busy.pop(slot)
            idle, self._idle = self._idle, []
        for slot in (*busy, *idle):
            slot.hang_up()
        for slot in idle:
            slot.end()
        return len(busy)


_slots = Slots()


def perform(order: dict[str, Any]) -> dict[str, Any]:
    """Task of the scheduler: do a piece of work; says which worker did."""
    from distributed import get_worker

    worker = get_worker()
    return {**_slots.perform(order, _store(worker.local_directory)), "worker": worker.address}


def describe() -> dict[str, str]:
    """What this worker is."""
    return identity()


def worker_doors(*, dask_worker: Any) -> list[str]:
    """Where this worker listens, `0.0.0.0` when everywhere; its pages too."""
    return _doors(dask_worker)


def scheduler_doors(*, dask_scheduler: Any) -> list[str]:
    """Where this scheduler listens, `0.0.0.0` when everywhere; its pages too."""
    return _doors(dask_scheduler)


def _doors(node: Any) -> list[str]:
    """Pages about tasks and logs are served whatever `--no-dashboard` says, and to everyone unless told otherwise."""
    listeners = [str(listener.listen_address) for listener in node.listeners]
    host = node.http_server.address
    return [*listeners, f"http://{f'[{host}]' if ':' in host else host}:{node.http_server.port}"]


def receive(parcel: Parcel, piece: Piece, offset: int, chunk: bytes, token: str, *, dask_worker: Any) -> None:
    """Some bytes of a parcel."""
    Store(_store(dask_worker.local_directory)).receive(parcel, piece, offset, chunk, token)


def has(parcel: Parcel, *, dask_worker: Any) -> bool:
    """Whether a parcel lies here, whole."""
    return Store(_store(dask_worker.local_directory)).folder(parcel) is not None


def finish(parcel: Parcel, token: str, *, dask_worker: Any) -> bool:
    """All bytes of a parcel have come: whether they carry its digest."""
    return Store(_store(dask_worker.local_directory)).finish(parcel, token)


def leave(session: str, *, dask_worker: Any) -> int:
    """A client goes."""
    return _slots.leave(session)


def _store(local_directory: str) -> Path:
    return Path(local_directory) / FOLDER
