"""Ask the arena that runs a race to pause, and wait until it has let go."""

from __future__ import annotations

from pathlib import Path

from autoquant import files
from autoquant.arena.show.status import find_race, holder
from autoquant.clock import Clock, SystemClock
from autoquant.errors import InfrastructureFault, UserError
from autoquant.ledger.layout import RaceLayout
from autoquant.ledger.races import race_names

PATIENCE_SECONDS = 600.0
"""An evaluation in progress is finished first."""


def stop(state: Path, race: str | None, clock: Clock | None = None) -> RaceLayout:
    """Pause the named race, or the one that runs; returns it once its arena has let go.

    Raises
    ------
    UserError : it does not run, or several do and none is named.
    InfrastructureFault : it did not let go.
    """
    clock = clock or SystemClock()
    layout = _running(state, race)
    who = holder(layout)
    if who is None:
        raise UserError(f"race {layout.race} is not running", "arena.py status shows where it stands")
    files.atomic_write(layout.stop_request, who + "\n")
    deadline = clock.monotonic() + PATIENCE_SECONDS
    while holder(layout) == who:
        if clock.monotonic() > deadline:
            raise InfrastructureFault(f"race {layout.race} is still held by {who}", "end that process, then resume")
        clock.sleep(0.2)
    return layout


def _running(state: Path, race: str | None) -> RaceLayout:
    if race is not None:
        return find_race(state, race)
    running = [name for name in race_names(state) if holder(RaceLayout(state, name)) is not None]
    if len(running) > 1:
        raise UserError(f"races {', '.join(running)} are running", "say which one to pause: --race NAME")
    if not running:
        raise UserError("no race is running", "arena.py status shows where the newest one stands")
    return RaceLayout(state, running[0])
