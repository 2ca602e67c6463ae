"""A process that does one piece of work after the other for a worker. Started by `autoquant.scale.guard`.

Linux kills it when its guard dies, which watches the worker. Nothing of a piece stays but imported modules, verified
parcels and what the work itself keeps in memory.

    python -m autoquant.scale.slot GUARD_PID STORE
"""

from __future__ import annotations

import ctypes
import os
import pickle
import signal
import sys
from pathlib import Path
from typing import Any

from autoquant.scale import wire
from autoquant.scale.identity import differing, identity
from autoquant.scale.parcels import Parcel, Store, lay_out

_PDEATHSIG = 1


def main(argv: list[str]) -> int:
    """Serve until the worker closes the pipe."""
    guard = int(argv[0])
    _die_with(guard)
    orders, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)  # what the work prints is no answer
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    slot = Slot(Store(Path(argv[1])))
    while True:
        try:
            order = wire.receive(orders)
        except EOFError:
            return 0
        wire.send(answers, slot.perform(order))


class Slot:
    """Does pieces of work, and keeps the function it did last."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._function: tuple[str, Any] = ("", None)

    def perform(self, order: dict[str, Any]) -> dict[str, Any]:
        """The answer to an order; see `autoquant.scale.pool` for both."""
        if found := differing(order["identity"], identity()):
            return {"kind": "refused", "reason": found}
        folders: dict[str, Path] = {}
        missing: list[str] = []
        for parcel in (order["function"], *order["parcels"]):
            folder = self._store.folder(parcel)
            if folder is None:
                missing.append(parcel.digest)
            else:
                folders[parcel.what] = folder
        if missing:
            return {"kind": "missing", "parcels": missing}
        lay_out(folders)
        try:
            function = self._of(order["function"], folders[order["function"].what])
            kind, value = "done", function(pickle.loads(order["item"]))
        except Exception as error:
            kind, value = "failed", error
        try:
            result = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
            pickle.loads(result)
        except Exception:
            kind, result = "failed", pickle.dumps(RuntimeError(f"{type(value).__name__}: {value}"[:500]))
        return {"kind": kind, "result": result}

    def _of(self, parcel: Parcel, folder: Path) -> Any:
        if self._function[0] != parcel.digest:
            self._function = (parcel.digest, pickle.loads((folder / parcel.pieces[0].name).read_bytes()))
        return self._function[1]


def _die_with(guard: int) -> None:
    """Have the kernel kill this process when its parent is gone, and look whether it is already."""
    if sys.platform != "linux":
        return
    ctypes.CDLL(None, use_errno=True).prctl(_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != guard:
        os._exit(1)


if __name__ == "__main__":
    os._exit(main(sys.argv[1:]))
