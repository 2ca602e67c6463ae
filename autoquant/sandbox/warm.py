"""The caller's side of a warm parent: start it, send it calls, judge what its children left.

Environment of every child, whole: `PYTHONHASHSEED=0`, one BLAS thread, `TZ=UTC`, `LANG=C.UTF-8`. The flags are `-s -P
-S -B` and not `-I`, because `-I` would ignore the hash seed; with an environment this small they come to the same.
"""

from __future__ import annotations

import builtins
import contextlib
import json
import math
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import NoReturn, Self, TypeVar

import numpy as np
import psutil

from autoquant.errors import AgentFault, CrashError, EvaluationCut, InfrastructureFault, LimitError, OutputError
from autoquant.process import Launcher, spawn
from autoquant.protocol import PROTOCOL, Limits
from autoquant.sandbox import wire
from autoquant.sandbox.frames import Answer, CallFrames, open_answer, read_answer, write_call
from autoquant.sandbox.interpreter import SERVER, this_interpreter
from autoquant.sandbox.tables import TableAnswer, TableFrames, open_table, read_table, write_tables
from autoquant.sealing import Level, Seal, sealed_prefix

T = TypeVar("T")
ENVIRONMENT = {
    "PYTHONHASHSEED": "0",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "TZ": "UTC",
    "LANG": "C.UTF-8",
}
CPU_LIMIT, MEMORY_LIMIT = "CpuLimit", "MemoryLimit"
_REFUSALS = (
    "NotADataFrame", "DuplicateColumns", "DuplicateRows", "UnknownColumn", "NotNumeric", "Infinite",
)  # fmt: skip
_KNOWN_EXCEPTIONS = frozenset(
    name for name, item in vars(builtins).items() if isinstance(item, type) and issubclass(item, BaseException)
) | {"LinAlgError", "InvalidIndexError", "OutOfBoundsDatetime", "SpecificationError", "IntCastingNaNError"}
FLAGS = ("-s", "-P", "-S", "-B")
"""Of the warm parent's interpreter: no user's packages, nothing of a folder on the path, no `site`, no bytecode."""
_START_SECONDS = 60.0
_SHELL_SIGNAL = 128
"""Bubblewrap ends with this much more than the signal that its program died of."""


class WarmParent:
    """A clean process that forks one fresh child per call. Calls may come from several threads at once.

    One per attempt, never reused: nothing survives from one attempt to the next. Starting returns at once; the first
    call waits until the parent is ready.

    Parameters
    ----------
    limits : CPU, memory and the wall backstop of one call.
    preload : modules to import ahead of the first call (public scipy packages a strategy names).
    launcher : starts the program.
    seal : what `autoquant.sandbox.levels` found on this machine; None is the evident level.

    Raises
    ------
    InfrastructureFault : it could not be started.
    """

    def __init__(
        self,
        limits: Limits = PROTOCOL.limits,
        preload: Iterable[str] = (),
        launcher: Launcher = spawn,
        *,
        seal: Seal | None = None,
    ) -> None:
        self._limits = limits
        self._cpu_limit = math.ceil(limits.cpu_seconds)
        self._lock = threading.Lock()
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self._level = Level.EVIDENT if seal is None else Level.SEALED
        interpreter = this_interpreter()
        options = {
            "control": theirs.fileno(),
            "cpu_seconds": self._cpu_limit,
            "memory_bytes": limits.memory_bytes,
            "packages": interpreter.packages,
            "readable": interpreter.libraries,
            "sealed": seal is not None,
        }
        start = (sys.executable,) if seal is None else (*sealed_prefix(seal), interpreter.program)
        argv = [*start, *FLAGS, str(SERVER), json.dumps(options)]
        with theirs:
            try:
                self._process: subprocess.Popen[bytes] = launcher(
                    argv, cwd=Path("/"), env=ENVIRONMENT, pass_fds=(theirs.fileno(),)
                )
            except OSError as error:
                self._control.close()
                raise _broken(f"the strategy process could not be started ({error.strerror or error})") from None
        self._walls: tuple[str, ...] | None = None
        self.preload(preload)

    @property
    def pid(self) -> int:
        """Process id of the parent, of bubblewrap around it when sealed: with it everything in there ends."""
        return self._process.pid

    @property
    def level(self) -> Level:
        """Sealed or evident."""
        return self._level

    @property
    def isolation(self) -> tuple[str, ...]:
        """The level, and what this machine takes from a child: see `autoquant.sandbox.isolation`."""
        with self._lock:
            return (self._level.value, *self._ready())

    def preload(self, modules: Iterable[str]) -> None:
        """Import modules in the parent, so that no child pays for them."""
        names = sorted(set(modules))
        if not names:
            return
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        with ours:
            with theirs:
                self._send(b"P", [theirs.fileno()])
            ours.settimeout(_START_SECONDS)
            with contextlib.suppress(OSError):
                ours.sendall("\n".join(names).encode())
                ours.shutdown(socket.SHUT_WR)
                ours.recv(16)

    def call(self, source: bytes, frames: CallFrames, train_end_ms: int, reveal: bool = False) -> Answer:
        """Run `target_weights` of `source` in a fresh child on exactly these frames.

        Parameters
        ----------
        train_end_ms : what the strategy gets as its second argument, milliseconds UTC.
        reveal : whether the exception's text may come back.

        Raises
        ------
        CrashError : the strategy raised or ended its process. OutputError : its answer is no frame of numbers.
        LimitError : CPU or memory. EvaluationCut : killed from outside, or the wall backstop. InfrastructureFault : the
            machine could not start it.
        """
        rows, columns = frames.cube.shape[1:]
        started = time.monotonic()
        end, (verdict, values, present) = self._exchange(
            lambda: write_call(frames, source, train_end_ms, reveal),
            lambda: open_answer(rows, columns),
            lambda answer: read_answer(answer, rows, columns),
        )
        self._require_answer(verdict, end, reveal)
        if np.isinf(values).any() or (present > 1).any():
            raise _fault(OutputError, "Infinite", None, None)
        return Answer(values, present.astype(bool), end.cpu_seconds, time.monotonic() - started)

    def call_tables(
        self, source: bytes, frames: TableFrames, wanted: tuple[str, ...], reveal: bool = False
    ) -> TableAnswer:
        """Run `generate_trades` of `source` in a fresh child on exactly these frames.

        Parameters
        ----------
        wanted : columns that the answer has, and no others.
        reveal : whether the exception's text may come back.

        Raises
        ------
        As `call`; an OutputError when no DataFrame came back. More than one row per bar and one are not taken.
        """
        room, started = frames.rows + 1, time.monotonic()
        end, (verdict, note, values) = self._exchange(
            lambda: write_tables(frames, source, wanted, reveal),
            lambda: open_table(room, wanted),
            lambda answer: read_table(answer, room, wanted),
        )
        self._require_answer(verdict, end, reveal)
        if not note:
            raise _fault(OutputError, "NotADataFrame", None, None)
        return TableAnswer(
            columns=tuple(note["columns"]),
            column_count=note["count"],
            rows=note["rows"],
            values=values,
            kinds=tuple(note["kinds"]),
            cpu_seconds=end.cpu_seconds,
            wall_seconds=time.monotonic() - started,
        )

    def _exchange(
        self, give: Callable[[], int], take: Callable[[], int], read: Callable[[int], T]
    ) -> tuple[wire.End, T]:
        """Hand over an input, wait for the child, read its answer; both files are gone afterwards."""
        with contextlib.ExitStack() as files:
            try:
                given = give()
                files.callback(os.close, given)
                answer = take()
                files.callback(os.close, answer)
                return self._run(given, answer), read(answer)
            except OSError as error:
                raise _broken(f"a strategy call could not be handed over ({error.strerror or error})") from None

    def _require_answer(self, verdict: wire.Verdict, end: wire.End, reveal: bool) -> None:
        if verdict.status != wire.ANSWERED or end.status != 0 or end.cpu_seconds > self._cpu_limit:
            self._refuse(verdict, end, reveal)

    def close(self) -> None:
        """End the parent and whatever runs under it."""
        self._control.close()
        try:
            self._process.wait(5.0)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(psutil.Error):
                for child in psutil.Process(self.pid).children(recursive=True):
                    child.kill()
            self._process.kill()
            self._process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _ready(self) -> tuple[str, ...]:
        if self._walls is None:
            self._control.settimeout(_START_SECONDS)
            line = b""
            try:
                while not line.endswith(b"\n"):
                    chunk = self._control.recv(1024)
                    if not chunk:
                        raise self._stillborn("it ended")
                    line += chunk
            except OSError as error:
                raise self._stillborn(str(error)) from None
            self._walls = tuple(str(name) for name in json.loads(line))
        return self._walls

    def _stillborn(self, reason: str) -> InfrastructureFault:
        """Why a server never said that it is ready: killed from outside like any call, or the machine's doing."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            if self._process.wait(1.0) in (-signal.SIGKILL, _SHELL_SIGNAL + signal.SIGKILL):
                return _cut_down("the strategy process was killed before it was ready")
        return _broken(f"the strategy process did not start ({reason})")

    def _send(self, kind: bytes, descriptors: list[int]) -> None:
        with self._lock:
            self._ready()
            if self._process.poll() is not None:  # bubblewrap, killed before what it started could hang on to it
                raise _cut_down("the strategy process is gone")
            try:
                socket.send_fds(self._control, [kind], descriptors)
            except OSError:
                raise _cut_down("the strategy process is gone") from None

    def _run(self, given: int, answer: int) -> wire.End:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        with ours:
            with theirs:
                self._send(b"C", [theirs.fileno(), given, answer])
            ours.settimeout(self._limits.wall_backstop_seconds)
            data = b""
            try:
                while len(data) < wire.END_BYTES and (chunk := ours.recv(wire.END_BYTES - len(data))):
                    data += chunk
            except TimeoutError:
                seconds = self._limits.wall_backstop_seconds
                raise _cut_down(f"a strategy call was still waiting after {seconds:.0f} s of wall time") from None
            except OSError:
                data = b""
        if len(data) != wire.END_BYTES:
            raise _cut_down("the strategy process was killed during a call")
        return wire.End.unpack(data)

    def _refuse(self, verdict: wire.Verdict, end: wire.End, reveal: bool) -> NoReturn:
        text = verdict.text if reveal else None
        line = verdict.line if 0 < verdict.line <= self._limits.strategy_lines else None
        killed_by = os.WTERMSIG(end.status) if os.WIFSIGNALED(end.status) else 0
        if not killed_by and not end.shut_in:
            raise _broken("the limits of a strategy call could not be set")
        spent = end.cpu_seconds >= self._cpu_limit if killed_by == signal.SIGKILL else end.cpu_seconds > self._cpu_limit
        if spent or killed_by == signal.SIGXCPU:
            raise LimitError(
                f"strategy.py used more than {self._limits.cpu_seconds:.0f} s of CPU in one call",
                "vectorise, or shorten the loop",
                kind=CPU_LIMIT,
            )
        out_of_memory = not killed_by and verdict.status == wire.OUT_OF_MEMORY
        if out_of_memory or (killed_by == signal.SIGKILL and end.peak_bytes >= 0.9 * self._limits.memory_bytes):
            raise LimitError(
                f"strategy.py used more than {self._limits.memory_bytes >> 20} MiB in one call",
                "keep fewer copies of the panel",
                kind=MEMORY_LIMIT,
                line=line,
            )
        if killed_by == signal.SIGKILL:
            raise _cut_down("a strategy call was killed from outside")
        if killed_by:
            raise _fault(CrashError, signal.Signals(killed_by).name, None, None)
        if verdict.status == wire.REFUSED and verdict.name in _REFUSALS:
            raise _fault(OutputError, verdict.name, None, text)
        if verdict.status == wire.RAISED:
            known = verdict.name in _KNOWN_EXCEPTIONS or (reveal and verdict.name.isidentifier())
            raise _fault(CrashError, verdict.name if known else "Exception", line, text)
        raise _fault(CrashError, "Exited", None, None)


def _fault(cls: type[AgentFault], kind: str, line: int | None, text: str | None) -> AgentFault:
    where = "strategy.py" if line is None else f"strategy.py line {line}"
    what = kind if not text else f"{kind}: {text}"
    hint = "return a DataFrame of finite or NaN numbers" if cls is OutputError else "run it on TRAIN to see the message"
    return cls(f"{where}: {what}", hint, kind=kind, line=line, text=text)


def _broken(message: str) -> InfrastructureFault:
    return InfrastructureFault(message, "the machine's doing, not the strategy's: it will be tried again")


def _cut_down(message: str) -> EvaluationCut:
    return EvaluationCut(message, "evaluation cut from outside: it will be tried again")
