"""One arena of the fake night: `arena.launch.start` in a hurry, as a process of its own that can be killed.

python night_arena.py CHECKOUT STATE ROSTER SOURCE BUDGET
"""

from __future__ import annotations

import sys
from pathlib import Path

RACE = "night"


def main(checkout: str, state: str, roster: str, source: str, budget: str) -> int:
    """Start or resume the race of everybody in the roster; the exit code is the arena's."""
    sys.path.insert(0, checkout)  # the package whose digests the race is pinned to
    from autoquant.arena.launch import StartOptions, start
    from autoquant.arena.sessions.track import Pace
    from autoquant.arena.show.voice import Voice

    home = Path(checkout)
    options = StartOptions(
        home=home,
        data_root=home / "data",
        state=Path(state),
        roster=Path(roster),
        wanted="all",
        budget=int(budget),
        race=RACE,
        allow_source=source,
    )
    # The pauses of the table are a hundredth of what they are at night. A program still gets its time to exit.
    pace = Pace(farewell=4.0, waits=0.01)
    finish = start(options, Voice(lambda line: print(line, file=sys.stderr, flush=True)), pace=pace)
    print(finish.reason, flush=True)
    return finish.exit_code


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
