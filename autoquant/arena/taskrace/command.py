"""`arena.py tasks race` and `tasks status`: options and what they do."""

from __future__ import annotations

import sys
from pathlib import Path

from autoquant import cli
from autoquant.sealing import Level
from autoquant.tasks.command import Commands, Options, add_command

RACE = """Give the three tasks to competitors, each in a folder of its own with 20 steps, and grade what they hand in.

The unfinished record goes on; else a new one begins. The hidden bars are used once, by the final submission. Records
stand below state/tasks; `arena.py logs NAME-TASK --state-dir state/tasks` shows what a session did."""


def add_options(commands: Commands) -> None:
    """Add the two subcommands."""
    race = add_command(commands, "race", "give the tasks to competitors, unattended", RACE, state=True)
    race.add_argument("--competitors", required=True, metavar="all|A,B", help="who; controls have no part in it")
    race.add_argument(
        "--roster", type=Path, default=cli.HOME / "competitors.toml", metavar="FILE", help="default: competitors.toml"
    )
    race.add_argument("--steps", type=cli.positive_int, metavar="N", help="steps per task of a new record (default 20)")
    race.add_argument("--race", metavar="NAME", help="the record to go on with or to begin")
    race.add_argument("--parallel", type=cli.positive_int, metavar="N", help="sessions at a time (default: all)")
    race.add_argument(
        "--parallel-per-account", type=cli.positive_int, metavar="N", help="sessions at a time on one provider account"
    )
    race.add_argument("--max-hours", type=cli.positive_number, metavar="H", help="pause cleanly after H hours")
    race.add_argument("--skip-missing", action="store_true", help="leave out competitors that cannot run here")
    race.add_argument(
        "--require",
        choices=tuple(map(str, Level)),
        default=str(Level.EVIDENT),
        help="refuse to start when the sessions and solutions would not be sealed",
    )
    race.set_defaults(what=_race)
    status = add_command(commands, "status", "where the graded track stands; reads only", state=True)
    status.add_argument("--race", metavar="NAME", help="the record to show (default: the newest)")
    status.set_defaults(what=_status)


def _race(options: Options) -> int:
    from autoquant.arena.show.voice import Voice
    from autoquant.arena.taskrace.launch import TaskOptions, start
    from autoquant.arena.taskrace.table import plain_table
    from autoquant.ledger.graded import table_of

    voice = Voice(cli.note, cli.progress, live=sys.stderr.isatty())
    asked = TaskOptions(
        home=cli.HOME,
        data_root=options.data_dir,
        state=options.state_dir,
        roster=options.roster,
        wanted=options.competitors,
        steps=options.steps,
        race=options.race,
        parallel=options.parallel,
        parallel_per_account=options.parallel_per_account,
        max_hours=options.max_hours,
        skip_missing=options.skip_missing,
        require=Level(options.require),
    )
    finish = start(asked, voice)
    table = table_of(finish.view)
    if options.json:
        cli.emit_json(table)
    else:
        print(cli.printable(plain_table(table)))
    if not finish.view.is_terminal:
        cli.note(f"graded track {finish.view.created.race} is paused ({finish.reason}); the same command goes on")
    return finish.exit_code


def _status(options: Options) -> int:
    from autoquant.arena.show.status import find_race, race_view
    from autoquant.arena.taskrace.table import plain_table
    from autoquant.errors import UserError
    from autoquant.ledger.graded import graded_state, table_of
    from autoquant.ledger.races import race_names

    state = graded_state(options.state_dir)
    if not race_names(state):
        raise UserError(
            f"there is no record of the graded track in {state}", "begin one: arena.py tasks race --competitors NAME"
        )
    table = table_of(race_view(find_race(state, options.race)))
    if options.json:
        cli.emit_json(table)
    else:
        print(cli.printable(plain_table(table)))
    return 0
