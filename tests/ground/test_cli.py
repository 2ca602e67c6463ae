"""Errors in one line, the right exit code, nothing hostile on the terminal."""

from __future__ import annotations

import pytest

from autoquant.cli import command, one_line, printable
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
