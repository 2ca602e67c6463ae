"""`status --watch`: follow a race that another process runs."""

from __future__ import annotations

from autoquant import codec
from autoquant.arena.sessions.logs import latest_line
from autoquant.arena.show.display import display
from autoquant.arena.show.status import holder, race_records, race_view, status_of
from autoquant.arena.show.voice import Voice
from autoquant.clock import Clock, SystemClock
from autoquant.ledger.layout import RaceLayout
from autoquant.ledger.replay import replay


def watch(layout: RaceLayout, voice: Voice, *, as_json: bool, clock: Clock | None = None, seconds: float = 1.0) -> None:
    """Show every change until no arena holds the race; with `as_json` one line of JSON per change, on stdout."""
    clock = clock or SystemClock()
    begun, shown = clock.monotonic(), ""
    view = race_view(layout)
    with display(voice, watching=True, hear=lambda name: latest_line(layout, view, name)) as table:
        while True:
            records = race_records(layout)
            view = replay(records, str(layout.ledger))
            status = status_of(view, holder(layout), records)
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
