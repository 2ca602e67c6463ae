"""Run a race from its choice to its pause or end: lock, record, judge, referee, supervisor, display."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import socket
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from autoquant import files, process
from autoquant.arena import race
from autoquant.arena.choice import Choice, choose_race
from autoquant.arena.display import display
from autoquant.arena.referee import RaceFacts, Referee
from autoquant.arena.roster import choose, load_roster
from autoquant.arena.session import run_mark
from autoquant.arena.standing import stored_strategy
from autoquant.arena.status import status_of
from autoquant.arena.supervisor import Pace, Supervisor
from autoquant.arena.voice import Voice
from autoquant.clock import Clock, SystemClock, utc_iso
from autoquant.errors import DataError, UserError
from autoquant.harness import Competitor, harness_of
from autoquant.ledger.layout import RaceLayout
from autoquant.ledger.ledger import Ledger
from autoquant.ledger.views import RaceView
from autoquant.market.store import load_panel
from autoquant.protocol import PROTOCOL

if TYPE_CHECKING:
    from autoquant.oracle.judge import Judge

EXIT_CODES = {"finished": 0, "stop requested": 0, "interrupted": 130, "terminated": 143, "hung up": 129}
"""Exit code by the reason an arena stopped; any other is an infrastructure matter."""
SIGNALS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated", signal.SIGHUP: "hung up"}


@dataclass(frozen=True)
class StartOptions:
    """What `start` was asked for. `budget` None takes the race's own, for a new race the protocol's."""

    home: Path
    data_root: Path
    state: Path
    roster: Path
    wanted: str
    budget: int | None = None
    race: str | None = None
    parallel: int | None = None
    allow_source: str | None = None
    skip_missing: bool = False
    kind: str = "race"
    jobs: int | None = None


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
            return "next: see the faults (arena.py doctor), then the same command goes on"
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
    asked = choose(load_roster(options.roster), options.wanted)
    ground = race.survey(options.home, options.data_root)
    asked = able(asked, options.skip_missing, voice)
    chosen = choose_race(options.state, asked, options.race, clock.now())
    layout = chosen.layout
    if chosen.action == "create":
        race.admit(ground.manifest, options.kind, options.allow_source)
        race.calibrated(ground)
    with files.exclusive_lock(layout.lock, holder_words(clock)):
        ledger = _ledger(options, chosen, ground, voice, clock)
        view = ledger.view
        race.require_same_ground(view, ground)
        with judge_of(ground, view, layout, options.jobs) as judge:
            seed = stored_strategy(layout, view.created.seed_strategy)
            race.score_seed(layout, ledger, judge, seed, clock)
            race.join(ledger, chosen.joining, _budget(options, chosen, view), clock)
            facts = RaceFacts(view.created.noise_floor, ground.data_dir)
            with Referee(layout, ledger, judge, facts, clock, options.home) as referee:
                reason = _supervise(options, chosen, ledger, referee, voice, clock, pace)
        race.write_metrics(layout, ledger.view)
        return Finish(layout, reason, ledger.view)


def able(asked: Sequence[Competitor], skip_missing: bool, voice: Voice) -> tuple[Competitor, ...]:
    """Those who can run here; the others are named, and without `skip_missing` refused.

    Raises
    ------
    UserError : names who cannot run and why, in one line.
    """
    answers = [(competitor, harness_of(competitor).check(competitor)) for competitor in asked]
    missing = [(competitor, answer) for competitor, answer in answers if not answer.ok]
    if not missing:
        return tuple(asked)
    named = "; ".join(f"{competitor.name}: {answer.problem}" for competitor, answer in missing)
    fit = tuple(competitor for competitor, answer in answers if answer.ok)
    if not skip_missing:
        names = ",".join(c.name for c in fit)
        hint = f"--skip-missing, or --competitors {names}" if fit else missing[0][1].hint
        raise UserError(f"cannot run {named}", hint)
    if not fit:
        raise UserError(f"nobody is left to race: {named}", missing[0][1].hint)
    voice.say(f"left out: {named}")
    return fit


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

    stored = load_panel(ground.data_dir, "valid")
    panel = replace(stored, cube=stored.cube.copy())
    if panel.digest != view.created.data.valid:
        raise DataError(
            f"{ground.data_dir / 'valid.npy'}: differs from the digest in the race's record",
            "set the data up again: setup_data.py",
        )
    pins = Pins(PROTOCOL.digest, view.created.code, view.created.data.valid)
    return Judge(panel, valid_windows(), pins=pins, secret=race.read_secret(layout, view), jobs=jobs)


def _ledger(options: StartOptions, chosen: Choice, ground: race.Ground, voice: Voice, clock: Clock) -> Ledger:
    layout = chosen.layout
    ledger = Ledger.open(layout.ledger)
    for notice in ledger.notices:
        voice.say(notice)
    if not ledger.records:
        return race.create(
            layout,
            ground,
            kind=options.kind,
            budget=options.budget or PROTOCOL.budget,
            allow_source=options.allow_source,
            secret=secrets.token_bytes(32),
            clock=clock,
        )
    allowed = ledger.view.created.allow_source
    if options.allow_source is not None and options.allow_source not in (allowed, ground.manifest.source):
        raise DataError(f"--allow-source {options.allow_source}: race {layout.race} was created with {allowed}")
    voice.say(f"race {layout.race}: {'extending' if chosen.action == 'extend' else 'resuming'}")
    return ledger


def _budget(options: StartOptions, chosen: Choice, view: RaceView) -> int:
    """Experiments for those who join: an extension has its own budget, others the race's."""
    granted = view.created.budget
    if options.budget is None or options.budget == granted or chosen.action == "extend":
        return options.budget or granted
    own = {view.competitors[c.name].joined.budget for c in chosen.running if c.name in view.competitors}
    if not chosen.joining and own == {options.budget}:
        return options.budget
    raise UserError(
        f"race {view.created.race} grants {granted} experiments, not {options.budget}",
        f"--max-experiments {granted}, or another race: --race NAME",
    )


def _supervise(
    options: StartOptions,
    chosen: Choice,
    ledger: Ledger,
    referee: Referee,
    voice: Voice,
    clock: Clock,
    pace: Pace | None,
) -> str:
    begun = clock.monotonic()
    words = holder_words(clock)
    with display(voice) as shown:
        supervisor = Supervisor(
            chosen.layout,
            ledger,
            referee,
            chosen.running,
            clock=clock,
            surroundings=os.environ,
            parallel=options.parallel,
            pace=pace,
            on_tick=lambda view: shown.show(status_of(view, words), clock.monotonic() - begun),
        )

        def pause(reason: str) -> None:
            shown.pausing()
            supervisor.stop(reason)

        with stop_on_signals(pause, lambda: _abandon(chosen.layout, ledger.view)):
            return supervisor.run()


@contextlib.contextmanager
def stop_on_signals(stop: Callable[[str], None], abandon: Callable[[], None]) -> Iterator[None]:
    """The first Ctrl-C, SIGTERM or SIGHUP pauses cleanly; the second ends sessions and leaves at once."""
    seen: list[int] = []

    def handle(number: int, frame: FrameType | None) -> None:
        if seen:
            abandon()
            os._exit(128 + number)
        seen.append(number)
        stop(SIGNALS[signal.Signals(number)])

    before = {number: signal.signal(number, handle) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _abandon(layout: RaceLayout, view: RaceView) -> None:
    for name in view.competitors:
        process.end_marked(run_mark(layout, name))
