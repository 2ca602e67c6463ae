"""The `lockbox` command: ask, lock, fetch with a progress bar, judge, and say the verdicts."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from autoquant import files
from autoquant.arena import race
from autoquant.arena.launch import holder_words
from autoquant.arena.lockbox import Opening, open_once, require_openable, warning
from autoquant.arena.show.status import find_race, status_of
from autoquant.arena.show.table import lockbox_lines
from autoquant.arena.show.voice import Voice
from autoquant.clock import Clock, SystemClock
from autoquant.environment import environment_here
from autoquant.errors import UserError
from autoquant.ledger.layout import RaceLayout
from autoquant.ledger.ledger import Ledger
from autoquant.ledger.records import LockboxEntry, OpenedBy
from autoquant.ledger.views import RaceView
from autoquant.market.lockbox import LockboxData, open_lockbox
from autoquant.oracle.judge import Pins
from autoquant.oracle.records import Evaluation
from autoquant.oracle.reference import BUY_AND_HOLD, buy_and_hold
from autoquant.oracle.sealed import judge_lockbox
from autoquant.protocol import PROTOCOL
from autoquant.sandbox import strategy_seal


@dataclass(frozen=True)
class LockboxOptions:
    """What `lockbox` was asked for."""

    home: Path
    data_root: Path
    state: Path
    race: str | None = None
    yes: bool = False
    base_url: str | None = None
    accept_changed: bool = False
    jobs: int | None = None


def open_lockbox_of(options: LockboxOptions, voice: Voice, clock: Clock | None = None) -> str:
    """Open a race's lockbox and return its verdicts as text.

    Raises
    ------
    UserError : it may not be opened, was opened before, or the name typed was another one.
    DataError : an archive changed or breaks a data rule; after mending, the same command goes on.
    """
    clock = clock or SystemClock()
    layout = find_race(options.state, options.race)
    with files.exclusive_lock(layout.lock, holder_words(clock)):
        ledger = Ledger.open(layout.ledger)
        for notice in ledger.notices:
            voice.say(notice)
        require_openable(ledger.view)
        ground = race.survey(options.home, options.data_root)
        race.require_same_ground(ledger.view, ground)
        if ground.manifest.is_synthetic and (options.base_url or options.accept_changed):
            raise UserError(
                "a synthetic sealed period is made, not fetched: --base-url and --accept-changed do not go with it"
            )
        _ask(ledger.view, options.yes, voice)
        opening = Opening(
            fetch=lambda: _fetch(ground, layout, options, voice, clock),
            judge=_Judge(layout, ledger.view, options.jobs, voice),
            refer={BUY_AND_HOLD: lambda data: buy_and_hold(data.panel, pins=_pins(ledger.view, data))},
            accept_changed=options.accept_changed,
            by=OpenedBy(PROTOCOL.digest, ground.code, environment_here()),
        )
        view = open_once(layout, ledger, opening, clock)
        race.write_metrics(layout, view)
    return "\n".join([f"race {layout.race}", *lockbox_lines(status_of(view, None))])


def _fetch(ground: race.Ground, layout: RaceLayout, options: LockboxOptions, voice: Voice, clock: Clock) -> LockboxData:
    with voice.progress("sealed archives") as update:
        return open_lockbox(
            ground.data_dir,
            layout.lockbox,
            base_url=options.base_url,
            accept_changed=options.accept_changed,
            on_progress=update,
            clock=clock,
        )


@dataclass(frozen=True)
class _Judge:
    layout: RaceLayout
    view: RaceView
    jobs: int | None
    voice: Voice

    def __call__(self, source: bytes, data: LockboxData, entry: LockboxEntry) -> Evaluation:
        self.voice.say(f"judging {entry.name} on the sealed period, day by day")
        with self.voice.progress(f"{entry.name}: sealed days") as update:
            judgement = judge_lockbox(
                source,
                data.panel,
                pins=_pins(self.view, data),
                secret=race.read_secret(self.layout, self.view),
                attempt=entry.attempt,
                jobs=self.jobs,
                on_call=update,
                seal=strategy_seal(),
            )
        return judgement.evaluation


def _pins(view: RaceView, data: LockboxData) -> Pins:
    return Pins(PROTOCOL.digest, view.created.code, data.record.panel.digest)


def _ask(view: RaceView, yes: bool, voice: Voice) -> None:
    """The race's name has to be typed, or --yes given; a resumed opening was answered before.

    Raises
    ------
    UserError : another name was typed, or there is no terminal to ask on.
    """
    voice.say(warning(view))
    if yes or view.lockbox.is_reserved:
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UserError(
            "nobody can be asked here, and the lockbox opens once", "arena.py lockbox --yes opens it unasked"
        )
    print("Type the race's name to go on: ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip() != view.created.race:
        raise UserError("that is not the race's name; the lockbox stays shut")
