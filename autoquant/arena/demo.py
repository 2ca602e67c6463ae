"""A whole race in miniature, in a folder of its own: synthetic data, three controls, lockbox, report."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from autoquant.arena.isolation import require_here, secrets_of
from autoquant.arena.launch import Finish, StartOptions, start
from autoquant.arena.opening import LockboxOptions, open_lockbox_of
from autoquant.arena.race import read_seed
from autoquant.arena.show.status import read_view
from autoquant.arena.show.voice import Voice
from autoquant.clock import Clock, SystemClock
from autoquant.errors import UserError
from autoquant.harness.machine import Machine
from autoquant.ledger.layout import RaceLayout
from autoquant.market.manifest import SYNTHETIC, load_manifest, manifest_path
from autoquant.market.synthetic_setup import make_synthetic
from autoquant.oracle.command import calibrate_data
from autoquant.protocol import PROTOCOL
from autoquant.sealing import Level

RACE = "demo"
COMPETITORS = "random,hillclimb"
SAMPLES = 200
"""Of the calibration: a fifth of a real race's, to keep the demo short."""
OWN = ("data", "state", "report.html")


def demo(
    home: Path,
    out: Path,
    budget: int,
    render: Callable[[Path, str, Path], object],
    voice: Voice,
    clock: Clock | None = None,
    require: Level = Level.EVIDENT,
) -> int:
    """Run the demo in `out`, or go on with an interrupted one; returns the exit code.

    Parameters
    ----------
    budget : experiments per competitor.
    render : writes the page of a race: (state folder, race, file).
    require : run only at this level of isolation.

    Raises
    ------
    UserError : `out` holds something that is not a demo's, or more isolation is required than this machine gives.
    """
    clock = clock or SystemClock()
    begun = clock.monotonic()
    out = out.absolute()
    layout = RaceLayout(out / "state", RACE)
    data = out / "data"
    if require is not Level.EVIDENT:  # before minutes are spent on a market
        require_here(require, Machine.here(), secrets_of(home, data, out / "state"))
    _make_room(out, layout)
    if not manifest_path(data / SYNTHETIC).is_file():
        voice.say("making a synthetic market: no score in this demo is a market result")
    make_synthetic(data)
    if not (data / SYNTHETIC / "calibration.json").is_file():
        voice.say(f"calibrating with {SAMPLES} samples (a real race takes {PROTOCOL.calibration.samples:,})")
        calibrate_data(read_seed(home), data, samples=SAMPLES, jobs=None)
    finish = _race(home, out, layout, budget, require, voice, clock)
    if not finish.view.is_terminal:
        voice.say(f"the demo is paused ({finish.reason}); the same command goes on")
        return finish.exit_code
    if not finish.view.lockbox.is_closed:
        voice.say(open_lockbox_of(LockboxOptions(home, data, out / "state", RACE, yes=True), voice, clock))
    page = out / "report.html"
    render(out / "state", RACE, page)
    voice.say(f"done in {clock.monotonic() - begun:.0f} s; open {page}")
    return 0


def _race(home: Path, out: Path, layout: RaceLayout, budget: int, require: Level, voice: Voice, clock: Clock) -> Finish:
    view = read_view(layout)
    if view is not None and view.is_terminal:
        return Finish(layout, "finished", view)
    return start(
        StartOptions(
            home=home,
            data_root=out / "data",
            state=out / "state",
            roster=home / "competitors.toml",
            wanted=COMPETITORS,
            budget=budget,
            race=RACE,
            kind="demo",
            require=require,
        ),
        voice,
        clock,
    )


def _some(names: list[str]) -> str:
    """The first three names, and how many more there are."""
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more if names else "other files"


def _make_room(out: Path, layout: RaceLayout) -> None:
    """Keep an unfinished demo, clear a finished one away, refuse a folder that is something else's."""
    if not out.exists():
        return
    strangers = sorted(path.name for path in out.iterdir() if path.name not in OWN) if out.is_dir() else [out.name]
    ours = (out / "data" / SYNTHETIC).is_dir() or not any(out.iterdir() if out.is_dir() else [out])
    if strangers or not ours:
        raise UserError(
            f"{out}: is not a demo's folder (holds {_some(strangers)})", "--out DIR names a new folder, or a demo's"
        )
    folder = out / "data" / SYNTHETIC
    if manifest_path(folder).is_file() and not load_manifest(folder).is_synthetic:
        raise UserError(f"{out}: holds data that are not synthetic", "give --out DIR")
    view = read_view(layout)
    if view is not None and view.lockbox.is_closed and (out / "report.html").is_file():
        shutil.rmtree(layout.state)
        (out / "report.html").unlink()
