"""Run a race from its choice to its pause or end: lock, record, judge, referee, supervisor, display."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from autoquant import files, process
from autoquant.arena import race
from autoquant.arena.asked import Answers, wanted, who_can_run
from autoquant.arena.choice import Choice, choose_race
from autoquant.arena.doctor import Check, readiness
from autoquant.arena.isolation import Isolation, isolation_of, secrets_of, walls_here
from autoquant.arena.referee.referee import RaceFacts, Referee
from autoquant.arena.referee.standing import stored_strategy
from autoquant.arena.roster.budgets import race_budget, require_budgets, unequal_budgets, with_budget
from autoquant.arena.roster.replicates import require_different_searches
from autoquant.arena.sessions.accounts import Accounts
from autoquant.arena.sessions.confinement import Confinement
from autoquant.arena.sessions.logs import latest_line
from autoquant.arena.sessions.place import run_mark
from autoquant.arena.sessions.prompts import Prompt, prompt_for
from autoquant.arena.sessions.supervisor import Pace, Supervisor
from autoquant.arena.sessions.time_left import TimeLeft
from autoquant.arena.sessions.track import RefereeDuties
from autoquant.arena.show.display import display, show_cursor
from autoquant.arena.show.following import Follower
from autoquant.arena.show.voice import Voice
from autoquant.clock import Clock, SystemClock, utc_iso
from autoquant.errors import DataError
from autoquant.harness import Availability, Competitor
from autoquant.harness.machine import Machine
from autoquant.ledger import records as r
from autoquant.ledger.layout import RaceLayout
from autoquant.ledger.ledger import Ledger
from autoquant.ledger.views import RaceView
from autoquant.market.manifest import set_up_again
from autoquant.market.store import load_panel
from autoquant.protocol import PROTOCOL
from autoquant.sealing import Level

if TYPE_CHECKING:
    from autoquant.oracle.judge import Judge

EXIT_CODES = {
    "finished": 0,
    "stop requested": 0,
    "time limit": 0,
    "interrupted": 130,
    "terminated": 143,
    "hung up": 129,
}
"""Exit code by the reason an arena stopped; any other is an infrastructure matter."""
SIGNALS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated", signal.SIGHUP: "hung up"}
AGAIN_SECONDS = 5.0
"""A second SIGTERM after so long is meant as one."""


@dataclass(frozen=True)
class StartOptions:
    """What `start` was asked for.

    `budget` goes before any competitor's own; None takes those, the race's for the others, and for a new race the
    protocol's.
    """

    home: Path
    data_root: Path
    state: Path
    roster: Path
    wanted: str
    budget: int | None = None
    replicates: int | None = None
    """Of everybody chosen, whatever the roster says; None takes the roster's."""
    race: str | None = None
    parallel: int | None = None
    """Competitors at a time; None for all."""
    parallel_per_account: int | None = None
    """Sessions at a time on one provider account; None for no limit."""
    max_hours: float | None = None
    """Pause cleanly after so much time; None for never."""
    allow_source: str | None = None
    skip_missing: bool = False
    kind: str = "race"
    jobs: int | None = None
    require: Level = Level.EVIDENT
    """Start only at this level of isolation."""


@dataclass(frozen=True)
class Finish:
    """How an arena left a race."""

    layout: RaceLayout
    reason: str
    view: RaceView

    @property
    def exit_code(self) -> int:
        """For the shell."""
        return EXIT_CODES.get(self.reason, 4)

    @property
    def next_step(self) -> str:
        """What to do now, in one line."""
        race_name = self.view.created.race
        if self.reason == "harness faults":
            return (
                f"next: see who was left and why: arena.py status --race {race_name}, "
                f"arena.py logs NAME --race {race_name}; then the same command goes on"
            )
        if not self.view.is_terminal:
            return f"next: race {race_name} is paused ({self.reason}); the same command goes on"
        if self.view.lockbox.is_closed:
            return f"next: arena.py report --race {race_name} --out FILE"
        return f"next: arena.py lockbox --race {race_name}, once"


def start(options: StartOptions, voice: Voice, clock: Clock | None = None, pace: Pace | None = None) -> Finish:
    """Resume, extend or create the race the options mean, and run it.

    Raises
    ------
    UserError : nothing can start so; one line says why.
    InfrastructureFault : the machine failed in the middle; the same command goes on.
    """
    clock = clock or SystemClock()
    machine = Machine.here()
    asked = with_budget(wanted(options.roster, options.wanted, options.replicates), options.budget)
    require_different_searches(asked)
    ground = race.survey(options.home, options.data_root)
    able, unable = who_can_run(asked, machine, options.skip_missing, voice)
    asked = tuple(competitor for competitor in asked if competitor.name in able)
    chosen = choose_race(options.state, asked, options.race, clock.now(), str(options.roster))
    layout = chosen.layout
    if chosen.action == "create":
        race.admit(ground.manifest, options.kind, options.allow_source)
        race.calibrated(ground)
    isolation = look(options, asked, machine, voice)
    with files.exclusive_lock(layout.lock, holder_words(clock)):
        layout.stop_request.unlink(missing_ok=True)  # of an earlier arena; from here on one is meant for this
        ledger = _ledger(options, chosen, ground, isolation, voice, clock)
        view = ledger.view
        race.require_same_ground(view, ground)
        with judge_of(ground, view, layout, options.jobs) as judge:
            seed = stored_strategy(layout, view.created.seed_strategy)
            race.score_seed(layout, ledger, judge, seed, clock)
            race.join(ledger, chosen.joining, view.created.budget, clock)
            if notice := unequal_budgets({name: c.joined.budget for name, c in ledger.view.competitors.items()}):
                voice.say(f"race {layout.race}: {notice}")
            ledger.append(ready(options, machine, isolation, able, unable, voice), utc_iso(clock.now()))
            facts = RaceFacts(view.created.noise_floor, ground.data_dir)
            time_left = TimeLeft.within(clock, options.max_hours)
            with Referee(layout, ledger, judge, facts, clock, options.home, time_left.of) as referee:
                seat = Seat(chosen, ledger, referee, machine, able, time_left, isolation.confinement)
                reason = supervise(options, seat, voice, clock, pace)
        race.write_metrics(layout, ledger.view)
        return Finish(layout, reason, ledger.view)


def look(options: StartOptions, racers: Sequence[Competitor], machine: Machine, voice: Voice) -> Isolation:
    """The isolation that a race of these competitors gets here; what keeps it from being sealed is said aloud.

    Raises
    ------
    UserError : more was required.
    """
    secret = secrets_of(options.home, options.data_root, options.state)
    isolation = isolation_of(walls_here(machine, secret), racers, machine, secret)
    isolation.require(options.require)
    if isolation.lacks:
        voice.say(f"isolation: {isolation.recorded} ({'; '.join(isolation.lacks)})")
    return isolation


def ready(
    options: StartOptions,
    machine: Machine,
    isolation: Isolation,
    able: Answers,
    unable: Answers,
    voice: Voice,
    data: Check | None = None,
) -> r.ReadinessChecked:
    """For the record: how doctor found the ground of this start. What it would not start with is said aloud.

    Parameters
    ----------
    data : as in `readiness`.
    """
    notes = {name: answer.note for name, answer in able.items() if answer.note}
    left_out = {name: answer.problem for name, answer in unable.items()}
    checked = readiness(options.home, options.data_root, options.state, machine, isolation, notes, left_out, data)
    for words in (*checked.problems, *(f"{name}: {note}" for name, note in notes.items())):
        voice.say(f"doctor: {words}")
    return checked


def holder_words(clock: Clock) -> str:
    """What the lock says about its holder."""
    return f"arena process {os.getpid()} on {socket.gethostname()}, since {utc_iso(clock.now())}"


def judge_of(ground: race.Ground, view: RaceView, layout: RaceLayout, jobs: int | None) -> Judge:
    """The oracle of a race: VALID under the race's own masks, nothing revealed.

    The panel is read into memory before it is held against the record: a file changed later changes no score.

    Raises
    ------
    DataError : the panel on disk is not the one the race began with.
    """
    from autoquant.oracle.folds import valid_windows
    from autoquant.oracle.judge import Judge, Pins
    from autoquant.sandbox import strategy_seal

    stored = load_panel(ground.data_dir, "valid")
    panel = replace(stored, cube=stored.cube.copy())
    if panel.digest != view.created.data.valid:
        raise DataError(
            f"{ground.data_dir / 'valid.npy'}: differs from the digest in the race's record",
            set_up_again(ground.data_dir),
        )
    pins = Pins(PROTOCOL.digest, view.created.code, view.created.data.valid)
    secret = race.read_secret(layout, view)
    return Judge(panel, valid_windows(), pins=pins, secret=secret, jobs=jobs, seal=strategy_seal())


def _ledger(
    options: StartOptions, chosen: Choice, ground: race.Ground, isolation: Isolation, voice: Voice, clock: Clock
) -> Ledger:
    layout = chosen.layout
    ledger = Ledger.open(layout.ledger)
    for notice in ledger.notices:
        voice.say(notice)
    if not ledger.length:
        return race.create(
            layout,
            ground,
            kind=options.kind,
            budget=race_budget(chosen.joining),
            allow_source=options.allow_source,
            isolation=isolation.recorded,
            secret=secrets.token_bytes(32),
            clock=clock,
        )
    allowed = ledger.view.created.allow_source
    if options.allow_source is not None and options.allow_source not in (allowed, ground.manifest.source):
        had = f"with {allowed}" if allowed else "without it"
        raise DataError(
            f"--allow-source {options.allow_source}: race {layout.race} was created {had}",
            "leave --allow-source out, or start another race: --race NAME",
        )
    require_budgets(ledger.view, chosen.running, options.budget, extending=chosen.action == "extend")
    voice.say(f"race {layout.race}: {'extending' if chosen.action == 'extend' else 'resuming'}")
    return ledger


@dataclass(frozen=True)
class Seat:
    """A race that is ready to run."""

    chosen: Choice
    ledger: Ledger
    referee: RefereeDuties
    machine: Machine
    available: Mapping[str, Availability]
    time_left: TimeLeft
    confinement: Confinement
    prompt: Prompt = prompt_for


def supervise(options: StartOptions, seat: Seat, voice: Voice, clock: Clock, pace: Pace | None) -> str:
    """Run a race until it ends or somebody says stop; the reason that stands in the record."""
    chosen, ledger = seat.chosen, seat.ledger
    begun = clock.monotonic()
    words, follower = holder_words(clock), Follower()
    with display(voice, hear=lambda name: latest_line(chosen.layout, ledger.view, name)) as shown:
        supervisor = Supervisor(
            chosen.layout,
            ledger,
            seat.referee,
            chosen.running,
            clock=clock,
            surroundings=os.environ,
            machine=seat.machine,
            available=seat.available,
            accounts=Accounts(options.parallel_per_account),
            time_left=seat.time_left,
            confinement=seat.confinement,
            parallel=options.parallel,
            pace=pace,
            prompt=seat.prompt,
            on_tick=lambda view: shown.show(follower.status(view, words, ledger.course), clock.monotonic() - begun),
        )

        def pause(reason: str) -> None:
            shown.pausing()
            supervisor.stop(reason)

        with stop_on_signals(pause, lambda: _abandon(chosen.layout, ledger.view), clock.monotonic):
            return supervisor.run()


@contextlib.contextmanager
def stop_on_signals(
    stop: Callable[[str], None], abandon: Callable[[], None], monotonic: Callable[[], float]
) -> Iterator[None]:
    """The first Ctrl-C, SIGTERM or SIGHUP pauses cleanly; another Ctrl-C ends sessions and leaves at once.

    So does a SIGTERM that comes `AGAIN_SECONDS` after the first. One that comes sooner is the same once more, from the
    shell or from `uv run`, and so is every SIGHUP, which a terminal that closes sends more than once. Where SIGHUP was
    ignored from the start (`nohup`), it stays so.
    """
    seen: list[float] = []

    def handle(number: int, frame: FrameType | None) -> None:
        now = monotonic()
        if seen and (number == signal.SIGHUP or (number == signal.SIGTERM and now - seen[0] < AGAIN_SECONDS)):
            return
        if seen:
            try:
                abandon()
            finally:
                show_cursor()
                os._exit(128 + number)
        seen.append(now)
        stop(SIGNALS[signal.Signals(number)])

    heard = [n for n in SIGNALS if n != signal.SIGHUP or signal.getsignal(n) is not signal.SIG_IGN]
    before = {number: signal.signal(number, handle) for number in heard}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _abandon(layout: RaceLayout, view: RaceView) -> None:
    for name in view.competitors:
        process.end_marked(run_mark(layout, name))
