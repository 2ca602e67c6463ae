"""`arena.py tasks …`: its options, and what each does. Nothing heavy is imported before it is needed."""

from __future__ import annotations

import argparse
import codecs
import stat
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from autoquant import cli

if TYPE_CHECKING:
    from autoquant.tasks.grade import Grade

Options = argparse.Namespace
Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
"""What subcommands are added to; argparse keeps its name to itself."""

DESCRIPTION = """Three fixed quant tasks on NIFTY 50 and BANK NIFTY, graded by one strict ladder each.

uv run setup_data.py --indices nifty=FILE banknifty=FILE     # or --indices --synthetic
uv run arena.py tasks list
uv run arena.py tasks show easy
uv run arena.py tasks grade solution.py --task easy"""


def add_options(tasks: argparse.ArgumentParser) -> Commands:
    """Add the subcommands; further ones may be added to what it returns."""
    commands = tasks.add_subparsers(required=True, metavar="WHAT")
    listed = add_command(commands, "list", "the tasks and the data they are graded on")
    listed.set_defaults(what=show_list)
    show = add_command(commands, "show", "what a task asks, and its ladder")
    show.add_argument("name", metavar="NAME", help="easy, medium or hard")
    show.set_defaults(what=show_task)
    grade = add_command(commands, "grade", "grade a solution: the rung it reaches, and what to mend first")
    grade.add_argument("file", type=Path, metavar="FILE", help="a Python file that defines generate_trades")
    grade.add_argument("--task", required=True, metavar="NAME", help="easy, medium or hard")
    grade.add_argument("--final", action="store_true", help="use the hidden bars too (the hard task's full score)")
    grade.set_defaults(what=grade_file)
    summary = "serve the tasks as an OpenEnv environment (needs the extra openenv)"
    serving = add_command(commands, "serve", summary, json=False)
    serving.add_argument("--port", type=cli.seed_number, default=8000, metavar="N", help="default 8000; 0: a free one")
    serving.set_defaults(what=serve_tasks)
    return commands


def add_command(
    commands: Commands, name: str, summary: str, description: str = "", *, state: bool = False, json: bool = True
) -> argparse.ArgumentParser:
    """A subcommand with the options that all of them have.

    Parameters
    ----------
    description : for its own help; the summary by default.
    state : whether it works on records.
    json : whether it has an answer to print as JSON.
    """
    sub = commands.add_parser(
        name,
        help=summary,
        description=description or summary,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    sub.add_argument("--debug", action="store_true", help="show tracebacks")
    cli.add_home_options(sub, state=state)
    if json:
        cli.add_json_option(sub)
    return sub


def show_list(options: Options) -> int:
    """`tasks list`."""
    from autoquant.errors import DataError
    from autoquant.market.indices import index_folder, load_manifest
    from autoquant.tasks import text
    from autoquant.tasks.spec import ORDER, task

    specs = [task(name) for name in ORDER]
    try:
        manifest = load_manifest(index_folder(options.data_dir))
        problem = ""
    except DataError as error:
        manifest, problem = None, f"{error.message}; {error.hint}"
    if options.json:
        cli.emit_json({"tasks": specs, "data": manifest, "problem": problem or None})
    else:
        print(cli.printable(text.listing(specs, manifest, problem)))
    return 0


def show_task(options: Options) -> int:
    """`tasks show`."""
    from autoquant.tasks import text
    from autoquant.tasks.spec import task

    spec = task(options.name)
    if options.json:
        cli.emit_json(spec)
    else:
        print(cli.printable(text.described(spec)))
    return 0


def grade_file(options: Options) -> int:
    """`tasks grade`."""
    from autoquant.tasks import text

    found = _grade(options)
    if options.json:
        cli.emit_json(found)
    else:
        print(cli.printable(text.graded(found)))
    return 0


def serve_tasks(options: Options) -> int:
    """`tasks serve`."""
    from autoquant.tasks.server import serve

    serve(options.data_dir, options.port, cli.note)
    return 0


def _grade(options: Options) -> Grade:
    from autoquant.sandbox import strategy_seal
    from autoquant.tasks.grader import grade
    from autoquant.tasks.ground import clean_parent, load_ground
    from autoquant.tasks.spec import task

    task(options.task)
    source = _read(options.file)
    with clean_parent(strategy_seal()) as parent:
        return grade(parent, source, load_ground(options.data_dir, options.task, parent), final=options.final)


def _read(path: Path) -> bytes:
    """Bytes of a solution, without the mark that some editors begin a file with; at most one more than is allowed."""
    from autoquant.errors import UserError
    from autoquant.tasks.solution import LIMITS

    hint = "name a Python file that defines generate_trades"
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise UserError(f"{path}: not a file", hint)
        with path.open("rb") as file:
            return file.read(LIMITS.strategy_bytes + 1).removeprefix(codecs.BOM_UTF8)
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}", hint) from None
