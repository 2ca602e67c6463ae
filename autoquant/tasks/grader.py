"""From a solution's text to its grade. One strict ladder a task; the hidden bars only when a submission is final."""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from autoquant.errors import AgentFault, OutputError
from autoquant.market.indices import Bars
from autoquant.sandbox import WarmParent
from autoquant.tasks.grade import Grade, Hidden, Verdict, climb, first_to_mend
from autoquant.tasks.lookahead import look_ahead, same
from autoquant.tasks.replay import EXPOSURE_LIMIT, EXPOSURE_SLACK, Replay, Trades
from autoquant.tasks.scan import Finding, scan
from autoquant.tasks.solution import Ran, preload, read_source, replayed, run, takes, told
from autoquant.tasks.spec import TaskSpec, metrics, out_of_sample_score
from autoquant.tasks.truth import Truth

NOT_REACHED = Verdict(None)
_NOT_DEFINED = ("NoGenerateTrades", "WrongSignature")
"""Kinds of refusal that say themselves what is wrong with the function."""


@dataclass(frozen=True, eq=False)
class Ground:
    """What solutions of one task are graded on."""

    spec: TaskSpec
    shown: Bars
    hidden: Bars
    source: str
    """Of the data."""
    truth: Truth | None
    """None for the hard task."""


def grade(parent: WarmParent, source: bytes, ground: Ground, *, final: bool = False, reveal: bool = True) -> Grade:
    """Grade a solution.

    Parameters
    ----------
    parent : a clean process of its own, forked once per run.
    final : whether the hidden bars are used; without it the hard task ends at its last rung.
    reveal : whether texts of a solution's exceptions on the shown bars may be told. Those on hidden bars never are.

    Raises
    ------
    InfrastructureFault : the machine's doing; nothing was graded.
    """
    shown = replace(_on_shown(parent, source, ground, reveal), final=final)
    if final and ground.spec.out_of_sample and all(rung.passed for rung in shown.rungs):
        return _on_hidden(parent, source, ground, shown)
    return shown


def ungraded(ground: Ground, why: str) -> Grade:
    """The grade of a solution that could not be graded for reasons that are held against it."""
    return replace(_graded(ground, {}, ()), first_to_mend=why)


def _on_shown(parent: WarmParent, source: bytes, ground: Ground, reveal: bool) -> Grade:
    spec, findings = ground.spec, scan(source)
    refusal = read_source(source, spec)
    if refusal is not None:
        return _graded(ground, _refused(spec, source, refusal), findings)
    preload(parent, source, spec)
    first, second = _twice(parent, source, ground, reveal)
    known = {"parses": Verdict(True), "defines": Verdict(True), **_format(spec, first, second)}
    if first.trades is None:
        return _graded(ground, known, findings, seconds=first.seconds)
    came = replayed(first.trades, spec.shown(ground.shown), spec)
    known |= _economy(spec, came)
    before = [known.get(name, NOT_REACHED).passed for name in ("reasonable", "exposure")]
    if all(before) and any(rung.check == "no_look_ahead" for rung in spec.rung):
        known["no_look_ahead"] = _ahead(parent, source, ground, first.trades, findings, reveal)
    return _graded(ground, known, findings, came, first.seconds)


def _twice(parent: WarmParent, source: bytes, ground: Ground, reveal: bool) -> tuple[Ran, Ran]:
    """Two runs side by side: equal ones, or the solution is not deterministic."""
    frames = ground.spec.shown(ground.shown)
    with ThreadPoolExecutor(2) as threads:
        runs = [threads.submit(run, parent, source, frames, ground.spec, reveal=reveal) for _ in range(2)]
        return runs[0].result(), runs[1].result()


def _refused(spec: TaskSpec, source: bytes, refusal: AgentFault) -> dict[str, Verdict]:
    """Of a text that is not run: not Python, nothing to call, or something it may not do."""
    parses = refusal.kind not in ("SyntaxError", "NotUtf8", "TooLong")
    defined = parses and takes(source, len(spec.arguments))
    known = {"parses": Verdict(parses, "" if parses else told(refusal))}
    if parses:
        lacks = told(refusal) if refusal.kind in _NOT_DEFINED else f"it defines no {spec.signature}"
        known["defines"] = Verdict(defined, "" if defined else lacks)
    if defined:
        known |= {name: Verdict(False, told(refusal)) for name in ("runs", "runs_with_columns")}
    return known | {"runs_at_all": Verdict(False, told(refusal))}


def _format(spec: TaskSpec, first: Ran, second: Ran) -> dict[str, Verdict]:
    """Whether it ran, what came back, and whether that can be replayed."""
    ran = Verdict(True)
    fault = first.fault or second.fault
    if fault is not None:
        failed = Verdict(False, told(fault))
        if isinstance(fault, OutputError):
            return {"runs": ran, "runs_at_all": ran, "columns": failed, "runs_with_columns": failed}
        return {"runs": failed, "runs_at_all": failed, "runs_with_columns": failed}
    columns = Verdict(first.has_columns, "" if first.has_columns else first.problem)
    found = {"runs": ran, "runs_at_all": ran, "columns": columns, "runs_with_columns": columns}
    if not first.has_columns:
        return found
    problem = first.problem
    if not problem and (second.trades is None or first.trades is None or not same(first.trades, second.trades)):
        problem = "two runs on the same data gave different trades"
    if problem:
        return found | {name: Verdict(False, problem) for name in ("trades", "both_legs", "reasonable")}
    assert first.trades is not None
    moved = (first.trades.positions != 0.0).any(axis=0)
    flat = "every position is 0"
    some = [name for name, moves in zip(spec.columns[1:], moved, strict=True) if not moves]
    return found | {
        "trades": Verdict(bool(moved.any()), "" if moved.any() else flat),
        "both_legs": Verdict(not some, f"{' and '.join(some)} never moves" if some else ""),
        "reasonable": Verdict(True),
    }


def _economy(spec: TaskSpec, came: Replay) -> dict[str, Verdict]:
    """Conditions on what the trades came to."""
    broken = (
        f"{came.violations:,} bars with a net share of gross above {EXPOSURE_LIMIT:.2f} + {EXPOSURE_SLACK:.2f}, "
        f"at worst {came.worst_exposure:.3f}"
        if came.violations
        else ""
    )
    wanted = spec.training_sharpe or 0.0
    short = "" if came.sharpe >= wanted else f"the Sharpe ratio is {came.sharpe:.4f}"
    return {
        "entries": Verdict(came.entries > 0, "" if came.entries else "no bar takes both legs from flat to a position"),
        "exposure": Verdict(not came.violations, broken),
        "training_sharpe": Verdict(came.sharpe >= wanted, short),
    }


def _ahead(
    parent: WarmParent, source: bytes, ground: Ground, whole: Trades, findings: tuple[Finding, ...], reveal: bool
) -> Verdict:
    if findings:
        return Verdict(False, "; ".join(one.words for one in findings))
    key = _cuts_key(ground, source)
    gives_away = look_ahead(parent, source, ground.spec, ground.shown, whole, key, reveal=reveal)
    return Verdict(not gives_away, gives_away)


def _cuts_key(ground: Ground, source: bytes) -> bytes:
    """The same for the same file, so that a grade can be repeated; unknown to whoever lacks the hidden bars, of which
    nothing can be read off it.
    """
    return hashlib.sha256(np.ascontiguousarray(ground.hidden.prices).tobytes() + source).digest()


def _graded(
    ground: Ground,
    known: dict[str, Verdict],
    findings: tuple[Finding, ...],
    came: Replay | None = None,
    seconds: float = 0.0,
) -> Grade:
    """The grade by what is known, which may be of more conditions than the task's ladder names, or of fewer."""
    spec, truth = ground.spec, ground.truth
    verdicts = {rung.check: known.get(rung.check, NOT_REACHED) for rung in spec.rung if rung.check}
    figures = None if came is None else metrics(came)
    score, rungs = climb(spec, verdicts, figures, truth.figures if truth else None)
    return Grade(
        task=spec.name,
        score=score,
        final=False,
        rungs=rungs,
        first_to_mend=first_to_mend(spec, rungs),
        truth=truth.origin if truth else None,
        source=ground.source,
        bars=len(ground.shown),
        replay=came,
        findings=findings,
        solution_seconds=seconds,
    )


def _on_hidden(parent: WarmParent, source: bytes, ground: Ground, shown: Grade) -> Grade:
    """The one run on the hidden bars. The gates hold there too: what they find caps the score as on the shown bars."""
    spec, bars = ground.spec, ground.hidden
    by_check = {rung.check: rung.score for rung in spec.rung}
    below = {rung.check: lower.score for lower, rung in zip(spec.rung[:-1], spec.rung[1:], strict=True)}
    ran = run(parent, source, spec.shown(bars), spec, reveal=False)
    if ran.trades is None:
        hidden = Hidden(None, by_check["training_sharpe"], "on the hidden bars it gave no trades that can be replayed")
    else:
        came = replayed(ran.trades, spec.shown(bars), spec)
        if came.violations:
            hidden = Hidden(came.sharpe, below["exposure"], "on the hidden bars it breaks the exposure limit")
        elif look_ahead(parent, source, spec, bars, ran.trades, _cuts_key(ground, source), reveal=False):
            hidden = Hidden(came.sharpe, below["no_look_ahead"], "on the hidden bars it looks ahead")
        else:
            hidden = Hidden(came.sharpe, out_of_sample_score(spec, came.sharpe))
    top = spec.out_of_sample[-1]
    mend = "" if hidden.score >= top[1] else hidden.detail or "a higher Sharpe ratio on the hidden bars"
    return replace(shown, score=hidden.score, final=True, hidden=hidden, first_to_mend=mend)
