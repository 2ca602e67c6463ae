"""Tasks, data and grades as plain text for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from autoquant.market.indices import IndexManifest
from autoquant.tasks.grade import Comparison, Grade, RungResult, figure
from autoquant.tasks.spec import TaskSpec, task
from autoquant.tasks.truth import PUBLISHED, REFERENCE

_TRUTHS = {
    PUBLISHED: "the published figures of the reference data",
    REFERENCE: "what the reference solution gives on these data",
}


def listing(specs: Sequence[TaskSpec], manifest: IndexManifest | None, problem: str) -> str:
    """The tasks, one a line, and the data."""
    lines = [f"{spec.name:<8}{spec.title:<24}{spec.signature}" for spec in specs]
    return "\n".join([*lines, "", problem if manifest is None else data_words(manifest)])


def data_words(manifest: IndexManifest) -> str:
    """Where the bars come from and how many there are."""
    shown, hidden = manifest.shown, manifest.hidden
    return f"data    {manifest.origin}; {shown.rows:,} bars shown to {shown.last[:10]}, {hidden.rows:,} hidden behind"


def described(spec: TaskSpec) -> str:
    """A task's brief and its ladder."""
    lines = [f"{spec.name}: {spec.title}", "", spec.brief.strip(), "", "ladder", f"  0.00  {spec.base}"]
    lines += [f"  {rung.score:.2f}  {rung.words}" for rung in spec.rung]
    if spec.out_of_sample:
        points = ", ".join(f"{sharpe:g} {score:.2f}" for sharpe, score in spec.out_of_sample)
        lines += ["", f"then, once, the Sharpe ratio on hidden bars, straight between: {points}"]
    return "\n".join(lines)


def graded(grade: Grade) -> str:
    """A grade: every rung, every figure, what to mend first."""
    origin = "synthetic data: not a market result" if grade.source == "synthetic" else f"{grade.bars:,} bars from files"
    is_backtest = bool(task(grade.task).out_of_sample) and not grade.final
    head = f"{grade.task}  {grade.score:.2f}" + ("  (backtest)" if is_backtest else "")
    lines = [head, f"on     {origin}" + (f"; truth: {_TRUTHS[grade.truth]}" if grade.truth else ""), ""]
    for rung in grade.rungs:
        lines.append(_rung_line(rung))
        lines += [f"        {_comparison(one)}" for one in rung.comparisons]
    if grade.hidden is not None:
        sharpe = "none" if grade.hidden.sharpe is None else f"{grade.hidden.sharpe:.4f}"
        lines.append(f"  hidden bars: Sharpe {sharpe}" + (f", {grade.hidden.detail}" if grade.hidden.detail else ""))
    if grade.replay is not None:
        came = grade.replay
        lines += ["", f"trades {came.trades:,} · pnl {came.pnl:,.2f} · drawdown {came.max_drawdown:,.2f} · "
                  f"Sharpe {came.sharpe:.4f} · costs {came.costs:,.2f} points"]  # fmt: skip
    lines += [one.words for one in grade.findings]
    if grade.first_to_mend:
        lines += ["", f"mend first, {grade.first_to_mend}"]
    return "\n".join(lines)


def _rung_line(rung: RungResult) -> str:
    mark = {True: "yes", False: "NO ", None: "–  "}[rung.passed]
    return f"  {rung.score:.2f}  {mark}  {rung.words}" + (
        f" ({rung.detail})" if rung.detail and rung.passed is False else ""
    )


def _comparison(one: Comparison) -> str:
    value, target, low, high = (figure(one.metric, x) for x in (one.value, one.target, one.low, one.high))
    name = one.metric.replace("_", " ")
    return f"{'yes' if one.passed else 'NO '} {name:<13}{value:>14}  target {target} ({low} to {high})"
