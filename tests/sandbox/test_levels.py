"""Sealed where bubblewrap works, evident with the reason elsewhere; and what a seal leaves to be seen."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from autoquant.errors import InfrastructureFault
from autoquant.sandbox import CallFrames, TableFrames, WarmParent, strategy_isolation, strategy_level, syscalls
from autoquant.sandbox.interpreter import SERVER, this_interpreter
from autoquant.sandbox.warm import FLAGS
from autoquant.sealing import Level, Seal, sealed_prefix

REPOSITORY = Path(__file__).resolve().parents[2]


def behind(seal: Seal, program: str) -> str:
    """What an interpreter prints behind the strategies' seal, with none of the walls that stand inside it."""
    argv = [*sealed_prefix(seal), this_interpreter().program, *FLAGS, "-c", program]
    return subprocess.run(argv, capture_output=True, text=True, check=True, timeout=60).stdout


def test_without_bubblewrap_the_level_is_evident_and_says_why() -> None:
    level, reason = strategy_level(lambda name: None)
    assert Level.EVIDENT is level
    assert "bubblewrap" in reason


@pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap is for Linux")
@pytest.mark.parametrize(
    ("script", "word"),
    [
        ("echo 'bwrap: Creating new namespace failed' >&2; exit 1", "Creating new namespace failed"),
        ("exit 3", "exit code 3"),
        ('while [ "$1" != -- ]; do shift; done; shift; exec "$@"', "PID space"),
    ],
    ids=["that says why", "that says nothing", "that only pretends"],
)
def test_a_bubblewrap_that_does_not_work_is_no_seal(tmp_path: Path, script: str, word: str) -> None:
    program = tmp_path / "bwrap"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    found = strategy_isolation(lambda name: str(program))
    assert (Level.EVIDENT, None) == (found.level, found.seal)
    assert word in found.reason


def test_where_bubblewrap_works_strategy_code_is_sealed() -> None:
    """INV-34. Else a seal that is broken here would be a machine without one, and its tests would be skipped."""
    program = shutil.which("bwrap")
    plain = [str(program), "--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "/bin/true"]
    if program is None or subprocess.run(plain, capture_output=True).returncode != 0 or not syscalls.available():
        pytest.skip("bubblewrap, or the system-call filter, does not work here at all")
    level, reason = strategy_level()
    if "made of links" not in reason:
        assert (Level.SEALED, "bubblewrap") == (level, reason.partition(" ")[0])


def test_the_level_is_found_once(real_seal: Seal) -> None:
    found = strategy_isolation()
    assert found is strategy_isolation()
    assert found.reason.startswith("bubblewrap")


LOOK = """
import json, os, sys
shown, seen = json.loads(sys.stdin.readline()), []
for folder, folders, names in os.walk("/"):
    folders[:] = [n for n in folders if os.path.join(folder, n) not in shown]
    seen += [os.path.join(folder, n) for n in (*folders, *names) if os.path.join(folder, n) not in shown]
writable = [p for p in (*seen, *shown, "/") if os.access(p, os.W_OK) and not p.startswith(("/dev/", "/proc/"))]
for folder in ("/", "/tmp", "/var/tmp", "/run", "/dev", "/dev/shm", *shown):
    try:
        os.close(os.open(os.path.join(folder, "aq-mark"), os.O_CREAT | os.O_WRONLY))
        writable.append(folder)
    except OSError:
        pass
files = [p for p in seen if os.path.isfile(p) and not p.startswith(("/dev/", "/proc/"))]
print(json.dumps([files, writable, [int(n) for n in os.listdir("/proc") if n.isdigit()], os.path.exists("/sys")]))
"""


def test_behind_the_seal_is_the_interpreter_and_nothing_to_write(real_seal: Seal) -> None:
    """INV-34. No file of the checkout but the server's own, none of the home, of data or of a state."""
    shown = [os.path.realpath(path) for path in real_seal.read]
    program = LOOK.replace("sys.stdin.readline()", repr(json.dumps(shown)))
    files, writable, processes, system = json.loads(behind(real_seal, program))
    assert [] == files
    assert [] == writable
    assert [1] == processes
    assert not system
    of_ours = [path for path in shown if Path(path).is_relative_to(REPOSITORY) and not path.startswith(sys.prefix)]
    assert [str(SERVER.parent)] == of_ours


def test_both_levels_give_the_same_answer_to_the_last_bit(real_seal: Seal, frames: CallFrames) -> None:
    source = b"""
import numpy as np


def target_weights(panel, train_end):
    mixed = panel.close.pct_change().rolling(7).std().ewm(span=5).mean().rank(axis=1, pct=True)
    return mixed + np.linalg.lstsq(panel.close.to_numpy(), panel.high["A01"].to_numpy(), rcond=None)[0].sum()
"""
    answers = []
    for seal in (None, real_seal):
        with WarmParent(seal=seal) as parent:
            answers.append(parent.call(source, frames, 0).values)
    assert answers[0].tobytes() == answers[1].tobytes()
    assert np.isfinite(answers[0]).any()


def test_a_table_call_is_sealed_too(real_seal: Seal) -> None:
    times = np.arange(4, dtype=np.int64) * 60_000
    tables = TableFrames(times, (("df", "close"),), np.arange(4.0)[None])
    source = b"def generate_trades(df):\n    return df[['close']].rename(columns={'close': 'position'})\n"
    with WarmParent(seal=real_seal) as parent:
        answer = parent.call_tables(source, tables, ("position",))
        assert "own-files" in parent.isolation
    assert answer.values is not None
    assert [0.0, 1.0, 2.0, 3.0] == answer.values[:, 0].tolist()


AS_NOBODY = """
import json, os
from autoquant.sandbox import strategy_isolation
from autoquant.sandbox.proof import prove_strategy
found = strategy_isolation()
print(json.dumps([os.getuid(), found.level, found.reason, [one.name for one in prove_strategy() if not one.stopped]]))
"""


def test_an_ordinary_user_is_sealed_as_root_is(real_seal: Seal, tmp_path: Path) -> None:
    """In a mount namespace where the interpreter does not stand in root's closed home."""
    tools = [shutil.which(name) for name in ("unshare", "setpriv", "mount")]
    if os.geteuid() != 0 or None in tools:
        pytest.skip("needs root, who can become an ordinary user; whoever else runs these tests is one already")
    needed = [Path(os.path.realpath(sys.base_prefix)), Path(sys.prefix), REPOSITORY / "autoquant"]
    lines = [f"mount -t tmpfs -o mode=755 none {tmp_path}"]
    for path in needed:
        place = tmp_path / path.relative_to("/")
        lines += [f"mkdir -p -m 755 {place}", f"mount --bind {path} {place}"]
    for top in dict.fromkeys(path.parts[1] for path in needed if path.parts[1] not in ("usr", "lib", "opt")):
        lines.append(f"mount --rbind {tmp_path / top} /{top}")
    python = Path(sys.prefix) / "bin" / "python"
    lines.append(f'cd / && exec setpriv --reuid 65534 --regid 65534 --clear-groups {python} -B -c "$1"')
    script = "set -e; umask 022; " + "; ".join(lines)
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(REPOSITORY)}
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", script, "sh", AS_NOBODY],
        capture_output=True, text=True, env=environment, timeout=120,
    )  # fmt: skip
    if "unshare" in done.stderr or "mount:" in done.stderr:
        pytest.skip(f"this root may not mount: {done.stderr.splitlines()[0]}")
    assert "" == done.stderr
    user, level, reason, broken = json.loads(done.stdout)
    assert [] == broken
    if level == Level.EVIDENT:
        pytest.skip(f"an ordinary user is not sealed here: {reason}")
    assert (65534, Level.SEALED) == (user, level)


IN_A_SEAL = """
import numpy as np
from autoquant.errors import CrashError
from autoquant.sandbox import CallFrames, StrategyIsolation, WarmParent, prove_strategy
from autoquant.sealing import Level
open_doors = [one.name for one in prove_strategy(StrategyIsolation(Level.EVIDENT, "")) if not one.stopped]
one = np.zeros((1, 1), np.int64)
frames = CallFrames(one[0], ("A00",), ("close",), np.ones((1, 1, 1)), ("tier",), one)
for line in ("import os; os.fork()", "import _thread; _thread.start_new_thread(print, ())"):
    try:
        with WarmParent() as parent:
            parent.call(f"def target_weights(panel, train_end):\\n    {line}\\n".encode(), frames, 0)
        open_doors.append(line)
    except CrashError as error:
        assert error.kind in ("PermissionError", "BlockingIOError", "RuntimeError"), error
print(open_doors)
"""


def test_strategy_code_runs_at_the_evident_level_inside_an_agents_seal(real_seal: Seal) -> None:
    """Root is the only user in there, and a call cannot have a number of its own: `evaluate.py` of a sealed session."""
    seal = Seal(
        real_seal.program, read=(*real_seal.read, REPOSITORY / "autoquant", Path(sys.prefix), Path(sys.executable))
    )
    start = f"import sys; sys.path.insert(0, {str(REPOSITORY)!r})\n{IN_A_SEAL}"
    argv = [*sealed_prefix(seal), sys.executable, "-B", "-c", start]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60)
    assert ("", "[]\n") == (done.stderr, done.stdout)


def test_a_bubblewrap_that_is_gone_is_the_machines_fault(real_seal: Seal) -> None:
    with pytest.raises(InfrastructureFault, match="could not be started"):
        WarmParent(seal=replace(real_seal, program="/no/such/bwrap"))


STARTERS = {"WarmParent", "ParentPool", "Judge", "judge_lockbox", "clean_parent", "Shop"}


def test_whoever_starts_strategy_code_says_at_which_level(repository: Path) -> None:
    """INV-42. A caller that forgot the seal, or gave none, would fall back to the evident level without a word."""
    silent = []
    for path in sorted((repository / "autoquant").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in STARTERS:
                seals = [ast.unparse(key.value) for key in node.keywords if key.arg == "seal"]
                told = ast.unparse(node.func) == "clean_parent" or seals not in ([], ["None"])
                silent += [] if told else [f"{path.relative_to(repository)}:{node.lineno}"]
    assert [] == silent
