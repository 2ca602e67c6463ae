"""From stored bytes to a verdict: evaluate, decide, store, and say what the ledger shall say.

Nothing here reads a worktree or writes the verdict itself: the referee appends the returned record. Doing it again for
the same attempt gives the same numbers and rewrites the same files.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

from autoquant import codec, files
from autoquant.arena.referee.standing import Standing, commit_facts
from autoquant.arena.referee.worktrees import Worktrees
from autoquant.ledger.layout import RaceLayout
from autoquant.ledger.records import AttemptClosed, DecisionSummary
from autoquant.ledger.views import AttemptView
from autoquant.oracle.records import (
    Confirmation,
    Digests,
    Evaluation,
    Fault,
    Judgement,
    Outcome,
    StoredDetail,
    Timings,
)
from autoquant.ratchet.decide import Decision, after_confirmation, propose, reconsider, settle, violation
from autoquant.ratchet.feedback import Feedback, feedback
from autoquant.ratchet.score_file import ScoreFile, agent_score, summary
from autoquant.ratchet.state import Trial


class Judge(Protocol):
    """What is asked of the oracle."""

    def screen(self, source: bytes, attempt: int) -> Judgement:
        """Evaluate at screen depth."""
        ...

    def confirm(self, source: bytes, attempt: int, judgement: Judgement) -> Confirmation:
        """The deep check before anything is accepted."""
        ...


@dataclass(frozen=True)
class Verdict:
    """A decided attempt before it is recorded. `judgement` is None where nothing was evaluated."""

    trial: Trial | None
    decision: Decision
    feedback: Feedback | None
    judgement: Judgement | None = None
    confirmation: Confirmation | None = None


def judge_attempt(judge: Judge, standing: Standing, attempt: AttemptView, source: bytes, noise_floor: float) -> Verdict:
    """Evaluate an attempt and decide on it.

    Raises
    ------
    InfrastructureFault : the oracle could not answer; nothing is decided.
    """
    judgement = judge.screen(source, attempt.attempt)
    trial = Trial(attempt.attempt, attempt.strategy, judgement.evaluation)
    state = standing.state()
    decision = propose(state, trial, noise_floor=noise_floor)
    confirmation = None
    if decision.needs_confirmation:
        confirmation = judge.confirm(source, attempt.attempt, judgement)
        trial, decision = reconsider(state, trial, decision, confirmation, noise_floor=noise_floor)
    decision, _ = settle(state, trial, decision, confirmation, noise_floor=noise_floor, budget=standing.budget)
    return Verdict(trial, decision, feedback(state, trial, decision), judgement, confirmation)


def unevaluated(standing: Standing, attempt: AttemptView, outcome: Outcome, kind: str) -> Verdict:
    """The verdict on an attempt that never ran: `kind` says why in one word (`SymbolicLink`, `EvaluationCut`)."""
    digests = standing.trial(0).evaluation.digests
    evaluation = Evaluation(outcome, replace(digests, strategy=attempt.strategy), fault=Fault(kind))
    trial = Trial(attempt.attempt, attempt.strategy, evaluation)
    state = standing.state()
    proposal = propose(state, trial, noise_floor=0.0)
    decision, _ = settle(state, trial, proposal, None, noise_floor=0.0, budget=standing.budget)
    return Verdict(trial, decision, None)


def violated(standing: Standing, attempt: AttemptView, path: str) -> Verdict:
    """The verdict on an attempt submitted while a protected file was changed: it counts, nothing is evaluated."""
    decision, _ = violation(standing.state(), attempt.attempt, path, budget=standing.budget)
    return Verdict(None, decision, None)


def store_verdict(
    layout: RaceLayout, worktrees: Worktrees, standing: Standing, attempt: AttemptView, verdict: Verdict, utc: str
) -> AttemptClosed:
    """Write evaluation and score file, durably, and return the record that names them.

    Parameters
    ----------
    utc : time of the record to come; the commit's id depends on it, and the score file names that commit.
    """
    decision = verdict.decision
    evaluation = None if verdict.trial is None else after_confirmation(verdict.trial.evaluation, decision)
    commit = _next_commit(worktrees, standing, attempt, verdict, utc)
    shown = evaluation or Evaluation(Outcome.INVALID, _digests(standing, attempt))
    score = agent_score(shown, verdict.feedback, decision, attempt.attempt, decision.status, commit=commit)
    score_bytes = (codec.dumps(score, indent=1) + "\n").encode()
    evaluation_bytes = None if evaluation is None else codec.dumps(evaluation).encode()
    detail_bytes = codec.dumps(StoredDetail(verdict.judgement, verdict.confirmation)).encode()
    if evaluation_bytes is not None:
        files.atomic_write(layout.detail(attempt.competitor, attempt.attempt), detail_bytes)
        files.atomic_write(layout.evaluation(attempt.competitor, attempt.attempt), evaluation_bytes)
    files.atomic_write(layout.score(attempt.competitor, attempt.attempt), score_bytes)
    timings = None if verdict.judgement is None else _timings(verdict.judgement, verdict.confirmation)
    return AttemptClosed(
        competitor=attempt.competitor,
        attempt=attempt.attempt,
        status=str(decision.status),
        score=None if evaluation is None else evaluation.score,
        double_cost=None if evaluation is None else evaluation.score_double_cost,
        evaluation=None if evaluation_bytes is None else files.sha256_bytes(evaluation_bytes),
        score_file=files.sha256_bytes(score_bytes),
        decision=DecisionSummary(**summary(decision, verdict.trial, timings)),
        detail=None if evaluation_bytes is None else files.sha256_bytes(detail_bytes),
    )


def read_score(layout: RaceLayout, competitor: str, attempt: int) -> dict[str, Any] | None:
    """The stored score file as plain values; None when it is not there."""
    try:
        data = layout.score(competitor, attempt).read_bytes()
    except OSError:
        return None
    return codec.encode(codec.loads(ScoreFile, data, f"score file of attempt {attempt}"))  # type: ignore[no-any-return]


def _next_commit(worktrees: Worktrees, standing: Standing, attempt: AttemptView, verdict: Verdict, utc: str) -> str:
    """Commit of the text the next mutation starts from: the working parent after this verdict."""
    working = standing.racer.find(standing.racer.working)
    recorded = None if working is None else working.commit
    tip = recorded or worktrees.seed_commit(standing.strategy(0))
    if verdict.decision.working != attempt.attempt:
        return tip
    score = None if verdict.trial is None else verdict.trial.evaluation.score
    source = standing.strategy(attempt.attempt)
    status = str(verdict.decision.status)
    return worktrees.commit_id(tip, commit_facts(attempt.attempt, source, status, score, attempt.description, utc))


def _digests(standing: Standing, attempt: AttemptView) -> Digests:
    return replace(standing.trial(0).evaluation.digests, strategy=attempt.strategy)


def _timings(judgement: Judgement, confirmation: Confirmation | None) -> Timings:
    if confirmation is None:
        return judgement.timings
    spent = judgement.timings
    return replace(spent, causality=spent.causality + confirmation.seconds, total=spent.total + confirmation.seconds)
