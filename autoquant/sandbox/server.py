"""The warm parent: a clean process that has imported numpy and pandas, holds nothing else, and forks once per call.

Started by `autoquant.sandbox.warm` as `python -s -P -S -B server.py OPTIONS`, with a fixed environment and one
descriptor, the control socket. A request is one byte with descriptors: `C` (call socket, input, output) or `P` (a
socket that brings module names to import ahead). It never opens an input: a child that forks later would find the
earlier call's data in its memory. A closed call socket is the order to end that call.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import selectors
import signal
import socket
import sys
import types
from pathlib import Path

UNSEEN = (
    "bottleneck", "jinja2", "llvmlite", "matplotlib", "numba", "numexpr", "pyarrow", "scikits", "sksparse", "tabulate",
    "uarray", "xarray",
)  # fmt: skip
"""What pandas and scipy take where they find it: a strategy would work, or come to other last digits, on one host
alone. This is against accident: who looks for them finds them, and fails elsewhere."""
_PACKAGE = Path(__file__).resolve().parent
for _name, _folder in (("autoquant", _PACKAGE.parent), ("autoquant.sandbox", _PACKAGE)):
    # The package's modules by their own names, without the package's own imports and without its folder on the path.
    _module = types.ModuleType(_name)
    _module.__path__ = [str(_folder)]
    sys.modules.setdefault(_name, _module)


class _Server:
    def __init__(self, options: dict[str, object]) -> None:
        from autoquant.sandbox import child, isolation, wire

        self._child, self._isolation, self._wire = child, isolation, wire
        self._control = socket.socket(fileno=int(str(options["control"])))
        self._cpu_seconds = int(str(options["cpu_seconds"]))
        self._memory_bytes = int(str(options["memory_bytes"]))
        child.warm_up()
        readable = options["readable"]
        assert isinstance(readable, list)
        self._walls = isolation.enter_warm_parent(readable, bool(options["sealed"]))
        self._calls: dict[int, tuple[socket.socket, int]] = {}
        self._selector = selectors.DefaultSelector()

    def serve(self) -> None:
        woken, waker = os.pipe()
        os.set_blocking(woken, False)
        os.set_blocking(waker, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
        self._selector.register(woken, selectors.EVENT_READ, "child")
        self._selector.register(self._control, selectors.EVENT_READ, "control")
        self._control.sendall(json.dumps(self._walls.names).encode() + b"\n")
        gc.collect()
        gc.freeze()
        while True:
            for key, _ in self._selector.select():
                if key.data == "control":
                    if not self._request():
                        return
                elif key.data == "child":
                    with contextlib.suppress(BlockingIOError):
                        os.read(woken, 4096)
                elif key.data in self._calls:
                    self._kill(key.data)
                    self._selector.unregister(key.fileobj)
            self._reap()

    def end(self) -> None:
        for pid in self._calls:
            self._kill(pid)

    def _request(self) -> bool:
        kind, descriptors, _, _ = socket.recv_fds(self._control, 1, 3)
        if kind == b"C" and len(descriptors) == 3:
            self._call(*descriptors)
        elif kind == b"P" and len(descriptors) == 1:
            self._preload(socket.socket(fileno=descriptors[0]))
        return bool(kind)

    def _call(self, call: int, given: int, answer: int) -> None:
        limits = self._isolation.Limits(self._cpu_seconds, self._memory_bytes, self._isolation.address_space())
        parent = os.getpid()
        shut_in, entered = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                enter = self._isolation.enter_child
                self._child.run(given, answer, lambda: enter(self._walls, limits, parent, entered))
            finally:
                os._exit(1)
        with contextlib.suppress(OSError):
            os.setpgid(pid, pid)
        for descriptor in (given, answer, entered):
            os.close(descriptor)
        self._calls[pid] = socket.socket(fileno=call), shut_in
        self._selector.register(call, selectors.EVENT_READ, pid)

    def _kill(self, pid: int) -> None:
        for kill in (os.killpg, os.kill):
            with contextlib.suppress(OSError):
                kill(pid, signal.SIGKILL)

    def _reap(self) -> None:
        for pid in list(self._calls):
            ended, status, usage = os.wait4(pid, os.WNOHANG)
            if not ended:
                continue
            self._kill_group(pid)
            call, shut_in = self._calls.pop(pid)
            ran = os.read(shut_in, 1) == b"1"
            os.close(shut_in)
            with contextlib.suppress(KeyError, ValueError):
                self._selector.unregister(call)
            scale = 1024 if sys.platform == "linux" else 1
            with contextlib.suppress(OSError):
                cpu_seconds = usage.ru_utime + usage.ru_stime
                call.sendall(self._wire.End(status, cpu_seconds, usage.ru_maxrss * scale, ran).pack())
            call.close()

    def _kill_group(self, pid: int) -> None:
        """Nothing may outlive a call: the answer is given when no process of its group is left.

        As process 1 of a seal this is the parent of orphans too, and an ended one that nobody waits for stays.
        """
        with contextlib.suppress(OSError):
            while True:
                os.killpg(pid, signal.SIGKILL)
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(-pid, os.WNOHANG)

    def _preload(self, caller: socket.socket) -> None:
        with caller:
            data = b""
            while chunk := caller.recv(4096):
                data += chunk
            for name in data.decode().split():
                with contextlib.suppress(ImportError):
                    importlib.import_module(name)
            gc.collect()
            gc.freeze()
            caller.sendall(b"done")


def main() -> int:
    """Serve calls until the control socket closes."""
    options = json.loads(sys.argv[1])
    if options["sealed"]:
        from autoquant.sandbox import isolation

        isolation.enter_seal()
        os.environ.pop("PWD", None)  # bubblewrap's word, and not part of the fixed environment
    sys.path[:] = [path for path in sys.path if path] + options["packages"]
    sys.modules.update(dict.fromkeys(UNSEEN))  # type: ignore[arg-type]
    server = _Server(options)
    try:
        server.serve()
    finally:
        server.end()
    return 0


if __name__ == "__main__":
    os._exit(main())  # tearing pandas down would take longer than a call
