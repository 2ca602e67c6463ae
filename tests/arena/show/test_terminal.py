"""On a real terminal: tables are drawn, sessions are heard, and what stays behind is a terminal as it was found."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from referee_world import World

from autoquant import files
from autoquant.arena.sessions.place import logs_of
from autoquant.ledger import records as r
from autoquant.ledger.ledger import Ledger

REPOSITORY = Path(__file__).resolve().parents[3]
HIDE, SHOW = "\x1b[?25l", "\x1b[?25h"
PATIENCE = 60.0

RACE = f"""\
import contextlib, sys
from pathlib import Path
sys.path.insert(0, {str(REPOSITORY / "tests" / "arena")!r})
from race_world import QUICK, SOURCE, make_world
from autoquant import cli
from autoquant.arena import command, launch

world = make_world(Path(sys.argv[1]))
world.racer("a", "print('hello from a', flush=True)\\ntime.sleep(600)")
run, cli.HOME = launch.start, world.home
launch.judge_of = lambda *_: contextlib.nullcontext(world.judge)
launch.start = lambda options, voice: run(options, voice, pace=QUICK)
places = ["--data-dir", str(world.data_root), "--state-dir", str(world.state), "--roster", str(world.roster)]
raise SystemExit(command.main(["start", "--competitors", "all", "--race", "autumn", "--allow-source", SOURCE, *places]))
"""
STUBBORN = """\
import time
from autoquant.arena.launch import stop_on_signals
from autoquant.arena.show.display import LiveTable

def fail():
    raise RuntimeError("sessions cannot be ended")

with LiveTable() as table, stop_on_signals(lambda reason: print(f"asked: {reason}", flush=True), fail, time.monotonic):
    print("ready", flush=True)
    time.sleep(600)
"""


class Terminal:
    """A program on a terminal of its own, and all it wrote there."""

    def __init__(self, program: subprocess.Popen[bytes], master: int) -> None:
        self.program = program
        self._master = master
        self._written = b""

    @property
    def written(self) -> str:
        return self._written.decode(errors="replace")

    def read(self) -> bool:
        """What comes within a moment; False when the program and its terminal are gone."""
        if not select.select([self._master], [], [], 0.05)[0]:
            return self.program.poll() is None
        try:
            data = os.read(self._master, 1 << 16)
        except OSError:
            return False
        self._written += data
        return bool(data)

    def expect(self, words: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while words not in self.written:
            assert time.monotonic() < deadline, self.written
            assert self.read() or words in self.written, self.written

    def end(self) -> int:
        deadline = time.monotonic() + PATIENCE
        while self.read():
            assert time.monotonic() < deadline, self.written
        return self.program.wait(PATIENCE)


@contextmanager
def terminal(*argv: str) -> Iterator[Terminal]:
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 160, 0, 0))
    surroundings = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    env = {**surroundings, "TERM": "xterm-256color", "PYTHONPATH": str(REPOSITORY)}
    program = subprocess.Popen([sys.executable, *argv], stdin=slave, stdout=slave, stderr=slave, env=env)
    os.close(slave)
    try:
        yield Terminal(program, master)
    finally:
        program.kill()
        program.wait()
        os.close(master)


def clean(screen: Terminal) -> bool:
    """The cursor was hidden, is shown again, and nothing turned the other screen on."""
    text = screen.written
    return HIDE in text and text.rfind(SHOW) > text.rfind(HIDE) and "\x1b[?1049h" not in text


def test_watching_draws_the_newest_line_of_who_races_and_leaves_the_terminal_clean(world: World):
    ledger = Ledger.open(world.layout.ledger)
    ledger.append(r.SessionStarted("alice", 1), "2026-11-30T03:00:00Z")
    stdout, _ = logs_of(world.layout, "alice", 1)
    files.atomic_write(stdout, b"reading \x1b[2J\xe2\x80\xaeprogram.md\n")
    watching = (str(REPOSITORY / "arena.py"), "status", "--watch", "--state-dir", str(world.layout.state))
    with terminal(*watching) as screen:
        with files.exclusive_lock(world.layout.lock, "arena process 7 on here"):
            screen.expect("alice: reading \\x1b[2J\\u202eprogram.md")
            screen.expect("Ctrl-C ends the watching, not the race")
            ledger.append(r.SessionEnded("alice", 1, "exited", 1, 5.0, "quota"), "2026-11-30T03:12:00Z")
            screen.expect("waits: quota since 03:12 UTC")
            ledger.append(r.FaultSeen("alice", None, "quota", "left alone after quota"), "2026-11-30T04:00:00Z")
            screen.expect("left: quota since 04:00 UTC")
            screen.expect("2026-11-30 04:00 UTC  alice  quota: left alone after quota")
        assert 0 == screen.end()
        assert clean(screen)
        assert "\x1b[2J" not in screen.written


def test_ctrl_c_while_watching_leaves_the_terminal_clean(world: World):
    watching = (str(REPOSITORY / "arena.py"), "status", "--watch", "--state-dir", str(world.layout.state))
    with files.exclusive_lock(world.layout.lock, "arena process 7 on here"), terminal(*watching) as screen:
        screen.expect("Ctrl-C ends the watching")
        screen.program.send_signal(signal.SIGINT)
        assert 130 == screen.end()
        assert clean(screen)


def test_a_race_draws_what_its_sessions_say_and_ctrl_c_leaves_a_paused_one_behind(tmp_path: Path):
    script = tmp_path / "race.py"
    script.write_text(RACE)
    root = tmp_path / "world"
    root.mkdir()
    with terminal(str(script), str(root)) as screen:
        screen.expect("a: hello from a")
        screen.program.send_signal(signal.SIGINT)
        assert 130 == screen.end()
        assert clean(screen)
        last = screen.written.rpartition("race autumn\x1b")[2]
    assert "paused · 0 faults" in last
    assert "pausing: sessions end" not in last
    assert "next: race autumn is paused (interrupted)" in last


def test_the_second_ctrl_c_leaves_at_once_and_brings_the_cursor_back(tmp_path: Path):
    script = tmp_path / "stubborn.py"
    script.write_text(STUBBORN)
    with terminal(str(script)) as screen:
        screen.expect("ready")
        screen.program.send_signal(signal.SIGINT)
        screen.expect("asked: interrupted")
        assert not clean(screen)
        screen.program.send_signal(signal.SIGINT)
        assert 130 == screen.end()
        assert clean(screen)
        assert screen.written.endswith(f"{SHOW}\r\n")


def test_the_second_ctrl_c_writes_no_sequence_where_there_is_no_terminal(tmp_path: Path):
    script = tmp_path / "stubborn.py"
    script.write_text(STUBBORN.replace("LiveTable() as table, ", ""))
    env = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    with subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env) as program:
        assert program.stdout is not None
        for word in (b"ready\n", b"asked: interrupted\n"):
            assert word == program.stdout.readline()
            program.send_signal(signal.SIGINT)
        assert b"" == program.communicate(timeout=PATIENCE)[1]
    assert 130 == program.returncode


@pytest.mark.parametrize(
    ("nohup", "sent", "asked"),
    [
        (False, [signal.SIGHUP, signal.SIGHUP], "hung up"),
        (False, [signal.SIGTERM, signal.SIGTERM, signal.SIGHUP], "terminated"),
        (True, [signal.SIGHUP, signal.SIGTERM], "terminated"),
    ],
)
def test_a_terminal_that_closes_pauses_once_and_not_at_all_under_nohup(
    tmp_path: Path, nohup: bool, sent: list[signal.Signals], asked: str
):
    """A shell, `uv run` and the kernel each send what the other has sent; only a later one is a second order."""
    script = tmp_path / "stubborn.py"
    script.write_text(STUBBORN.replace("LiveTable() as table, ", "").replace("sleep(600)", "sleep(1)"))
    command = ["nohup", sys.executable, str(script)] if nohup else [sys.executable, str(script)]
    env = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env) as program:
        assert program.stdout is not None
        assert b"ready\n" == program.stdout.readline()
        for number in sent:
            program.send_signal(number)
            time.sleep(0.05)
        said = program.communicate(timeout=PATIENCE)[0]
    assert (0, f"asked: {asked}\n".encode()) == (program.returncode, said)
