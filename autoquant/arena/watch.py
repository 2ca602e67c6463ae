"""`status --watch`: follow a race that another process runs."""

from __future__ import annotations

from autoquant import codec
from autoquant.arena.display import display
from autoquant.arena.status import race_status
from autoquant.arena.voice import Voice
from autoquant.clock import Clock, SystemClock
from autoquant.ledger.layout import RaceLayout


def watch(layout: RaceLayout, voice: Voice, *, as_json: bool, clock: Clock | None = None, seconds: float = 1.0) -> None:
    """Show every change until no arena holds the race; with `as_json` one line of JSON per change, on stdout."""
    clock = clock or SystemClock()
    begun, shown = clock.monotonic(), ""
    with display(voice, watching=True) as table:
        while True:
            status = race_status(layout)
            if as_json:
                line = codec.dumps(status)
                if line != shown:
                    print(line, flush=True)
                shown = line
            else:
                table.show(status, clock.monotonic() - begun)
            if status.arena is None:
                return
            clock.sleep(seconds)
