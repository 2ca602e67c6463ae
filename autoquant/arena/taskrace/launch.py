"""Run the graded track with agents: who, on which bars, in which record; then the same supervision as the race.

Its records stand below `state/tasks`, apart from the races: nothing here ranks in one, and no lockbox is opened.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from autoquant import amounts, codec, files
from autoquant.arena import protected
from autoquant.arena.asked import wanted, who_can_run
from autoquant.arena.choice import choose_race
from autoquant.arena.doctor import Check, Health
from autoquant.arena.isolation import Isolation
from autoquant.arena.launch import Finish, Seat, StartOptions, holder_words, look, ready, supervise
from autoquant.arena.race import join
from autoquant.arena.sessions.time_left import TimeLeft
from autoquant.arena.sessions.track import Pace
from autoquant.arena.show.voice import Voice
from autoquant.arena.taskrace.referee import TaskReferee
from autoquant.clock import Clock, SystemClock, utc_iso
from autoquant.errors import DataError, UserError
from autoquant.harness import Competitor
from autoquant.harness.machine import Machine
from autoquant.ledger import records as r
from autoquant.ledger.graded import graded_state
from autoquant.ledger.layout import RaceLayout
from autoquant.ledger.ledger import Ledger
from autoquant.ledger.views import CompetitorView, RaceView
from autoquant.market.indices import IndexManifest, index_folder, load_manifest
from autoquant.protocol import PROTOCOL
from autoquant.sandbox import strategy_seal
from autoquant.sealing import Level
from autoquant.tasks.grader import Ground
from autoquant.tasks.server import Shop
from autoquant.tasks.spec import ORDER, STEPS

CONTROL = "control"
KIND = "tasks"


@dataclass(frozen=True)
class TaskOptions:
    """What `tasks race` was asked for."""

    home: Path
    data_root: Path
    state: Path
    roster: Path
    wanted: str
    steps: int | None = None
    """Of each task, for a new record; None takes 20."""
    race: str | None = None
    parallel: int | None = None
    parallel_per_account: int | None = None
    max_hours: float | None = None
    skip_missing: bool = False
    require: Level = Level.EVIDENT
    """Start only at this level of isolation."""


def start(options: TaskOptions, voice: Voice, clock: Clock | None = None, pace: Pace | None = None) -> Finish:
    """Go on with the unfinished record, or begin one, and run it.

    Raises
    ------
    UserError : nothing can start so; one line says why. DataError : no index data, or others than the record's.
    InfrastructureFault : the machine failed in the middle; the same command goes on.
    """
    clock = clock or SystemClock()
    machine = Machine.here()
    protected.require(options.home)
    asked = _agents(wanted(options.roster, options.wanted))
    manifest = load_manifest(index_folder(options.data_root))
    able, unable = who_can_run(asked, machine, options.skip_missing, voice)
    on_tasks = [each for one in asked if one.name in able for each in on_each_task(one)]
    chosen = choose_race(graded_state(options.state), on_tasks, options.race, clock.now(), str(options.roster))
    layout = chosen.layout
    isolation = look(_as_start(options), on_tasks, machine, voice)
    with files.exclusive_lock(layout.lock, holder_words(clock)):
        layout.stop_request.unlink(missing_ok=True)  # of an earlier arena; from here on one is meant for this
        ledger = _ledger(options, layout, manifest, isolation, voice, clock)
        join(ledger, chosen.joining, ledger.view.created.budget, clock, task_of)
        shop = Shop(options.data_root, seal=strategy_seal())
        time_left = TimeLeft.within(clock, options.max_hours)
        grounds = {name: shop.ground(name) for name in ORDER}
        data = held_against(manifest, grounds.values())
        checked = ready(_as_start(options), machine, isolation, able, unable, voice, data)
        ledger.append(checked, utc_iso(clock.now()))
        with TaskReferee(
            layout, ledger, grounds, shop.parent, clock, options.home, options.data_root, time_left.of
        ) as referee:
            known = {each.name: able[each.group] for each in on_tasks}
            seat = Seat(chosen, ledger, referee, machine, known, time_left, isolation.confinement, prompt_for)
            reason = supervise(_as_start(options), seat, voice, clock, pace)
        return Finish(layout, reason, ledger.view)


def on_each_task(competitor: Competitor) -> tuple[Competitor, ...]:
    """The competitor once per task, without a budget: the roster's counts a race's attempts."""
    return tuple(
        replace(competitor, name=f"{competitor.name}-{name}", group=competitor.name, budget=None) for name in ORDER
    )


def task_of(name: str) -> str:
    """The task in a racer's name.

    >>> task_of("codex-sol-high-easy")
    'easy'
    """
    return name.rpartition("-")[2]


def held_against(manifest: IndexManifest, grounds: Iterable[Ground]) -> Check:
    """The bars in memory against the manifest that the record pins: the file may be another one by now.

    Raises
    ------
    DataError : they are not those bars.
    """
    for ground in grounds:
        hidden = ground.hidden.digest if ground.spec.out_of_sample else manifest.hidden.digest
        if (ground.shown.digest, hidden) != (manifest.shown.digest, manifest.hidden.digest):
            raise DataError(
                f"the index data changed while they were read: task {ground.spec.name} has other bars than the record",
                "the same command tries again",
            )
    return Check("data", Health.OK, f"indices {manifest.origin}, shown and hidden bars as pinned")


def _agents(competitors: Sequence[Competitor]) -> tuple[Competitor, ...]:
    """Without the embedded searchers, who know one kind of strategy and no task.

    Raises
    ------
    UserError : nobody else was asked for.
    """
    agents = tuple(one for one in competitors if one.harness != CONTROL)
    if not agents:
        raise UserError("controls have no part in the graded track", "name an agent: --competitors NAME")
    return agents


def _ledger(
    options: TaskOptions,
    layout: RaceLayout,
    manifest: IndexManifest,
    isolation: Isolation,
    voice: Voice,
    clock: Clock,
) -> Ledger:
    pin = r.DataPin(
        manifest.source, files.sha256_bytes(codec.dumps(manifest).encode()), manifest.shown.digest,
        manifest.hidden.digest,
    )  # fmt: skip
    ledger = Ledger.open(layout.ledger)
    for notice in ledger.notices:
        voice.say(notice)
    code = protected.code_digest(options.home)
    if ledger.length:
        created = ledger.view.created
        if created.data != pin:
            raise DataError(
                f"{layout.race} runs on other index data than {options.data_root / 'indices'}",
                "set its own data up again, or begin another record: --race NAME",
            )
        if created.code != code:
            raise UserError(f"the code has changed since {layout.race} began", "begin another record: --race NAME")
        if options.steps is not None and options.steps != created.budget:
            raise UserError(f"--steps {options.steps}: {layout.race} began with {created.budget} steps", "leave it out")
        voice.say(f"graded track {layout.race}: resuming")
        return ledger
    ledger.append(
        r.RaceCreated(
            race=layout.race,
            kind=KIND,
            protocol=PROTOCOL.digest,
            protected=protected.load(options.home),
            code=code,
            data=pin,
            noise_floor=0.0,
            noise_floor_samples=0,
            noise_floor_digest="",
            secret_digest="",
            seed_strategy="",
            budget=options.steps or STEPS,
            allow_source=None,
            isolation=isolation.recorded,
        ),
        utc_iso(clock.now()),
    )
    return ledger


def _as_start(options: TaskOptions) -> StartOptions:
    return StartOptions(
        home=options.home,
        data_root=options.data_root,
        state=graded_state(options.state),
        roster=options.roster,
        wanted=options.wanted,
        parallel=options.parallel,
        parallel_per_account=options.parallel_per_account,
        kind=KIND,
        require=options.require,
    )


def prompt_for(racer: CompetitorView, race: RaceView, *, resumed: bool, seconds_left: float | None) -> str:
    """The text for a session on one task."""
    used, left = len(racer.attempts), racer.left
    time = "" if seconds_left is None else f" This session may last {amounts.duration(seconds_left)} more."
    if resumed:
        return (
            f"Steps used: {used}, left: {left}. The solution is not handed in for good yet: go on as\n"
            f"program.md says, without asking anybody, until `python run.py --final` has been answered.{time}\n"
        )
    text = (
        "You are given one quant task. Read program.md in this folder first: it is your whole task.\n"
        f"Write solution.py, try it with `python run.py -m TEXT`, learn from its answer, and hand it in for good with\n"
        f"`python run.py --final -m TEXT`. Steps left: {left}, that one included. Ask nobody. If your tool cuts\n"
        f"run.py off or puts it into the background, run it again and wait: nothing is charged twice.{time}\n"
    )
    if not used:
        return text
    best = max((a.score for a in racer.closed if a.score is not None), default=None)
    scored = "" if best is None else f", the best of them scored {best:.2f}"
    return text + f"\nSteps used in a conversation that is gone: {used}{scored}; solution.py is as you left it.\n"
