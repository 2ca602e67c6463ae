"""Scripted models whose faults follow a racer's sessions, and the steps an agent takes between the faults.

The models are fake_models.py in threads of this process: a process for each would cost more than some of the CLIs.
"""

from __future__ import annotations

import contextlib
import json
import re
import shlex
import threading
import types
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import psutil

from autoquant import process

SLEEPER = """\
import os, pathlib, signal, sys, time
mode, sign = sys.argv[1:]
pathlib.Path(sign).touch()
if mode == "stubborn":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if os.fork() == 0:
        os.setsid()
        os.execve(sys.executable, [sys.executable, "-c", "import time; time.sleep(300)", sign], {})
time.sleep(300)
"""
"""A tool that outlives its turn. A stubborn one ignores SIGTERM, and so does its child, which has a session of its own
and no run mark. Both can be known by the path of the sign they leave."""

STEP = """\
n=$(cat scratch/step 2>/dev/null || echo 0)
n=$((n + 1))
echo $n > scratch/step
case $n in
{acts}
esac
echo "SHARPE = $n" > strategy.py
python run.py -m "step $n"
"""
"""One step of the agent, the n-th over all its sessions: an experiment whose score is its number."""


@dataclass(frozen=True)
class Met:
    """What one session meets. Requests are counted from its first one."""

    faults: tuple[str, ...] = ()
    """As fake_models.py takes them: `429@2-3`, and `429@2-` from there on."""
    satisfied_at: int | None = None
    """The request at which the model ends its turn, whatever is left of the budget."""


class ScriptedModel:
    """The options of a fake_models.py server, made anew for each request from what the race's record says.

    Parameters
    ----------
    module : a fake_models.py of its own, which counts its requests.
    racer, ledger : whose sessions count, and where they stand.
    model : the name it answers under.
    meets : by session; later ones meet nothing.
    step : shell command of every tool call; once the record shows `budget` attempts there are no more.
    log : takes a line per request.
    """

    hang = 120.0
    cwd = "."
    final = "Done: scripted run finished."
    textmode = ""
    delay = 0.0
    usage = 1000
    full = False

    def __init__(
        self,
        module: types.ModuleType,
        racer: str,
        ledger: Path,
        *,
        model: str,
        meets: Sequence[Met],
        step: str,
        budget: int,
        log: Path,
    ) -> None:
        self.log, self.model = log, model
        self._module, self._racer, self._ledger = module, racer, ledger
        self._meets, self._step, self._budget = tuple(meets), step, budget
        self._session, self._before = 0, 0
        self._lock = threading.Lock()

    @property
    def fault(self) -> list[str]:
        """What fails in the session that runs now. The server asks once for each model request."""
        met = self._met()
        shifted = []
        for fault in met.faults:
            name, first, dash, last = re.fullmatch(r"(\w+)@(\d+)(-?)(\d*)", fault).groups()  # type: ignore[union-attr]
            end = int(last) if last else 10**6 if dash else int(first)
            shifted.append(f"{name}@{self._before + int(first)}-{self._before + end}")
        return shifted

    @property
    def cmds(self) -> list[str]:
        """The tool calls the model would make, as many as any conversation has."""
        met = self._met()
        satisfied = met.satisfied_at is not None and self._module.COUNT["n"] - self._before >= met.satisfied_at
        return [] if satisfied or self._told()["attempt_closed"] >= self._budget else [self._step] * 100

    def served(self) -> Counter[str]:
        """How often each fault was served so far."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return Counter(fault for line in lines if (fault := json.loads(line).get("fault")))

    def _met(self) -> Met:
        with self._lock:
            session = self._told()["session_started"]
            if session != self._session:
                self._session, self._before = session, self._module.COUNT["n"] - 1
        return self._meets[session - 1] if 0 < session <= len(self._meets) else Met()

    def _told(self) -> Counter[str]:
        """Kinds of the racer's lines in the record."""
        whole, _, _ = self._ledger.read_text(encoding="utf-8").rpartition("\n")
        entries = map(json.loads, whole.splitlines())
        return Counter(entry["kind"] for entry in entries if entry["body"].get("competitor") == self._racer)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    a: ScriptedModel

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that was killed; nobody wants to read of it."""


def load_fake_models(shared: Path) -> types.ModuleType:
    """A fake_models.py of its own. Not imported: that would leave bytecode in the shared folder."""
    source = shared / "tools" / "fake_models.py"
    module = types.ModuleType("fake_models")
    exec(compile(source.read_text(encoding="utf-8"), str(source), "exec"), module.__dict__)
    return module


@contextlib.contextmanager
def serve(module: types.ModuleType) -> Iterator[_Server]:
    """A server of `module` on this machine; its `a` has to be set before anybody asks."""
    with _Server(("127.0.0.1", 0), module.H) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def write_step(folder: Path, racer: str, acts: Mapping[int, str]) -> str:
    """The command of a racer's steps. Read by the tool's own shell, so that what it starts is that shell's child.

    Parameters
    ----------
    acts : `hold` (a child in the background holds the tool's output), `stubborn` (a tool that ignores SIGTERM) or
        `hold stubborn`, by the number of the step in which it happens, before the experiment.
    """
    sleeper = folder / "sleeper.py"
    sleeper.write_text(SLEEPER)
    cases = []
    for number, act in acts.items():
        words = ["python", str(sleeper), act.split()[-1], str(sign_of(folder, racer, number))]
        cases.append(f"  {number}) {shlex.join(words)} {'&' if act.startswith('hold') else ''} ;;")
    path = folder / f"{racer}.sh"
    path.write_text(STEP.format(acts="\n".join(cases) or "  none) ;;"))
    return f". {shlex.quote(str(path))}"


def sign_of(folder: Path, racer: str, step: int) -> Path:
    """What a sleeper leaves to show that it ran."""
    return folder / f"{racer}-{step}.ran"


def living(folder: Path, marks: Collection[str]) -> list[str]:
    """Command lines of processes that carry one of the run marks, name the folder, or work in it."""
    found = []
    for one in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            words, mark = " ".join(one.cmdline()), one.environ().get(process.RUN_MARK)
            if str(folder) in words or mark in marks or Path(one.cwd()).is_relative_to(folder):
                found.append(words)
    return found
