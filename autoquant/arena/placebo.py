"""Placebo races: the embedded searchers run the whole loop on markets with nothing to foresee.

What they reach is what the loop makes of luck. The same budget, noise floor and ratchets as a race
(`ratchet.decide.propose` and `settle`), in this program's own processes: the strategies are ours, so there is no
sandbox, no blind mask and no causality run. `oracle.plain` says why that changes no verdict.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path

from autoquant import files
from autoquant.errors import DataError, UserError
from autoquant.executor import LocalPool
from autoquant.harness.family import MEMORY_DAYS, Member, parse, render
from autoquant.harness.searchers import DRAWS_PER_EXPERIMENT, SEARCHERS, stream
from autoquant.ledger.placebos import PlaceboCache, PlaceboRun
from autoquant.market import Panel, load_panel
from autoquant.market.manifest import set_up_again
from autoquant.market.nullify import draw_order, draw_signs, flip, permute
from autoquant.oracle.folds import valid_windows
from autoquant.oracle.plain import PlainJudge
from autoquant.oracle.records import Confirmation, Digests, Evaluation, Status
from autoquant.protocol import PROTOCOL
from autoquant.ratchet.decide import propose, settle
from autoquant.ratchet.state import RatchetState, Trial

FIRST_SEED = 3_900_000
"""Searchers' seeds count from here: no placebo repeats the draws of a control in the roster."""


@dataclass(frozen=True)
class Attempt:
    """One attempt of an in-process race."""

    strategy: str
    """Digest."""
    status: Status
    score: float | None


@dataclass(frozen=True)
class Climb:
    """A whole in-process race of one searcher."""

    attempts: tuple[Attempt, ...]
    final: RatchetState

    @property
    def champion(self) -> float:
        """Score of the retained champion."""
        return self.final.champion.score

    @property
    def best(self) -> float:
        """Highest score that passed the gates, the seed's included."""
        return (self.final.archive.best or self.final.seed).score


@dataclass(frozen=True)
class Batch:
    """Everything a worker needs for any run of one plan; small, since it is sent along with every run."""

    data_dir: Path
    data: str
    seed: bytes
    budget: int
    noise_floor: float
    cache: PlaceboCache
    searchers: tuple[str, ...] = tuple(SEARCHERS)
    compiled: bool = False
    """Accounts by the compiled loop, where a worker has it; the same digits."""


def climb(
    judge: PlainJudge, seed: bytes, seed_evaluation: Evaluation, searcher: str, stream_seed: int, *,
    budget: int, noise_floor: float,
) -> Climb:  # fmt: skip
    """One searcher's race: what `harness.control_program` and the referee do together, without their processes.

    Parameters
    ----------
    judge : of the market raced on.
    seed, seed_evaluation : the seed strategy and what the judge says of it.
    searcher, stream_seed : as a control in the roster has them.
    budget, noise_floor : the race's.

    A draw that repeats an earlier file is not counted; an experiment whose draws all do ends the race, as it would
    stall a control.
    """
    state = RatchetState.start(Trial(0, files.sha256_bytes(seed), seed_evaluation))
    parent, seen, attempts = parse(seed.decode(errors="replace")), {state.seed.strategy}, list[Attempt]()
    for number in range(1, budget + 1):
        member = _fresh(searcher, parent, stream_seed, number, seen)
        if member is None:
            break
        source = render(member).encode()
        trial = Trial(number, files.sha256_bytes(source), judge.at_once(source, MEMORY_DAYS))
        seen.add(trial.strategy)
        proposal = propose(state, trial, noise_floor=noise_floor)
        confirmation = Confirmation(True, trial.evaluation, 0.0) if proposal.needs_confirmation else None
        decision, state = settle(state, trial, proposal, confirmation, noise_floor=noise_floor, budget=budget)
        attempts.append(Attempt(trial.strategy, decision.status, trial.evaluation.score))
        if decision.status in (Status.KEEP, Status.SEARCH):
            parent = member
    return Climb(tuple(attempts), state)


def _fresh(searcher: str, parent: Member | None, seed: int, experiment: int, seen: set[str]) -> Member | None:
    """The first draw of an experiment that was not judged before."""
    draws = SEARCHERS[searcher](parent, stream(seed, experiment))
    for member, _ in itertools.islice(draws, DRAWS_PER_EXPERIMENT):
        if files.sha256_bytes(render(member).encode()) not in seen:
            return member
    return None


def null_market(panel: Panel, reference: str, run: int) -> Panel:
    """The market of one run: flipped, permuted, or the real one."""
    match reference:
        case "flip":
            return flip(panel, draw_signs(panel, run))
        case "permute":
            return permute(panel, draw_order(panel, run))
        case "real":
            return panel
    raise ValueError(f"there is no reference {reference!r}")


def run_missing(
    batch: Batch,
    tasks: list[tuple[str, int]],
    *,
    jobs: int | None = None,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
) -> None:
    """Run the (reference, run) pairs that are not stored whole; each ends up in the cache.

    Interrupted, the races that ended are kept.
    """
    missing = [task for task in tasks if not _stored(batch, *task)]
    done_before = len(tasks) - len(missing)
    on_progress(done_before, len(tasks))
    if not missing:
        return
    batch.cache.sweep()
    with LocalPool("processes", min(len(missing), jobs) if jobs else None) as workers:
        workers.map(
            partial(race_on, batch), missing, on_result=lambda done, _: on_progress(done_before + done, len(tasks))
        )


def evaluations_left(batch: Batch, tasks: list[tuple[str, int]]) -> int:
    """How many strategies the races that are not stored will have judged, at most."""
    return batch.budget * len(batch.searchers) * sum(not _stored(batch, *task) for task in tasks)


def _stored(batch: Batch, reference: str, run: int) -> bool:
    return all(batch.cache.read(reference, searcher, run) is not None for searcher in batch.searchers)


def race_on(batch: Batch, task: tuple[str, int]) -> None:
    """Every searcher's race on one market; what is stored already is left."""
    reference, run = task
    market = null_market(_panel(batch.data_dir, batch.data), reference, run)
    digests = Digests(PROTOCOL.digest, batch.cache.plan, batch.data, "")
    judge = PlainJudge(market, valid_windows(), digests=digests, compiled=batch.compiled)
    seed = score_seed(judge, batch.seed)
    for searcher in batch.searchers:
        if batch.cache.read(reference, searcher, run) is not None:
            continue
        race = climb(
            judge, batch.seed, seed, searcher, FIRST_SEED + run, budget=batch.budget, noise_floor=batch.noise_floor
        )
        batch.cache.write(
            PlaceboRun(
                plan=batch.cache.plan,
                reference=reference,
                searcher=searcher,
                run=run,
                seed_score=race.final.seed.score,
                champion=race.champion,
                best=race.best,
                statuses=tuple(str(attempt.status) for attempt in race.attempts),
                scores=tuple(attempt.score for attempt in race.attempts),
            )
        )


def score_seed(judge: PlainJudge, seed: bytes) -> Evaluation:
    """The seed on this market, called fold by fold: it may be the user's own.

    Raises
    ------
    UserError : it raises, or gets no score.
    """
    try:
        evaluation = judge.by_fold(seed)
    except Exception as error:
        raise UserError(f"strategy.py: the seed fails ({type(error).__name__}: {error})", "run: evaluate.py") from error
    if evaluation.score is None:
        raise UserError(f"strategy.py: the seed gets no score, it is {evaluation.outcome}", "run: evaluate.py")
    return evaluation


@lru_cache(maxsize=1)
def _panel(data_dir: Path, digest: str) -> Panel:
    """TRAIN and VALID in this worker's memory.

    Raises
    ------
    DataError : not the data the plan names.
    """
    stored = load_panel(data_dir, "valid")
    panel = replace(stored, cube=stored.cube.copy())
    if panel.digest != digest:
        raise DataError(
            f"{data_dir / 'valid.npy'}: differs from the manifest",
            set_up_again(data_dir),
        )
    return panel
