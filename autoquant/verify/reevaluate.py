"""Are the evaluations true? The same oracle judges the same bytes again, on data of the verifier's own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from autoquant.executor import Executor
from autoquant.ledger.judged import SEED
from autoquant.ledger.views import AttemptView, RaceView
from autoquant.oracle.judge import NO_SECRET
from autoquant.oracle.records import Confirmation, Evaluation, Outcome
from autoquant.oracle.reference import BUY_AND_HOLD
from autoquant.protocol import PROTOCOL
from autoquant.ratchet.decide import CAUSALITY
from autoquant.verify import evidence as ev
from autoquant.verify.compare import TOLERANCE, difference
from autoquant.verify.decisions import read_detail, read_evaluation
from autoquant.verify.evidence import Evidence
from autoquant.verify.record_checks import read_secret
from autoquant.verify.records import Check, outcome
from autoquant.verify.work import Answer, Depth, Evaluator, PanelSource, Work

Progress = Callable[[int, int], None]
FLOOR = "noise floor"
MOST_SAMPLES = 10 * PROTOCOL.calibration.samples
"""Of a noise floor that is measured again: a stranger's number of them costs the verifier's time."""


@dataclass(frozen=True)
class Expected:
    """A piece of work and what is on record for it."""

    work: Work
    evaluation: Evaluation
    detail: str | None = None
    """None where the record does not say."""
    confirmation: Confirmation | None = None


def valid_work(evidence: Evidence, view: RaceView, panel: PanelSource, *, full: bool, jobs: int) -> list[Expected]:
    """The seed and every accepted attempt; with `full` every attempt that has an evaluation made by the oracle."""
    secret = read_secret(evidence) or b""
    found: list[Expected] = []

    def add(who: str, depth: Depth, source: bytes, attempt: int, told: Evaluation, **more: Any) -> None:
        work = Work(who, depth, panel, view.created.code, secret, source, attempt, jobs)
        found.append(Expected(work, told, **more))

    seed, source = read_evaluation(evidence, ev.evaluation(SEED, 0)), evidence.read(_seed_name(view))
    if seed is not None and source is not None:
        add("the seed", Depth.SCREEN, source, 0, seed)
    for seen in (seen for racer in view.competitors.values() for seen in racer.closed if full or seen.accepted):
        _add_attempt(evidence, seen, add)
    return found


def sealed_work(evidence: Evidence, view: RaceView, panel: PanelSource, *, jobs: int) -> list[Expected]:
    """Every entry of the lockbox, equal ones once, and the references."""
    secret, box = read_secret(evidence) or b"", view.lockbox
    found: list[Expected] = []
    for entry in box.entries or ():
        told, source = read_evaluation(evidence, ev.sealed(entry.name)), evidence.read(ev.strategy(entry.strategy))
        if told is not None and source is not None:
            work = Work(entry.name, Depth.SEALED, panel, view.created.code, secret, source, entry.attempt, jobs)
            found.append(Expected(work, told))
    for one in box.references:
        told = read_evaluation(evidence, ev.reference(one.name))
        if told is not None and one.name == BUY_AND_HOLD:
            found.append(Expected(Work(one.name, Depth.MARKET, panel, view.created.code, secret, b"", 0, jobs), told))
    return found


def check_again(
    name: str,
    expected: Sequence[Expected],
    executor: Executor,
    evaluator: Evaluator,
    *,
    exact: bool,
    words: str,
    on_progress: Progress | None = None,
) -> Check:
    """Do the work, equal pieces once, and hold each answer against the record.

    Parameters
    ----------
    exact : the environment is the race's own: every number must be equal to the last digit, else within `TOLERANCE`.
    words : what was looked at, for the answer.
    """
    pieces = {one.work.key: one.work for one in expected}
    answers = executor.map(evaluator, list(pieces.values()), on_result=on_progress)
    by_key = {answer.key: answer for answer in answers}
    problems: list[str] = []
    undone: list[str] = []
    for one in expected:
        answer = by_key[one.work.key]
        if answer.fault or answer.evaluation is None:
            undone.append(f"{one.work.who}: {answer.fault or 'no answer'}")
        elif _limits_met(one.evaluation, one.confirmation) != _limits_met(answer.evaluation, answer.confirmation):
            undone.append(f"{one.work.who}: met its limit of processor time on one machine and not on the other")
        elif found := _difference(one, answer, 0.0 if exact else TOLERANCE):
            problems.append(f"{one.work.who}: evaluated again: {found}")
    how = "to the last digit" if exact else f"within {TOLERANCE:g} (another environment than the race's)"
    more = f" and {len(undone) - 1} more" if len(undone) > 1 else ""
    return outcome(name, problems, f"{len(expected)} evaluations repeated {how}{words}", "".join(undone[:1]) + more)


def check_floor(
    evidence: Evidence, view: RaceView, panel: PanelSource, executor: Executor, evaluator: Evaluator, *, jobs: int
) -> Check:
    """The noise floor, which every acceptance has to beat, measured again: it comes from the seed and the data alone.

    Under the mask of no race, as calibration draws it; within `TOLERANCE`, and whatever code it names: `start` takes
    one that was measured before the last update.
    """
    told, source = ev.floor_of(evidence), evidence.read(_seed_name(view))
    if told is None or source is None:
        return outcome(FLOOR, [], "", f"{ev.CALIBRATION} or the seed is missing")
    if not 1 <= told.samples <= MOST_SAMPLES:
        return outcome(FLOOR, [], "", f"its {told.samples:,} samples are more than are drawn again ({MOST_SAMPLES:,})")
    work = Work("the noise floor", Depth.FLOOR, panel, view.created.code, NO_SECRET, source, 0, jobs, told.samples)
    (answer,) = executor.map(evaluator, [work])
    if answer.floor is None:
        return outcome(FLOOR, [], "", answer.fault or "no answer")
    again = replace(answer.floor, digests=replace(answer.floor.digests, code=told.digests.code))
    found = difference(told, again, TOLERANCE)
    text = f"{told.value:.4f} from {told.samples:,} samples of the seed's returns, as measured again"
    return outcome(FLOOR, [f"measured again: {found}"] if found else [], text)


def _add_attempt(evidence: Evidence, seen: AttemptView, add: Callable[..., None]) -> None:
    who = f"{seen.competitor} attempt {seen.attempt}"
    source = evidence.read(ev.strategy(seen.strategy))
    detail = read_detail(evidence, seen.competitor, seen.attempt)
    stored = read_evaluation(evidence, ev.evaluation(seen.competitor, seen.attempt))
    if source is None or stored is None:
        return
    if detail is None:  # of an older version: what is left is the evaluation under the first mask, unless a late
        if stored.failed_gate == CAUSALITY and stored.fault is None:  # leak took its numbers away
            return
        add(who, Depth.SCREEN, source, seen.attempt, stored)
    elif detail.judgement is not None:
        depth = Depth.SCREEN if detail.confirmation is None else Depth.CONFIRM
        told = detail.judgement
        add(
            who, depth, source, seen.attempt, told.evaluation,
            detail=told.causality_detail, confirmation=detail.confirmation,
        )  # fmt: skip


def _difference(one: Expected, answer: Answer, tolerance: float) -> str:
    found = difference(one.evaluation, answer.evaluation, tolerance)
    if not found and one.detail is not None and one.detail != answer.detail:
        found = f"causality: {answer.detail!r} where {one.detail!r} was recorded"
    if not found and one.confirmation is not None:
        found = difference(_timeless(one.confirmation), _timeless(answer.confirmation), tolerance)
        found = f"deep check: {found}" if found else ""
    return found


def _timeless(confirmation: Confirmation | None) -> Confirmation | None:
    return None if confirmation is None else replace(confirmation, seconds=0.0)


def _limits_met(evaluation: Evaluation, confirmation: Confirmation | None) -> tuple[bool, ...]:
    """Whether processor time ran out at the first look, in the deep check, under the second mask."""
    deep = (None, None) if confirmation is None else (confirmation.failure, confirmation.second)
    return tuple(one is not None and one.outcome is Outcome.TIMEOUT for one in (evaluation, *deep))


def _seed_name(view: RaceView) -> str:
    return ev.strategy(view.created.seed_strategy)
