"""What the five commands share: options, errors to one line, progress, JSON.

stdout carries the answer and nothing else; progress, notes and errors go to stderr. Ctrl-C ends with 130.
"""

from __future__ import annotations

import argparse
import codecs
import contextlib
import functools
import io
import math
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn, Protocol

from autoquant.errors import AutoQuantError, InfrastructureFault, UserError

HOME = Path(__file__).resolve().parent.parent
"""The checkout (or worktree) this package stands in: data/, state/, strategy.py and the commands are looked up here."""


_PLAIN = {"−": "-", "–": "-", "…": "...", "·": "|", "×": "x", "→": "->", "≤": "<=", "≥": ">=", "▲": "+", "Δ": "d"}


class Main(Protocol):
    """A command's main function."""

    def __call__(self, argv: list[str] | None = None) -> int:
        """Run with these arguments (None: the process's own) and return the exit code."""
        ...


def command(main: Main) -> Main:
    """Wrap a command: errors print as one line and set the exit code, Ctrl-C exits 130, --debug shows all.

    A reader that closes the pipe early is no error; a disk or folder that refuses is an infrastructure fault.
    """

    @functools.wraps(main)
    def wrapped(argv: list[str] | None = None) -> int:
        arguments = sys.argv[1:] if argv is None else argv
        debug = "--debug" in arguments
        _accept_any_text()
        try:
            code = main(arguments)
            if sys.stdout is not None:
                sys.stdout.flush()
            return code
        except AutoQuantError as error:
            if debug:
                raise
            note(f"error: {error.message}")
            if error.hint:
                note(f"hint: {error.hint}")
            return error.exit_code
        except KeyboardInterrupt:
            note("interrupted")
            return 130
        except BrokenPipeError:
            _let_stdout_go()
            return 0
        except OSError as error:
            if debug:
                raise
            _let_stdout_go()
            where = f"{error.filename}: " if error.filename else ""
            note(f"error: {where}{one_line(error.strerror or str(error))}")
            note("hint: see that there is room and that the place may be read and written (--debug shows where)")
            return InfrastructureFault.exit_code
        except Exception as error:
            if debug:
                raise
            note(f"error: unexpected {type(error).__name__}: {one_line(str(error))}")
            note("hint: run again with --debug for the traceback; this is a bug of AutoQuant's")
            return 1

    return wrapped


def _accept_any_text() -> None:
    """Where the terminal lacks a character a plain one stands in; a minus stays a minus."""
    codecs.register_error("autoquant.plain", _plain)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="autoquant.plain")


def _plain(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(_PLAIN.get(c, "?") for c in error.object[error.start : error.end]), error.end


def _let_stdout_go() -> None:
    """Flush; what cannot be written goes nowhere, so that the interpreter's last flush does not fail again."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        try:
            sys.stdout.flush()
            return
        except OSError:
            pass
        sink = os.open(os.devnull, os.O_WRONLY)
        os.dup2(sink, sys.stdout.fileno())
        os.close(sink)


class Parser(argparse.ArgumentParser):
    """Says in one line what is wrong with the options, and where to read on."""

    def error(self, message: str) -> NoReturn:
        """Exit 2 with an error line and a hint."""
        self.exit(UserError.exit_code, printable(f"error: {message}\nhint: {self.prog} --help\n"))


def parser(prog: str, description: str) -> Parser:
    """A parser with the options every command has: --debug."""
    result = Parser(
        prog=prog, description=description, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    result.add_argument("--debug", action="store_true", help="show tracebacks")
    return result


def add_home_options(target: argparse.ArgumentParser, *, state: bool = False) -> None:
    """--data-dir, and --state-dir where a command keeps races."""
    target.add_argument(
        "--data-dir", type=whole_path, default=HOME / "data", metavar="DIR", help="market data (default: data/)"
    )
    if state:
        target.add_argument(
            "--state-dir", type=whole_path, default=HOME / "state", metavar="DIR", help="races (default: state/)"
        )


def add_json_option(target: argparse.ArgumentParser) -> None:
    """--json."""
    target.add_argument("--json", action="store_true", help="print the answer as JSON")


def whole_path(text: str) -> Path:
    """Argparse type: a path that means the same in every folder; git and agents run in others."""
    return Path(os.path.realpath(text))


def positive_int(text: str) -> int:
    """Argparse type: a whole number of at least 1."""
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return value


def positive_number(text: str) -> float:
    """Argparse type: a finite number above 0."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
    return value


def seed_number(text: str) -> int:
    """Argparse type: a whole number of at least 0."""
    if not text.isascii() or not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 0")
    return int(text)


def one_blas_thread() -> None:
    """Let matrix products run on one core; works before numpy is imported.

    Those of a report are small: numpy's threads wait for each other longer than they calculate. And a figure's last
    digit must not depend on how many there are.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def note(text: str) -> None:
    """One line to stderr, with control characters made visible."""
    print(printable(text), file=sys.stderr, flush=True)


def printable(text: str) -> str:
    """Text whose control and bidirectional characters cannot steer a terminal; newlines stay.

    >>> printable("a" + chr(27) + "[31m")
    'a\\\\x1b[31m'
    """
    return "".join(c if c == "\n" or c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def one_line(text: str) -> str:
    """First line of `text`, printable, at most 300 characters."""
    first = printable(text.strip().split("\n", 1)[0])
    return first if len(first) <= 300 else first[:297] + "..."


def emit_json(value: Any) -> None:
    """Print a record as indented JSON on stdout."""
    from autoquant import codec

    print(codec.dumps(value, indent=1))


@contextlib.contextmanager
def progress(title: str, *, unit: str = "") -> Iterator[Callable[[int, int], None]]:
    """A progress bar on stderr when that is a terminal; otherwise silent. Yields `update(done, total)`."""
    if not sys.stderr.isatty():
        yield lambda done, total: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        ProgressColumn,
        Task,
        TextColumn,
        TimeRemainingColumn,
    )
    from rich.text import Text

    class RateColumn(ProgressColumn):
        """Steps per second, once there is something to measure."""

        def render(self, task: Task) -> Text:
            return Text("" if task.speed is None else f"{task.speed:,.1f}/s")

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(unit),
        RateColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def require_file(path: Path, hint: str) -> Path:
    """`path`, or a one-line error when it is not a file."""
    if not path.is_file():
        raise UserError(f"{path}: not found", hint)
    return path
