"""score.json: an attempt as the agent may see it, and in full for use outside a race.

What comes back is an exit too, so a race's file holds rounded numbers only: no daily returns, no message, no cut and
no bar. A gate about the answer's form or about causality shows its name and nothing else; a fault its kind
(a word of the sandbox's fixed vocabulary, never of the strategy's making) and its line.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, TypeVar, cast

from autoquant.oracle.records import Digests, Evaluation, Fault, GateResult, Status, Timings
from autoquant.protocol import SCHEMA_VERSION
from autoquant.ratchet.decide import Decision, Rule, after_confirmation
from autoquant.ratchet.feedback import Feedback
from autoquant.ratchet.state import Trial

DIGITS = 4
_MUTE_GATES = ("import", "output", "causality")

T = TypeVar("T")


@dataclass(frozen=True)
class Costs:
    """Costs of one fold, fractions of starting capital; funding is what was received."""

    fee: float
    spread: float
    impact: float
    funding: float


@dataclass(frozen=True)
class ScoreFold:
    """One fold. Its dates are shown outside a race only."""

    fold: int
    sharpe: float
    drawdown: float
    turnover: float
    trades: int
    gross: float
    volatility: float
    costs: Costs
    start: str | None = None
    end: str | None = None


@dataclass(frozen=True)
class ScoreGate:
    """One gate: the worst value met, its limit, the room left (negative when failed)."""

    name: str
    passed: bool
    value: float | None = None
    limit: float | None = None
    headroom: float | None = None
    fold: int | None = None
    detail: str | None = None


@dataclass(frozen=True)
class Shadows:
    """Scores under stress, shown beside the score and deciding nothing but search's cost rule."""

    double_cost: float | None = None
    delayed: float | None = None


@dataclass(frozen=True)
class NextStart:
    """Where the next mutation starts: the file, the attempt it holds, that attempt's commit, and its lineage."""

    file: str = "strategy.py"
    attempt: int = 0
    commit: str | None = None
    lineage: str = "working"


@dataclass(frozen=True)
class ScoreDecision:
    """The verdict, rule by rule, and what comes next."""

    status: Status
    reason: str
    rules: tuple[Rule, ...]
    slots: tuple[str, ...]
    gate: str | None
    beyond_error: bool | None
    mask_dependent: bool | None
    champion: int | None
    archive: dict[str, int | None]
    next: NextStart
    attempts_left: int | None


@dataclass(frozen=True)
class ScoreFile:
    """The whole file. `feedback` and `decision` are None outside a race."""

    attempt: int
    status: str
    score: float | None
    folds: tuple[ScoreFold, ...]
    gates: tuple[ScoreGate, ...]
    shadows: Shadows
    max_drawdown: float | None
    turnover: float | None
    turnover_per_gross: float | None
    trades: int | None
    digests: Digests
    fault: Fault | None
    feedback: Feedback | None
    decision: ScoreDecision | None
    split: str
    schema_version: int = SCHEMA_VERSION


def agent_score(
    evaluation: Evaluation,
    feedback: Feedback | None,
    decision: Decision | None,
    attempt: int,
    status: str,
    *,
    commit: str | None = None,
    reveal: bool = False,
) -> ScoreFile:
    """score.json of one attempt; `autoquant.codec.dumps` writes it.

    Parameters
    ----------
    status : the attempt's status, or the evaluation's outcome where no ratchet decided.
    commit : commit of the text the next mutation starts from, if there is one.
    reveal : outside a race: the fault's message, gate details, fold dates and full digits are shown.
    """
    if decision is not None:
        evaluation = after_confirmation(evaluation, decision)
    fault = evaluation.fault
    file = ScoreFile(
        attempt=attempt,
        status=str(status),
        score=evaluation.score,
        folds=_folds(evaluation, reveal),
        gates=tuple(_gate(gate, reveal) for gate in evaluation.gates),
        shadows=Shadows(evaluation.score_double_cost, evaluation.score_delayed),
        max_drawdown=evaluation.max_drawdown,
        turnover=evaluation.turnover,
        turnover_per_gross=evaluation.turnover_per_gross,
        trades=evaluation.trades,
        digests=evaluation.digests,
        fault=fault if reveal or fault is None else Fault(fault.kind, fault.line),
        feedback=feedback,
        decision=None if decision is None else _decision(decision, commit),
        split=evaluation.split,
    )
    return file if reveal else rounded(file)


def summary(decision: Decision, trial: Trial | None, timings: Timings | None = None) -> dict[str, Any]:
    """The fields of the ledger's `DecisionSummary`, by name; `trial` is None for an attempt without an evaluation."""
    evaluation = None if trial is None else after_confirmation(trial.evaluation, decision)
    return {
        "reason": decision.reason,
        "delta": None if evaluation is None or evaluation.score is None else decision.delta,
        "folds_better": None if evaluation is None or evaluation.score is None else decision.folds_better,
        "slots": decision.slots,
        "champion": decision.champion,
        "working": decision.working,
        "archive": dict(decision.archive or {}),
        "drawdown": None if evaluation is None else evaluation.max_drawdown,
        "turnover": None if evaluation is None else evaluation.turnover,
        "trades": None if evaluation is None else evaluation.trades,
        "beyond_error": decision.beyond_error,
        "mask_dependent": decision.mask_dependent,
        "gate": decision.gate,
        "timings": {} if timings is None else {f.name: getattr(timings, f.name) for f in fields(timings)},
    }


def rounded(value: T, digits: int = DIGITS) -> T:
    """`value` with every float in it rounded; −0 becomes 0.

    >>> rounded((0.12345, -0.00001, 3, "x"))
    (0.1235, 0.0, 3, 'x')
    """
    return cast(T, _rounded(value, digits))


def _rounded(value: Any, digits: int) -> Any:
    if isinstance(value, float):
        return round(value, digits) + 0.0
    if isinstance(value, tuple):
        return tuple(_rounded(item, digits) for item in value)
    if isinstance(value, dict):
        return {key: _rounded(item, digits) for key, item in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{f.name: _rounded(getattr(value, f.name), digits) for f in fields(value)})
    return value


def _folds(evaluation: Evaluation, reveal: bool) -> tuple[ScoreFold, ...]:
    return tuple(
        ScoreFold(
            fold=number,
            sharpe=fold.sharpe,
            drawdown=fold.max_drawdown,
            turnover=fold.turnover,
            trades=fold.trades,
            gross=fold.mean_gross,
            volatility=fold.volatility,
            costs=Costs(fold.fee, fold.spread, fold.impact, fold.funding),
            start=fold.start if reveal else None,
            end=fold.end if reveal else None,
        )
        for number, fold in enumerate(evaluation.folds, start=1)
    )


def _gate(gate: GateResult, reveal: bool) -> ScoreGate:
    if reveal:
        return ScoreGate(gate.name, gate.passed, gate.value, gate.limit, gate.headroom, gate.fold, gate.detail or None)
    if gate.name in _MUTE_GATES:
        return ScoreGate(gate.name, gate.passed)
    return ScoreGate(gate.name, gate.passed, gate.value, gate.limit, gate.headroom, gate.fold)


def _decision(decision: Decision, commit: str | None) -> ScoreDecision:
    return ScoreDecision(
        status=decision.status,
        reason=decision.reason,
        rules=decision.rules,
        slots=decision.slots,
        gate=decision.gate,
        beyond_error=decision.beyond_error,
        mask_dependent=decision.mask_dependent,
        champion=decision.champion,
        archive=dict(decision.archive or {}),
        next=NextStart(attempt=decision.working or 0, commit=commit),
        attempts_left=decision.attempts_left,
    )
