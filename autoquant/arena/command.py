"""Run a race of coding agents.

uv run arena.py doctor                                          # is this machine ready?
uv run arena.py start --competitors all --max-experiments 50    # the same command resumes
uv run arena.py status --watch
uv run arena.py logs NAME -f                                    # what a session says and does
uv run arena.py placebo                                         # how far searchers without skill come
uv run arena.py lockbox                                         # once, after every run is terminal
uv run arena.py report --out docs/index.html
uv run arena.py demo                                            # all of it in miniature, on synthetic data
uv run arena.py tasks grade FILE --task easy                    # the graded track
uv run arena.py export FILE                                     # a finished race, for strangers to check
uv run arena.py verify FILE                                     # check one, without trusting who ran it
"""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from autoquant import cli, scale
from autoquant.protocol import PROTOCOL
from autoquant.sealing import Level

if TYPE_CHECKING:
    from autoquant.arena.show.voice import Voice

Options = argparse.Namespace
Action = Callable[[Options], int]
Commands: TypeAlias = "argparse._SubParsersAction[cli.Parser]"
"""What subcommands are added to; argparse keeps its name to itself."""


@cli.command
def main(argv: list[str] | None = None) -> int:
    """Parse the options and run one subcommand."""
    options, unknown = _parser().parse_known_args(argv)
    if unknown:
        options.parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    action: Action = options.action
    return action(options)


def _parser() -> cli.Parser:
    parser = cli.parser("arena.py", __doc__ or "")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for add in (
        _add_doctor,
        _add_start,
        _add_stop,
        _add_status,
        _add_logs,
        _add_placebo,
        _add_lockbox,
        _add_report,
        _add_demo,
        _add_tasks,
        _add_export,
        _add_verify,
    ):
        add(commands)
    return parser


def _add(commands: Commands, name: str, action: Action, summary: str, description: str = "") -> argparse.ArgumentParser:
    sub = commands.add_parser(
        name,
        help=summary,
        description=description or summary,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    sub.add_argument("--debug", action="store_true", help="show tracebacks")
    sub.set_defaults(action=action, parser=sub)
    return sub


def _add_doctor(commands: Commands) -> None:
    summary = "check data, calibration, isolation, disk and competitors; changes nothing"
    doctor = _add(commands, "doctor", _doctor, summary)
    doctor.add_argument("--skip-harnesses", action="store_true", help="leave the competitors out")
    require_option(doctor, "call it a problem when a race would not be sealed")
    _competitors(doctor, required=False)
    cli.add_home_options(doctor, state=True)
    cli.add_json_option(doctor)


def _add_start(commands: Commands) -> None:
    start = _add(commands, "start", _start, "start, resume or extend a race", _START)
    _competitors(start, required=True)
    start.add_argument(
        "--max-experiments",
        type=cli.positive_int,
        metavar="N",
        help="experiments per competitor, whatever the roster says (default: a competitor's own budget, "
        f"else the race's, {PROTOCOL.budget} for a new one)",
    )
    start.add_argument(
        "--replicates",
        type=cli.positive_int,
        metavar="R",
        help="race everybody chosen R times, as NAME-1 … NAME-R, whatever the roster says (default: the roster's)",
    )
    _race(start, "the race to start, resume or extend (default: see above)")
    start.add_argument("--parallel", type=cli.positive_int, metavar="N", help="competitors at a time (default: all)")
    start.add_argument(
        "--parallel-per-account",
        type=cli.positive_int,
        metavar="N",
        help="sessions at a time on one provider account (default: no limit)",
    )
    start.add_argument(
        "--max-hours", type=cli.positive_number, metavar="H", help="pause cleanly after H hours (default: never)"
    )
    start.add_argument("--allow-source", metavar="NAME", help="race on data that are not from the public archive")
    start.add_argument("--skip-missing", action="store_true", help="leave out competitors that cannot run here")
    require_option(start, "refuse to start a race that would not be sealed")
    _jobs(start)
    cli.add_home_options(start, state=True)
    cli.add_json_option(start)


def _add_stop(commands: Commands) -> None:
    stop = _add(commands, "stop", _stop, "ask the running arena to pause cleanly, and wait until it has")
    _race(stop, "the race to pause (default: the one that runs)")
    cli.add_home_options(stop, state=True)
    cli.add_json_option(stop)


def _add_status(commands: Commands) -> None:
    status = _add(commands, "status", _status, "show a race, also while it runs; changes nothing of it")
    _race(status, "the race to show (default: the newest)")
    status.add_argument("--watch", action="store_true", help="go on showing it while it runs")
    cli.add_home_options(status, state=True)
    cli.add_json_option(status)


def _add_logs(commands: Commands) -> None:
    logs = _add(commands, "logs", _logs, "show what a competitor's session printed; reads only, also while it runs")
    logs.add_argument("name", metavar="NAME", help="the competitor")
    logs.add_argument(
        "-f", "--follow", action="store_true", help="go on while the arena runs: this session, then later ones"
    )
    _race(logs, "its race (default: the newest)")
    logs.add_argument("--session", type=cli.positive_int, metavar="N", help="default: the newest")
    logs.add_argument("--raw", action="store_true", help="the lines as the program printed them")
    cli.add_home_options(logs, state=True)


def _add_lockbox(commands: Commands) -> None:
    lockbox = _add(commands, "lockbox", _lockbox, "open the sealed period, once, after every competitor is terminal")
    _race(lockbox, "the race whose lockbox to open (default: the newest)")
    lockbox.add_argument(
        "--yes", action="store_true", help="do not ask for the race's name; needed where there is no terminal"
    )
    lockbox.add_argument("--base-url", metavar="URL", help="fetch from here; the pinned checksums alone bind")
    lockbox.add_argument("--accept-changed", action="store_true", help="take archives that changed since set-up")
    _jobs(lockbox)
    cli.add_home_options(lockbox, state=True)
    cli.add_json_option(lockbox)


def _add_placebo(commands: Commands) -> None:
    placebo = _add(
        commands, "placebo", _placebo, "how far searchers without skill come, and what a race is worth", _PLACEBO
    )
    placebo.add_argument(
        "--runs",
        type=cli.positive_int,
        default=PROTOCOL.placebo_runs,
        metavar="N",
        help=f"races of each searcher on each kind of market (default: {PROTOCOL.placebo_runs})",
    )
    _race(placebo, "the race whose competitors to test (default: the newest one on these data, if any)")
    placebo.add_argument(
        "--max-experiments",
        type=cli.positive_int,
        metavar="N",
        help=f"experiments per placebo (default: the race's budget, without a race {PROTOCOL.budget})",
    )
    placebo.add_argument("--jobs", type=cli.positive_int, metavar="N", help="markets at a time (default: all cores)")
    scale.add_options(placebo)
    cli.add_home_options(placebo, state=True)
    cli.add_json_option(placebo)


def _add_report(commands: Commands) -> None:
    report = _add(commands, "report", _report, "write a race's page, one self-contained HTML file")
    report.add_argument("--out", type=Path, required=True, metavar="FILE", help="where to write it")
    _race(report, "the race to show (default: the newest)")
    report.add_argument("--watch", action="store_true", help="write it again every 60 s; the open page follows")
    scale.add_options(report)
    cli.add_home_options(report, state=True)
    cli.add_json_option(report)


def _add_demo(commands: Commands) -> None:
    summary = "a whole race in miniature on synthetic data, in a folder of its own"
    demo = _add(commands, "demo", _demo, summary, _DEMO)
    demo.add_argument("--out", type=Path, default=Path("demo"), metavar="DIR", help="its folder (default: ./demo)")
    demo.add_argument("--max-experiments", type=cli.positive_int, default=12, metavar="N", help="default: 12")
    require_option(demo, "refuse a demo that would not be sealed")


def _add_tasks(commands: Commands) -> None:
    from autoquant.arena.taskrace import command as taskrace
    from autoquant.tasks.command import DESCRIPTION, add_options

    tasks = _add(commands, "tasks", lambda options: int(options.what(options)), "the graded track", DESCRIPTION)
    taskrace.add_options(add_options(tasks))


def _add_export(commands: Commands) -> None:
    from autoquant.verify import command

    command.add_export(_add(commands, "export", command.export, "pack a finished race into one file", command.EXPORT))


def _add_verify(commands: Commands) -> None:
    from autoquant.verify import command

    command.add_verify(_add(commands, "verify", command.verify, "check a bundle, or a race", command.VERIFY))


_START = """Start, resume or extend a race.

Without --race: the one unfinished race goes on; else, if the newest race's lockbox is open and every competitor named
is new to it, they extend it (judged on VALID only); else a new race is created. Interrupted in any way, the same
command goes on where the record ends.

Replicates are one configuration raced several times, with a name, a worktree, a budget and (a control) a seed of each
one's own. NAME in --competitors means all of them. Give --replicates again to resume: it is part of who was asked."""

_PLACEBO = """The embedded searchers run whole races on markets in which nothing can be foreseen, though holding
earns what it did: days turned upside down (flip), days in another order (permute); and on the real market for
comparison. Same budget, noise floor and ratchets as a race.

p = (1 + placebos at or above the competitor) / (runs + 1). Finished runs are kept below --state-dir: interrupted, the
same command goes on, and a second time it answers at once. Sooner with the extra `fast` (numba), to the same digits."""

_DEMO = """A whole race in miniature on synthetic data: random and hillclimb twice, lockbox and report.

Everything stands in the folder --out: its own data/, state/ and report.html; your data/ and state/ are not touched.
An interrupted demo goes on; a finished one is replaced. No score in it is a market result."""


def _competitors(target: argparse.ArgumentParser, *, required: bool) -> None:
    target.add_argument(
        "--competitors", required=required, metavar="all|A,B", help="who" if required else "who (default: all)"
    )
    target.add_argument(
        "--roster", type=Path, default=cli.HOME / "competitors.toml", metavar="FILE", help="default: competitors.toml"
    )


def require_option(target: argparse.ArgumentParser, text: str) -> None:
    """`--require sealed`."""
    target.add_argument("--require", choices=tuple(map(str, Level)), default=str(Level.EVIDENT), help=text)


def _jobs(target: argparse.ArgumentParser) -> None:
    target.add_argument(
        "--jobs", type=cli.positive_int, metavar="N", help="strategy calls at a time (default: all cores)"
    )


def _race(target: argparse.ArgumentParser, text: str) -> None:
    target.add_argument("--race", metavar="NAME", help=text)


def _doctor(options: Options) -> int:
    from autoquant.arena.asked import wanted
    from autoquant.arena.doctor import diagnose, show
    from autoquant.harness.machine import Machine

    if options.skip_harnesses and options.competitors:
        options.parser.error("--skip-harnesses leaves the competitors out: --competitors does not go with it")
    competitors = () if options.skip_harnesses else wanted(options.roster, options.competitors or "all")
    diagnosis = diagnose(
        cli.HOME,
        options.data_dir,
        options.state_dir,
        competitors,
        Machine.here(),
        skip_harnesses=options.skip_harnesses,
        require=Level(options.require),
    )
    if options.json:
        cli.emit_json(diagnosis)
    else:
        print(cli.printable(show(diagnosis)))
    return 0 if diagnosis.can_start else 2


def _races_only(options: Options) -> None:
    """Refuse the graded track's folder; stop and logs work there too."""
    from autoquant.ledger.races import require_races

    require_races(options.state_dir)


def _start(options: Options) -> int:
    _races_only(options)
    from autoquant.arena.launch import StartOptions, start
    from autoquant.arena.show.status import race_status
    from autoquant.arena.show.table import plain_table

    finish = start(
        StartOptions(
            home=cli.HOME,
            data_root=options.data_dir,
            state=options.state_dir,
            roster=options.roster,
            wanted=options.competitors,
            budget=options.max_experiments,
            replicates=options.replicates,
            race=options.race,
            parallel=options.parallel,
            parallel_per_account=options.parallel_per_account,
            max_hours=options.max_hours,
            allow_source=options.allow_source,
            skip_missing=options.skip_missing,
            jobs=options.jobs,
            require=Level(options.require),
        ),
        _voice(),
    )
    if options.json:
        cli.emit_json(race_status(finish.layout))
    elif not (sys.stdout.isatty() and sys.stderr.isatty()):  # a live table is already there
        print(cli.printable(plain_table(race_status(finish.layout))))
    cli.note(finish.next_step)
    return finish.exit_code


def _stop(options: Options) -> int:
    from autoquant.arena.show.status import race_status
    from autoquant.arena.stop import stop

    layout = stop(options.state_dir, options.race)
    cli.note(f"race {layout.race} is paused; the same start command resumes it")
    if options.json:
        cli.emit_json(race_status(layout))
    return 0


def _status(options: Options) -> int:
    _races_only(options)
    from autoquant.arena.show.status import find_race, race_now

    layout = find_race(options.state_dir, options.race)
    if options.watch:
        from autoquant.arena.watch import watch

        watch(layout, _voice(), as_json=options.json)
        return 0
    from autoquant import codec
    from autoquant.arena.show.table import plain_table
    from autoquant.report import plain_leaderboard, shown_leaderboard

    status, head = race_now(layout)
    board = shown_leaderboard(options.state_dir, layout.race, head)
    if options.json:
        cli.emit_json({**codec.encode(status), "leaderboard": codec.encode(board)})
    else:
        parts = (plain_table(status), plain_leaderboard(board))
        print(cli.printable("\n\n".join(part for part in parts if part)))
    return 0


def _logs(options: Options) -> int:
    from autoquant.arena.sessions.logs import show_logs
    from autoquant.arena.show.status import find_race

    def say(line: str) -> None:
        print(cli.printable(line), flush=True)

    layout = find_race(options.state_dir, options.race)
    show_logs(layout, options.name, say, session=options.session, raw=options.raw, follow=options.follow)
    return 0


def _lockbox(options: Options) -> int:
    _races_only(options)
    from autoquant.arena.opening import LockboxOptions, open_lockbox_of
    from autoquant.arena.show.status import find_race, race_status

    layout = find_race(options.state_dir, options.race)
    text = open_lockbox_of(
        LockboxOptions(
            home=cli.HOME,
            data_root=options.data_dir,
            state=options.state_dir,
            race=layout.race,
            yes=options.yes,
            base_url=options.base_url,
            accept_changed=options.accept_changed,
            jobs=options.jobs,
        ),
        _voice(),
    )
    if options.json:
        cli.emit_json(race_status(layout))
    else:
        print(cli.printable(text))
    return 0


def _placebo(options: Options) -> int:
    _races_only(options)
    from autoquant.arena.placebo_answer import PlaceboOptions, placebo, show

    answer = placebo(
        PlaceboOptions(
            home=cli.HOME,
            data_root=options.data_dir,
            state=options.state_dir,
            runs=options.runs,
            race=options.race,
            budget=options.max_experiments,
            jobs=options.jobs,
            scheduler=scale.scheduler_of(options),
        ),
        _voice(),
    )
    if options.json:
        cli.emit_json(answer)
    else:
        print(cli.printable(show(answer)))
    return 0


def _report(options: Options) -> int:
    cli.one_blas_thread()
    _races_only(options)
    from autoquant.arena.show.status import find_race
    from autoquant.clock import SystemClock
    from autoquant.report import Drawn, redraw, render_report

    layout, scheduler = find_race(options.state_dir, options.race), scale.scheduler_of(options)

    def draw() -> Drawn:
        with contextlib.nullcontext() if scheduler is None else scale.open_pool(scheduler) as pool:
            return render_report(
                options.state_dir, layout.race, options.out, home=cli.HOME, watched=options.watch, executor=pool
            )

    if options.watch:
        cli.note(f"drawing {options.out} every 60 s; Ctrl-C ends it")
        redraw(draw, SystemClock(), cli.note)
    drawn = draw()
    if options.json:
        cli.emit_json({"page": str(drawn.path), **drawn.facts})
    else:
        print(drawn.path)
    return 0


def _demo(options: Options) -> int:
    from autoquant.arena.demo import demo
    from autoquant.report import render_report

    def render(state: Path, race: str, page: Path) -> None:
        render_report(state, race, page, home=cli.HOME)

    return demo(cli.HOME, options.out, options.max_experiments, render, _voice(), require=Level(options.require))


def _voice() -> Voice:
    from autoquant.arena.show.voice import Voice

    return Voice(cli.note, cli.progress, live=sys.stderr.isatty())


if __name__ == "__main__":
    raise SystemExit(main())
