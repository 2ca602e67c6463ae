"""One attempt for the page: what the ledger says of it and what its evaluation adds."""

from __future__ import annotations

from autoquant.ledger import records as r
from autoquant.ledger.views import AttemptView
from autoquant.oracle.records import Evaluation, GateResult
from autoquant.report.model import Attempt, Gate, Stress
from autoquant.report.text import clean, fixed, percent

_SHARES = ("drawdown", "exposure")
"""Gates whose readings are fractions."""


def attempt_of(
    view: AttemptView,
    evaluation: Evaluation | None,
    parent: Evaluation | None,
    stress: Stress | None,
    amounts: tuple[int, float | None] | None,
    seconds: float | None,
    told: bool = True,
) -> Attempt:
    """The page's attempt.

    Parameters
    ----------
    view : from the ledger.
    evaluation, parent : trusted evaluations of it and of the working parent of that moment, where there are.
    stress : of an accepted attempt.
    amounts : tokens and US dollars put down to it.
    seconds : of the agent's own time up to its opening.
    told : whether a row may tell of it; without one nobody reads its reason.
    """
    decision = view.decision or r.DecisionSummary()
    sharpes = evaluation.fold_sharpes if evaluation else ()
    base = parent.fold_sharpes if parent else ()
    words, passed = _gates(view, evaluation, decision)
    return Attempt(
        number=view.attempt,
        utc=view.closed_utc or view.opened_utc,
        opened_utc=view.opened_utc,
        status=view.status,
        score=view.score,
        double_cost=view.double_cost,
        delayed=evaluation.score_delayed if evaluation else None,
        stress=stress,
        gate_results=tuple(_gate(gate) for gate in evaluation.gates) if evaluation else (),
        delta=decision.delta,
        folds_better=decision.folds_better,
        fold_deltas=tuple(a - b for a, b in zip(sharpes, base, strict=True)) if len(sharpes) == len(base) else (),
        fold_sharpes=sharpes,
        gates=words,
        gates_passed=passed,
        drawdown=decision.drawdown,
        turnover=decision.turnover,
        trades=decision.trades,
        beyond_error=decision.beyond_error,
        mask_dependent=decision.mask_dependent,
        slots=tuple(clean(slot, 20) for slot in decision.slots),
        description=clean(view.description),
        parent=view.parent,
        lineage=clean(view.lineage, 20) if view.lineage else None,
        strategy=view.strategy,
        commit=clean(view.commit, 40) if view.commit else None,
        missing="" if view.score is not None else _missing(view, evaluation),
        tokens=amounts[0] if amounts else None,
        cost=amounts[1] if amounts else None,
        agent_seconds=seconds,
        reason=clean(decision.reason, 300) if told else "",
    )


def _missing(view: AttemptView, evaluation: Evaluation | None) -> str:
    if view.is_open:
        return "still being evaluated"
    if evaluation is not None and evaluation.fault is not None:
        line = f" in line {evaluation.fault.line}" if evaluation.fault.line is not None else ""
        return f"{clean(evaluation.fault.kind, 60)}{line}"
    gate = view.decision.gate if view.decision else None
    return f"{clean(gate, 40)} gate failed: no score" if gate else f"no score: {view.status}"


def _gates(view: AttemptView, evaluation: Evaluation | None, decision: r.DecisionSummary) -> tuple[str, bool | None]:
    failed = [gate for gate in evaluation.gates if not gate.passed] if evaluation else []
    if failed:
        return ", ".join(gate_words(gate) for gate in failed), False
    if decision.gate:
        return clean(decision.gate, 40), False
    if view.score is not None and view.status not in ("gate", "invalid", "violation"):
        return "all pass", True
    return "", None


def _gate(gate: GateResult) -> Gate:
    return Gate(clean(gate.name, 40), gate.passed, gate.value, gate.limit, gate.headroom, gate.fold)


def gate_words(gate: GateResult) -> str:
    """`turnover 51.2 of 40`: the worst value met and its limit, in the gate's own unit."""
    name = clean(gate.name, 40)
    if gate.value is None or gate.limit is None:
        return name
    fold = f" in fold {gate.fold}" if gate.fold is not None else ""
    return f"{name} {gate_figure(gate.name, gate.value)} of {gate_figure(gate.name, gate.limit)}{fold}"


def gate_figure(name: str, value: float) -> str:
    """A gate's value, limit or headroom in the gate's own unit.

    >>> gate_figure("drawdown", 0.25), gate_figure("turnover", 51.234), gate_figure("trades", 20.0)
    ('25.0\u202f%', '51.23', '20')
    """
    if name in _SHARES:
        return percent(value)
    return fixed(value, 0 if value == int(value) else 2)
