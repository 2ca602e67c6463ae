"""Whole trees end, deaf or re-parented as they may be."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from autoquant import process

DEAF = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(60)"
ORPHANER = (
    "import subprocess, sys, os\n"
    "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'], start_new_session=True)\n"
    "print(child.pid, flush=True)\n"
)


def start(code: str, **environment: str) -> subprocess.Popen[bytes]:
    env = {**os.environ, **environment}
    return process.spawn([sys.executable, "-c", code], cwd=Path.cwd(), env=env, stdout=subprocess.PIPE)


def gone(pid: int) -> bool:
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


def test_a_program_deaf_to_the_polite_signal_is_killed() -> None:
    child = start(DEAF)
    assert child.stdout is not None
    child.stdout.readline()
    assert process.end_tree(child.pid, grace_seconds=0.2) == 1
    assert child.wait(5) == -9
    child.stdout.close()


def test_a_grandchild_in_its_own_session_is_found_by_its_mark() -> None:
    child = start(ORPHANER, AUTOQUANT_RUN="mark-of-this-test")
    assert child.stdout is not None
    grandchild = int(child.stdout.readline())
    child.wait(5)
    assert [grandchild] == [p.pid for p in process.marked("mark-of-this-test")]
    process.end_tree(child.pid, run_id="mark-of-this-test", grace_seconds=0.2)
    assert gone(grandchild)
    child.stdout.close()


DAEMON = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execve(sys.executable, [sys.executable, "-c", "import time; print(1, flush=True); time.sleep(60)"], ENV)
    os._exit(0)
os.wait()
"""
ADOPTER = """
import os, sys
from pathlib import Path
from autoquant import process
assert process.adopt_orphans()
for env in ({}, {process.RUN_MARK: "mine"}, {process.RUN_MARK: "rival"}):
    child = process.spawn(
        [sys.executable, "-c", DAEMON.replace("ENV", repr(env))], cwd=Path.cwd(), env=os.environ, stdout=-1
    )
    child.stdout.readline()
    child.wait()
keeper = process.spawn([sys.executable, "-c", "import time; time.sleep(60)"], cwd=Path.cwd(), env={})
print(process.end_strays(["rival"]), keeper.poll(), process.end_strays(["rival"]), process.end_strays([]))
process.end_tree(keeper.pid)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux hands orphans to an adopter")
def test_x19_a_daemon_without_parent_group_and_mark_is_ended_and_a_rivals_is_not() -> None:
    program = f"DAEMON = {DAEMON!r}\n{ADOPTER}"
    finished = process.run([sys.executable, "-c", program], cwd=Path.cwd(), env=os.environ, timeout_seconds=60)
    assert b"2 None 0 1" == finished.stdout.strip(), finished.stderr


def test_a_short_program_past_its_time_is_ended() -> None:
    begun = time.monotonic()
    with pytest.raises(TimeoutError, match="did not end"):
        process.run([sys.executable, "-c", "import time; time.sleep(60)"], cwd=Path.cwd(), timeout_seconds=0.3)
    assert time.monotonic() - begun < 30


def test_a_program_gets_only_the_environment_it_is_given() -> None:
    done = process.run([sys.executable, "-c", "import os; print(sorted(os.environ))"], cwd=Path.cwd(), env={"A": "1"})
    assert b"'A'" in done.stdout
    assert b"HOME" not in done.stdout
