"""The `placebo` command: which placebo races are meant, and what a race's figures are worth beside them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from autoquant import files, scale
from autoquant.arena import race
from autoquant.arena.launch import holder_words
from autoquant.arena.placebo import Batch, evaluations_left, run_missing
from autoquant.arena.placebo_code import code_digest
from autoquant.arena.placebo_elsewhere import run_missing_on
from autoquant.arena.referee.standing import stored_strategy
from autoquant.arena.show.status import find_race, number, race_view
from autoquant.arena.show.voice import Voice
from autoquant.clock import Clock, SystemClock
from autoquant.errors import DataError, LedgerError
from autoquant.executor import default_jobs
from autoquant.ledger.layout import RaceLayout
from autoquant.ledger.placebos import REFERENCES, PlaceboRun, Plan, cache_of
from autoquant.ledger.races import race_names
from autoquant.ledger.views import CompetitorView, RaceView
from autoquant.oracle import kernel
from autoquant.protocol import PROTOCOL, SCHEMA_VERSION
from autoquant.stats.placebo import ALPHA, Null, Placebo, null_distributions, runs_needed


@dataclass(frozen=True)
class PlaceboOptions:
    """What `placebo` was asked for. None as `budget` takes the race's, or without a race the protocol's."""

    home: Path
    data_root: Path
    state: Path
    runs: int = PROTOCOL.placebo_runs
    race: str | None = None
    budget: int | None = None
    jobs: int | None = None
    scheduler: scale.Scheduler | None = None
    """Whose workers race; None for this machine's cores."""


@dataclass(frozen=True)
class FigureTest:
    """One figure of a competitor against one null. Without a figure, or after another budget, there is no test."""

    reference: str
    searcher: str
    champion: Placebo | None
    best: Placebo | None


@dataclass(frozen=True)
class CompetitorTest:
    """A competitor's figures and how often searchers without skill do as well."""

    name: str
    control: bool
    """Whether it is a searcher without skill itself: its p is no claim."""
    attempts: int
    budget: int
    champion: float | None
    best: float | None
    p_champion: dict[str, float | None]
    """By reference: the largest p-value among the searchers'."""
    p_best: dict[str, float | None]
    tests: tuple[FigureTest, ...]


@dataclass(frozen=True)
class PlaceboAnswer:
    """`arena.py placebo --json`."""

    plan: Plan
    source: str
    runs: int
    nulls: tuple[Null, ...]
    race: str | None
    competitors: tuple[CompetitorTest, ...]
    schema_version: int = SCHEMA_VERSION


def placebo(options: PlaceboOptions, voice: Voice, clock: Clock | None = None) -> PlaceboAnswer:
    """Run the placebo races that are not stored, and test the race's competitors against all of them.

    Raises
    ------
    UserError : there is no such race, or another `placebo` is at work on the same races.
    DataError : no data, no calibration, or the named race ran on others.
    """
    clock = clock or SystemClock()
    ground = race.survey(options.home, options.data_root)
    found = _race(options, ground, voice)
    if found is None:
        seed, floor = race.calibrated(ground)
        noise_floor, budget = floor.value, options.budget or PROTOCOL.budget
    else:
        layout, view = found
        seed = stored_strategy(layout, view.created.seed_strategy)
        noise_floor, budget = view.created.noise_floor, options.budget or view.created.budget
    plan = Plan(
        protocol=PROTOCOL.digest,
        code=code_digest(options.home / "autoquant"),
        data=ground.pin.valid,
        seed_strategy=files.sha256_bytes(seed),
        noise_floor=noise_floor,
        budget=budget,
    )
    batch = Batch(ground.data_dir, plan.data, seed, budget, noise_floor, cache_of(options.state, plan))
    collected = _collect(batch, plan, options, voice, clock)
    nulls = null_distributions(collected)
    tests = () if found is None else tuple(tested(racer, found[1], nulls, budget) for racer in _racers(found[1]))
    name = None if found is None else found[0].race
    return PlaceboAnswer(plan, ground.manifest.source, options.runs, nulls, name, tests)


def _collect(batch: Batch, plan: Plan, options: PlaceboOptions, voice: Voice, clock: Clock) -> list[PlaceboRun]:
    tasks = [(reference, run) for run in range(1, options.runs + 1) for reference in REFERENCES]
    with (
        files.exclusive_lock(batch.cache.folder / "placebo.lock", holder_words(clock)),
        voice.progress("placebo markets") as update,
    ):
        batch.cache.describe(plan, batch.searchers)
        batch = replace(batch, compiled=_compiles(evaluations_left(batch, tasks), options, voice))
        if options.scheduler is None:
            run_missing(batch, tasks, jobs=options.jobs, on_progress=update)
        else:
            run_missing_on(options.scheduler, batch, tasks, on_progress=update)
    found = [batch.cache.read(reference, name, run) for reference, run in tasks for name in batch.searchers]
    stored = [run for run in found if run is not None]
    if len(stored) < len(found):
        raise DataError(f"{batch.cache.folder}: {len(found) - len(stored)} stored runs cannot be read", "run it again")
    return stored


def _compiles(evaluations: int, options: PlaceboOptions, voice: Voice) -> bool:
    """Whether the compiled loop is to be taken: it is there, works here, and there is enough to do for it."""
    if not kernel.is_installed() or evaluations < kernel.WORTH_EVALUATIONS * (options.jobs or default_jobs()):
        return False
    found = kernel.load()
    if found.compiled is None:
        voice.say(f"note: {found.words}: numpy does it, to the same digits, more slowly")
    return found.compiled is not None


def _race(options: PlaceboOptions, ground: race.Ground, voice: Voice) -> tuple[RaceLayout, RaceView] | None:
    """The named race, else the newest if it is one on the current data; None for the data alone."""
    if options.race is None and not race_names(options.state):
        return None
    layout = find_race(options.state, options.race)
    view = race_view(layout)
    problem = ""
    if view.created.data.valid != ground.pin.valid:
        problem = f"race {layout.race} ran on other data than {ground.data_dir}"
    elif view.created.protocol != PROTOCOL.digest:
        problem = f"race {layout.race} ran under another protocol"
    if problem and options.race is not None:
        raise DataError(problem, "--data-dir DIR names its data, the version it ran with has its protocol")
    if problem:
        voice.say(f"{problem}: it is left out")
        return None
    return layout, view


def _racers(view: RaceView) -> Sequence[CompetitorView]:
    return [] if view.seed is None else list(view.competitors.values())


def tested(racer: CompetitorView, view: RaceView, nulls: Sequence[Null], budget: int) -> CompetitorTest:
    """A competitor's retained champion and best score against every null."""
    champion, best = score_of(racer, racer.champion, view), score_of(racer, racer.archive.get("best"), view)
    same = racer.joined.budget == budget
    tests = tuple(
        FigureTest(
            null.reference,
            null.searcher,
            null.champion_test(champion) if same and champion is not None else None,
            null.best_test(best) if same and best is not None else None,
        )
        for null in nulls
    )
    return CompetitorTest(
        name=racer.name,
        control=racer.joined.harness == "control",
        attempts=len(racer.closed),
        budget=racer.joined.budget,
        champion=champion,
        best=best,
        p_champion={name: _largest(t.champion for t in tests if t.reference == name) for name in REFERENCES},
        p_best={name: _largest(t.best for t in tests if t.reference == name) for name in REFERENCES},
        tests=tests,
    )


def score_of(racer: CompetitorView, attempt: int | None, view: RaceView) -> float | None:
    """Score of an attempt; 0 is the seed.

    Raises
    ------
    LedgerError : the record has no such attempt.
    """
    if not attempt:
        return None if view.seed is None else view.seed.score
    seen = racer.find(attempt)
    if seen is None:
        raise LedgerError(f"{racer.name} has no attempt {attempt}")
    return seen.score


def _largest(tests: Iterable[Placebo | None]) -> float | None:
    return max((found.p_value for found in tests if found is not None), default=None)


def show(answer: PlaceboAnswer) -> str:
    """The answer as plain text."""
    plan = answer.plan
    lines = [
        f"placebo races  {answer.runs} runs on each kind of market, budget {plan.budget}, "
        f"noise floor {plan.noise_floor:.3f}, {answer.source}"
    ]
    if answer.source == "synthetic":
        lines.append("synthetic data: this is not a market result")
    rows: list[tuple[str, ...]] = [
        ("market", "searcher", "champion  5 %", "median", "95 %", "best  5 %", "median", "95 %", "keeps")
    ]
    for null in answer.nulls:
        bands = (number(value) for value in (*null.champion_band, *null.best_band))
        rows.append((null.reference, null.searcher, *bands, f"{null.keeps:.1f}"))
    lines += ["", *_columns(rows)]
    if answer.race is not None:
        lines += ["", *_race_lines(answer)]
    return "\n".join(lines)


def _race_lines(answer: PlaceboAnswer) -> list[str]:
    if not answer.competitors:
        return [f"race {answer.race} has no competitor with a score yet"]
    rows: list[tuple[str, ...]] = [(f"race {answer.race}", "figure", "score", *(f"p {name}" for name in REFERENCES))]
    for racer in answer.competitors:
        attempts = f"{racer.name}  {racer.attempts}/{racer.budget}"
        for title, figure, p in (("champion", racer.champion, racer.p_champion), ("best", racer.best, racer.p_best)):
            cells = ("–" if p[name] is None else f"{p[name]:.3f}" for name in REFERENCES)
            rows.append((attempts if title == "champion" else "", title, number(figure), *cells))
    lines = [
        *_columns(rows, text=2),
        "p = (1 + placebos at or above) / (runs + 1); of the two searchers the larger one",
    ]
    claims = sum(not racer.control for racer in answer.competitors) or len(answer.competitors)
    need = runs_needed(ALPHA, claims)
    if answer.runs < need:
        lines.append(
            f"with {claims} competitors a p that holds at {ALPHA:.0%} after Holm's correction needs --runs {need}"
        )
    others = [racer.name for racer in answer.competitors if racer.budget != answer.plan.budget]
    if others:
        lines.append(f"no p for {', '.join(others)}: another budget, see --max-experiments")
    return lines


def _columns(rows: Sequence[tuple[str, ...]], text: int = 2) -> list[str]:
    """Rows with aligned columns: the first `text` ones flush left, numbers flush right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(
            cell.ljust(width) if column < text else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
