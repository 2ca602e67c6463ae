"""Errors in one line, the right exit code, nothing hostile on the terminal."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from autoquant.cli import add_home_options, command, one_line, parser, positive_int, printable
from autoquant.errors import AgentFault, InfrastructureFault, UserError


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (UserError("wrong", "do this"), 2),
        (AgentFault("wrong", "do this"), 3),
        (InfrastructureFault("wrong", "do this"), 4),
    ],
)
def test_a_known_error_is_one_line_a_hint_and_an_exit_code(
    error: Exception, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    @command
    def main(argv: list[str] | None = None) -> int:
        raise error

    assert code == main([])
    out, err = capsys.readouterr()
    assert out == ""
    assert err == "error: wrong\nhint: do this\n"


def test_debug_lets_the_traceback_through() -> None:
    @command
    def main(argv: list[str] | None = None) -> int:
        raise UserError("wrong")

    with pytest.raises(UserError):
        main(["--debug"])


def test_an_interrupt_exits_130_without_a_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    @command
    def main(argv: list[str] | None = None) -> int:
        raise KeyboardInterrupt

    assert main([]) == 130
    assert capsys.readouterr().err == "interrupted\n"


def test_an_unexpected_error_stays_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    @command
    def main(argv: list[str] | None = None) -> int:
        raise ZeroDivisionError("a\nb\x1b[31m")

    assert main([]) == 1
    assert capsys.readouterr().err.startswith("error: unexpected ZeroDivisionError: a\nhint:")


def test_control_characters_are_shown_not_obeyed() -> None:
    assert printable("\x1b[31mred\u202e") == "\\x1b[31mred\\u202e"
    assert one_line("first\nsecond") == "first"


def test_a_wrong_option_is_one_line_and_where_to_read_on(capsys: pytest.CaptureFixture[str]) -> None:
    target = parser("tool.py", "")
    target.add_argument("--jobs", type=positive_int)
    with pytest.raises(SystemExit) as ended:
        target.parse_args(["--jobs", "none\x1b[31m"])
    assert ended.value.code == 2
    error, hint = capsys.readouterr().err.splitlines()
    assert error.startswith("error: argument --jobs: 'none\\x1b[31m' is not a whole number")
    assert hint == "hint: tool.py --help"


def test_a_folder_that_refuses_is_a_fault_of_the_machine_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    @command
    def main(argv: list[str] | None = None) -> int:
        raise PermissionError(13, "Permission denied", "/somewhere/.lock")

    assert main([]) == 4
    assert capsys.readouterr().err.startswith("error: /somewhere/.lock: Permission denied\nhint:")


def test_a_full_disk_behind_stdout_is_one_line_too(repository: Path) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run([sys.executable, "arena.py", "doctor", "--skip-harnesses", "--json"], cwd=repository,
                              stdout=full, stderr=subprocess.PIPE, text=True, check=False)  # fmt: skip
    assert (4, "error: No space left on device") == (done.returncode, done.stderr.splitlines()[0])


def test_a_reader_that_leaves_early_is_no_error(repository: Path) -> None:
    pipe = "exec 2>&1; python3 arena.py doctor --skip-harnesses --json | true; echo ${PIPESTATUS[0]}"
    script = pipe.replace("python3", f"'{sys.executable}'")
    done = subprocess.run(["bash", "-c", script], cwd=repository, capture_output=True, text=True, check=False)
    assert done.stdout == "0\n"


def test_a_terminal_without_the_character_still_shows_the_sign(repository: Path) -> None:
    code = "from autoquant.cli import command\ncommand(lambda argv=None: print('−1.28 · ▲ é') or 0)([])"
    done = subprocess.run([sys.executable, "-c", code], cwd=repository, capture_output=True, text=True, check=True,
                          env={"PATH": "/usr/bin:/bin", "PYTHONIOENCODING": "ascii"})  # fmt: skip
    assert done.stdout == "-1.28 | + ?\n"


def test_a_folder_named_from_here_is_the_same_one_everywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Git and the agents run in folders of their own."""
    here = tmp_path / "checkout"
    here.mkdir()
    monkeypatch.chdir(here)
    options_of = parser("arena.py", "")
    add_home_options(options_of, state=True)
    options = options_of.parse_args(["--state-dir", "../state", "--data-dir", "data"])
    assert (tmp_path / "state", here / "data") == (options.state_dir, options.data_dir)
