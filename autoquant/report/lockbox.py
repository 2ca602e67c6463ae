"""What the sealed year said: verdicts and references from the ledger, numbers from the files that it names."""

from __future__ import annotations

from autoquant.ledger import records as r
from autoquant.ledger.views import RaceView
from autoquant.oracle.records import Evaluation
from autoquant.protocol import PROTOCOL
from autoquant.report.judged import gate_words
from autoquant.report.model import Lockbox, LockboxStage, Reference, Verdict
from autoquant.report.shelf import Shelf
from autoquant.report.text import clean
from autoquant.stats.sharpe import annualised, probabilistic_sharpe_of, sharpe_interval

ALTERED = "its evaluation file is missing or altered"

Days = tuple[float, ...]


def lockbox_of(view: RaceView, shelf: Shelf) -> Lockbox:
    """The lockbox of a race, whatever stage it is at."""
    box = view.lockbox
    stage = LockboxStage.OPEN if box.is_closed else LockboxStage.OPENING if box.is_reserved else LockboxStage.SEALED
    scores = box.scores or {}
    return Lockbox(
        stage=stage,
        opened=box.reserved_utc,
        start=PROTOCOL.calendar.lockbox_start,
        end=PROTOCOL.calendar.lockbox_end,
        verdicts=tuple(_verdict(entry, scores.get(entry.name), shelf) for entry in box.entries or ()),
        references=tuple(_reference(reference, shelf) for reference in box.references),
        changed_archives_accepted=bool(box.fetched.data.get("changed")) if box.fetched else False,
    )


def _verdict(entry: r.LockboxEntry, scored: r.LockboxScored | None, shelf: Shelf) -> Verdict:
    evaluation, days = shelf.sealed(entry.name, scored.evaluation) if scored else (None, ())
    low, high = _interval(days)
    gates, hold = _gates(evaluation)
    return Verdict(
        name=clean(entry.name, 80),
        competitor=entry.competitor,
        attempt=entry.attempt,
        words=clean(scored.verdict, 60) if scored else "",
        sharpe=scored.sharpe if scored else None,
        sharpe_low=low,
        sharpe_high=high,
        probability=scored.probability if scored else None,
        gates=gates,
        gates_hold=hold,
        daily_returns=days,
        drawdown=evaluation.max_drawdown if evaluation else None,
        total_return=evaluation.folds[0].total_return if evaluation and evaluation.folds else None,
        missing="" if days else _unjudged(scored, evaluation),
    )


def _reference(reference: r.LockboxReference, shelf: Shelf) -> Reference:
    evaluation, days = shelf.reference(reference.name, reference.evaluation)
    fold = evaluation.folds[0] if evaluation and evaluation.folds else None
    low, high = _interval(days)
    return Reference(
        name=clean(reference.name, 80).replace("-", " "),
        sharpe=fold.sharpe if fold else None,
        sharpe_low=low,
        sharpe_high=high,
        probability=probabilistic_sharpe_of(days) if days else None,
        daily_returns=days,
        drawdown=evaluation.max_drawdown if evaluation else None,
        total_return=fold.total_return if fold else None,
        missing="" if days else ALTERED,
    )


def _interval(days: Days) -> tuple[float | None, float | None]:
    """95 % interval of the yearly Sharpe ratio."""
    found = sharpe_interval(days) if days else None
    return (None, None) if found is None else (annualised(found[0]), annualised(found[1]))


def _gates(evaluation: Evaluation | None) -> tuple[str, bool | None]:
    if evaluation is None or not evaluation.gates:
        return "", None
    failed = [gate_words(gate) for gate in evaluation.gates if not gate.passed]
    return (", ".join(failed), False) if failed else ("all hold", True)


def _unjudged(scored: r.LockboxScored | None, evaluation: Evaluation | None) -> str:
    if scored is None:
        return "not judged yet"
    if evaluation is None:
        return ALTERED
    if evaluation.fault is not None:
        return f"it did not run on the sealed year: {clean(evaluation.fault.kind, 60)}"
    return f"{evaluation.failed_gate or 'a'} gate failed before accounting"
