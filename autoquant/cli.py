"""What the five commands share: options, errors to one line, progress, JSON.

stdout carries the answer and nothing else; progress, notes and errors go to stderr. Ctrl-C ends with 130.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

from autoquant.errors import AutoQuantError, UserError

HOME = Path(__file__).resolve().parent.parent
"""The checkout (or worktree) this package stands in: data/, state/, strategy.py and the commands are looked up here."""


class Main(Protocol):
    """A command's main function."""

    def __call__(self, argv: list[str] | None = None) -> int:
        """Run with these arguments (None: the process's own) and return the exit code."""
        ...


def command(main: Main) -> Main:
    """Wrap a command: known errors print as one line and set the exit code, Ctrl-C exits 130, --debug shows all."""

    @functools.wraps(main)
    def wrapped(argv: list[str] | None = None) -> int:
        arguments = sys.argv[1:] if argv is None else argv
        debug = "--debug" in arguments
        try:
            return main(arguments)
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
            with contextlib.suppress(OSError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            return 0
        except Exception as error:
            if debug:
                raise
            note(f"error: unexpected {type(error).__name__}: {one_line(str(error))}")
            note("hint: run again with --debug for the traceback; this is a bug of AutoQuant's")
            return 1

    return wrapped


def parser(prog: str, description: str) -> argparse.ArgumentParser:
    """A parser with the options every command has: --debug."""
    result = argparse.ArgumentParser(
        prog=prog, description=description, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    result.add_argument("--debug", action="store_true", help="show tracebacks")
    return result


def add_home_options(target: argparse.ArgumentParser, *, state: bool = False) -> None:
    """--data-dir, and --state-dir where a command keeps races."""
    target.add_argument(
        "--data-dir", type=Path, default=HOME / "data", metavar="DIR", help="market data (default: data/)"
    )
    if state:
        target.add_argument(
            "--state-dir", type=Path, default=HOME / "state", metavar="DIR", help="races (default: state/)"
        )


def add_json_option(target: argparse.ArgumentParser) -> None:
    """--json."""
    target.add_argument("--json", action="store_true", help="print the answer as JSON")


def positive_int(text: str) -> int:
    """Argparse type: a whole number of at least 1."""
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return value


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
