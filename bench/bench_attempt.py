"""What one attempt costs, end to end: uv run python bench/bench_attempt.py --data-dir DIR [-n N] [--json]

DIR is a prepared data root (setup_data.py, evaluate.py --calibrate). A race is made in a temporary state folder through
the functions that `arena.launch.start` calls, one competitor joins, and each attempt is a request in its mailbox that
the real referee sees through to the reply: ledger, snapshot, audit, oracle, ratchet, git, copies. Every attempt submits
the seed with another comment at its end, so that all do the same work and none is answered from the record.

Wall time from request to reply is split as the attempt's own record splits it: strategy (six warm calls), causality,
accounting; overhead is all the rest. An attempt that was confirmed as well (a tie broken by its mask) is listed and
left out of the medians. The last figures are `run.py --help`, and a `run.py -m` that is answered from the record; both
with the start of their process.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from autoquant import files, process
from autoquant.arena import race
from autoquant.arena.launch import holder_words, judge_of
from autoquant.arena.referee.mailbox import ClientMailbox, Request, RequestKind, new_id
from autoquant.arena.referee.referee import RaceFacts, Referee
from autoquant.arena.referee.standing import stored_strategy
from autoquant.arena.sessions.supervisor import Pace
from autoquant.clock import SystemClock
from autoquant.errors import AutoQuantError
from autoquant.harness import Competitor
from autoquant.ledger.layout import RaceLayout
from autoquant.ledger.ledger import Ledger
from autoquant.sandbox.levels import strategy_level

HOME = Path(__file__).resolve().parent.parent
RACER = "bench"
SECRET = bytes(range(32))
PARTS = ("strategy", "causality", "accounting", "overhead", "wall")
TARGETS = {"accounting": 80.0, "overhead": 450.0, "screen_ratio": 3.0, "help": 100.0}
"""Milliseconds; the ratio is causality over the six strategy calls."""


@dataclass(frozen=True)
class Attempt:
    """One attempt; parts in milliseconds."""

    attempt: int
    status: str
    confirmed: bool
    strategy: float
    causality: float
    accounting: float
    overhead: float
    wall: float

    @property
    def screen_ratio(self) -> float:
        return self.causality / self.strategy


@dataclass(frozen=True)
class Bench:
    """A race with one competitor, ready to take requests."""

    referee: Referee
    ledger: Ledger
    worktree: Path
    seed: bytes

    def attempt(self, number: int) -> Attempt:
        """Hand in a variant of the seed and wait for its reply."""
        source = self.seed + f"\n# variant {number}\n".encode()
        (self.worktree / "strategy.py").write_bytes(source)
        client = ClientMailbox(self.worktree)
        request = Request(new_id(), RequestKind.SUBMIT, files.sha256_bytes(source), f"variant {number}")
        begun = time.perf_counter()
        client.send(request)
        if not self.referee.poll(RACER):
            raise SystemExit("error: the referee saw no request")
        reply = client.reply(request)
        wall = 1e3 * (time.perf_counter() - begun)
        client.finish()
        if reply is None or reply.score is None:
            raise SystemExit(f"error: attempt {number} got no verdict: {reply.message if reply else 'no reply'}")
        seen = self.ledger.view.competitors[RACER].closed[-1]
        decision = seen.decision
        assert decision is not None
        spent = {part: 1e3 * decision.timings[part] for part in PARTS[:3]}
        confirmed = decision.mask_dependent is not None or decision.gate == "causality"
        return Attempt(
            seen.attempt, str(seen.status), confirmed, **spent, overhead=wall - sum(spent.values()), wall=wall
        )


@contextmanager
def bench_race(data_root: Path, home: Path, state: Path, budget: int, jobs: int | None) -> Iterator[Bench]:
    """A new race on these data, in `state`."""
    clock, layout = SystemClock(), RaceLayout(state, "bench")
    ground = race.survey(home, data_root)
    kind = "demo" if ground.manifest.is_synthetic else "race"
    allowed = None if ground.manifest.is_synthetic or ground.manifest.is_real else ground.manifest.source
    with files.exclusive_lock(layout.lock, holder_words(clock)):
        ledger = race.create(
            layout, ground, kind=kind, budget=budget, allow_source=allowed, isolation=strategy_level()[0].value,
            secret=SECRET, clock=clock,
        )  # fmt: skip
        with judge_of(ground, ledger.view, layout, jobs) as judge:
            seed = stored_strategy(layout, ledger.view.created.seed_strategy)
            race.score_seed(layout, ledger, judge, seed, clock)
            race.join(ledger, [Competitor(RACER, "control", "random", "", "#000000", seed=1)], budget, clock)
            facts = RaceFacts(ledger.view.created.noise_floor, ground.data_dir)
            with Referee(layout, ledger, judge, facts, clock, home) as referee:
                yield Bench(referee, ledger, referee.prepare(RACER), seed)


def milliseconds(call: Callable[[], object]) -> float:
    begun = time.perf_counter()
    call()
    return 1e3 * (time.perf_counter() - begun)


def run_py(folder: Path, *arguments: str) -> None:
    done = process.run([sys.executable, "run.py", *arguments], cwd=folder)
    if done.returncode != 0:
        raise SystemExit(f"error: run.py {arguments[0]}: {done.stderr.decode(errors='replace').strip()}")


def known_answer(bench: Bench, times: int) -> list[float]:
    """`run.py -m` on the seed itself, while the referee polls as the supervisor does: all costs but the judging."""
    ended, samples = threading.Event(), []

    def serve() -> None:
        while not ended.is_set():
            if not bench.referee.poll(RACER):
                ended.wait(Pace().poll)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        for _ in range(times):
            (bench.worktree / "strategy.py").write_bytes(bench.seed)
            samples.append(milliseconds(lambda: run_py(bench.worktree, "-m", "known")))
    finally:
        ended.set()
        thread.join()
    return samples


def measure(data_root: Path, home: Path, times: int, jobs: int | None, pause: float) -> dict[str, object]:
    with tempfile.TemporaryDirectory(prefix="bench-attempt-") as folder:
        with bench_race(data_root, home, Path(folder), times + 2, jobs) as bench:
            first = bench.attempt(0)  # builds what later ones find ready
            attempts = []
            for number in range(1, times + 1):
                time.sleep(pause)  # an agent thinks between attempts: the next warm parent is ready by then
                attempts.append(bench.attempt(number))
            known = known_answer(bench, min(times, 5))
        helps = [milliseconds(lambda: run_py(home, "--help")) for _ in range(11)]
    plain = [attempt for attempt in attempts if not attempt.confirmed] or attempts
    medians = {part: statistics.median(getattr(attempt, part) for attempt in plain) for part in PARTS}
    medians["screen_ratio"] = statistics.median(attempt.screen_ratio for attempt in plain)
    medians["help"] = statistics.median(helps)
    medians["known_answer"] = statistics.median(known)
    fastest = {part: min(getattr(attempt, part) for attempt in plain) for part in PARTS}
    return {
        "attempts": [asdict(attempt) for attempt in attempts],
        "fastest": fastest,
        "first": asdict(first),
        "load_1_minute": os.getloadavg()[0],
        "medians": medians,
        "over_target": sorted(name for name, most in TARGETS.items() if medians[name] > most),
        "targets": TARGETS,
    }


def show(figures: dict[str, object]) -> None:
    attempts, medians, fastest = figures["attempts"], figures["medians"], figures["fastest"]
    assert isinstance(attempts, list)
    assert isinstance(medians, dict)
    assert isinstance(fastest, dict)
    print("attempt  status    " + "".join(f"{part:>12}" for part in PARTS) + "   ms")
    for row in [figures["first"], *attempts]:
        note = "  confirmed, not in the medians" if row["confirmed"] else ""
        print(f"{row['attempt']:>7}  {row['status']:<10}" + "".join(f"{row[part]:>12.1f}" for part in PARTS) + note)
    print(f"{'median':>7}  {'':<10}" + "".join(f"{medians[part]:>12.1f}" for part in PARTS) + "   without the first")
    print(
        f"{'fastest':>7}  {'':<10}" + "".join(f"{fastest[part]:>12.1f}" for part in PARTS) + "   each part for itself"
    )
    for name, most in TARGETS.items():
        unit = "×" if name == "screen_ratio" else "ms"
        print(f"{name:<13} {medians[name]:>8.1f} {unit:<2}  target {most:g}")
    print(f"known answer  {medians['known_answer']:>8.1f} ms  run.py -m, process start included")
    print(f"load          {figures['load_1_minute']:>8.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", type=Path, default=HOME / "data", metavar="DIR", help="default: data/")
    parser.add_argument("--home", type=Path, default=HOME, metavar="DIR", help="checkout (default: this one)")
    parser.add_argument("-n", "--times", type=int, default=10, metavar="N", help="attempts (default: 10)")
    parser.add_argument("--jobs", type=int, default=None, metavar="N", help="workers (default: all cores)")
    parser.add_argument("--pause", type=float, default=1.0, metavar="SECONDS", help="between attempts (default: 1)")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    options = parser.parse_args()
    try:
        figures = measure(options.data_dir, options.home.resolve(), max(1, options.times), options.jobs, options.pause)
    except AutoQuantError as error:
        raise SystemExit(f"error: {error.message}\nhint: {error.hint}") from None
    if options.json:
        print(json.dumps(figures, sort_keys=True))
    else:
        show(figures)


if __name__ == "__main__":
    main()
