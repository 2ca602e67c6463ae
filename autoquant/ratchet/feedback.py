"""What an attempt can teach: differences to parent and champion, likeness to the archive, and the nearest miss."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from autoquant.oracle.records import Evaluation
from autoquant.protocol import PROTOCOL
from autoquant.ratchet.bootstrap import standard_error
from autoquant.ratchet.decide import CAUSALITY, Decision, Rule, folds_better
from autoquant.ratchet.state import NOISE, RatchetState, Trial, correlation


@dataclass(frozen=True)
class CostDelta:
    """Difference of a cost, summed over folds, by kind; fractions of starting capital, positive is dearer.

    `funding` is the difference of funding received: positive is better.
    """

    fee: float
    spread: float
    impact: float
    funding: float


@dataclass(frozen=True)
class Comparison:
    """The trial minus another one, of attempt `attempt` (0 is the seed)."""

    attempt: int
    delta: float
    folds: tuple[float, ...]
    """Difference of each fold's Sharpe ratio."""
    folds_better: int
    costs: CostDelta
    drawdown: float | None
    """Difference of the chained maximum drawdown; positive is deeper."""
    standard_error: float | None
    """Bootstrap standard error of `delta`; None where the two have different days."""


@dataclass(frozen=True)
class Miss:
    """A failed rule and how far the trial was from passing it, in the rule's own units."""

    rule: str
    required: float | None
    got: float | None
    lacking: float | None


@dataclass(frozen=True)
class Feedback:
    """All of it; a part is None where the evaluation has no score to compare."""

    parent: Comparison | None = None
    champion: Comparison | None = None
    correlations: dict[str, float | None] = field(default_factory=dict)
    """Daily-return correlation with each tip of the archive before this attempt; None for an empty slot."""
    nearest_miss: Miss | None = None
    nearest_fold: int | None = None
    """1-based fold that fell least short of the working parent's, among those that are not better."""


def feedback(state: RatchetState, trial: Trial, decision: Decision | None = None) -> Feedback:
    """Feedback on `trial` against `state`, the state before it.

    Parameters
    ----------
    decision : proposal or settled decision on the trial, whose rules tell the nearest miss; None leaves that out.

    A trial whose leak was found by the deep check gets no numbers at all.
    """
    evaluation = trial.evaluation
    if decision is not None and decision.gate == CAUSALITY:
        return Feedback(nearest_miss=Miss(CAUSALITY, None, None, None))
    miss = None if decision is None else nearest_miss(evaluation, decision.rules)
    if evaluation.score is None or len(evaluation.folds) != len(state.seed.evaluation.folds):
        return Feedback(nearest_miss=miss)
    parent = compare(trial, state.parent)
    champion = parent if state.champion == state.parent else compare(trial, state.champion)
    short = [(-delta, fold) for fold, delta in enumerate(parent.folds, start=1) if delta <= NOISE]
    return Feedback(
        parent=parent,
        champion=champion,
        correlations={name: None if tip is None else correlation(trial, tip) for name, tip in state.archive.tips()},
        nearest_miss=miss,
        nearest_fold=min(short)[1] if short else None,
    )


def compare(trial: Trial, other: Trial) -> Comparison:
    """`trial` minus `other`; both need a score and the same folds.

    Raises
    ------
    ValueError : one has no score, or the folds differ in number.
    """
    ours, theirs = trial.evaluation, other.evaluation
    pairs = list(zip(ours.folds, theirs.folds, strict=True))
    drawdowns = (ours.max_drawdown, theirs.max_drawdown)
    return Comparison(
        attempt=other.attempt,
        delta=trial.score - other.score,
        folds=tuple(a.sharpe - b.sharpe for a, b in pairs),
        folds_better=folds_better(ours, theirs),
        costs=CostDelta(
            fee=sum(a.fee - b.fee for a, b in pairs),
            spread=sum(a.spread - b.spread for a, b in pairs),
            impact=sum(a.impact - b.impact for a, b in pairs),
            funding=sum(a.funding - b.funding for a, b in pairs),
        ),
        drawdown=None if drawdowns[0] is None or drawdowns[1] is None else drawdowns[0] - drawdowns[1],
        standard_error=standard_error(trial, other),
    )


def nearest_miss(evaluation: Evaluation, rules: Sequence[Rule]) -> Miss | None:
    """The failed rule that was closest to passing; None when nothing failed.

    A failed gate comes first: no ratchet is reached past it. Among rules, the search ratchet's come first, as the
    lower bar, then the official ratchet's; closeness is the shortfall divided by what is required (for a requirement
    of 0, by the search ratchet's materiality).
    """
    gate = next((gate for gate in evaluation.gates if not gate.passed), None)
    if gate is not None:
        lacking = None if gate.headroom is None else -gate.headroom
        return Miss(gate.name, gate.limit, gate.value, lacking)
    for ratchet in ("search", "official"):
        failed = [rule for rule in rules if rule.name.startswith(ratchet) and not rule.passed]
        if failed:
            rule = min(failed, key=_shortfall)
            return Miss(rule.name, rule.required, rule.got, None if rule.got is None else rule.lacking)
    return None


def _shortfall(rule: Rule) -> float:
    if rule.got is None:
        return float("inf")
    return rule.lacking / (rule.required if rule.required > 0.0 else PROTOCOL.ratchet.search_delta)
