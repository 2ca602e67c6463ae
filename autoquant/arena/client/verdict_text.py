"""A reply as an agent reads it: verdict, Δ per fold, gate headroom, what comes next. Pure text, no colour."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from autoquant import amounts
from autoquant.arena.referee.mailbox import Reply, ReplyKind

_WIDTH = 40
_UNITS = {"drawdown": "%", "turnover": "", "exposure": "%", "leverage": ""}


def verdict_text(reply: Reply) -> str:
    """Several lines for a judged strategy, one for any other answer."""
    score = reply.score
    lines = [] if reply.kind is ReplyKind.VERDICT and score is not None else [reply.message + "."]
    if score is not None:
        lines += [_head(reply, score), *_folds(score), _gates(score)]
        if reply.kind is ReplyKind.VERDICT:
            lines.append(f"decision  {reply.message}.")
    if reply.kind is not ReplyKind.REFUSED:
        lines.append(f"next      {_next(reply)}")
    return "\n".join(lines)


def _head(reply: Reply, score: Mapping[str, Any]) -> str:
    of = "" if reply.budget is None else f" of {reply.budget}"
    title = f"attempt {score['attempt']}{of}"
    now = score["score"]
    parent = _parent(score)
    if now is None:
        fault = score["fault"]
        line = "" if not fault or fault["line"] is None else f" at line {fault['line']} of strategy.py"
        text = "" if not fault or not fault["message"] else f": {fault['message']}"
        result = f"no score: {score['status']}" + ("" if not fault else f" ({fault['kind']}{line}{text})")
    elif parent is None:
        result = f"score {_number(now)}"
    else:
        result = f"score {_number(now - parent['delta'])} → {_number(now)}   Δ {_signed(parent['delta'], 4)}"
    return f"{title:<{_WIDTH}} {result}"


def _folds(score: Mapping[str, Any]) -> list[str]:
    folds: Sequence[Mapping[str, Any]] = score["folds"]
    if not folds:
        return []
    sharpes = " ".join(_signed(fold["sharpe"], 2) for fold in folds)
    parent = _parent(score)
    if parent is None:
        return [f"sharpe    {sharpes}"]
    deltas = " ".join(_signed(delta, 2) for delta in parent["folds"])
    return [f"sharpe    {sharpes}", f"Δ folds   {deltas}   better in {parent['folds_better']} of {len(folds)}"]


def _gates(score: Mapping[str, Any]) -> str:
    gates: Sequence[Mapping[str, Any]] = score["gates"]
    failed = [gate for gate in gates if not gate["passed"]]
    parts = ["all pass" if gates and not failed else "no gate reached" if not gates else ""]
    parts += [f"{gate['name']} FAILS{_place(gate)}{_measure(gate)}{_detail(gate)}" for gate in failed]
    parts += [
        f"{gate['name']}{_measure(gate)}"
        for gate in gates
        if gate["passed"] and gate["name"] in ("turnover", "drawdown") and gate["value"] is not None
    ]
    doubled = score["shadows"]["double_cost"]
    if doubled is not None:
        parts.append(f"2× cost {_number(doubled)}")
    return "gates     " + " · ".join(part for part in parts if part)


def _next(reply: Reply) -> str:
    words = []
    if reply.budget is not None:
        left = max(0, reply.budget - reply.attempts)
        words.append("No attempts left: you are done." if not left else f"{left} attempts left.")
        if left and reply.seconds_left is not None:
            words.append(f"This session may last {amounts.duration(reply.seconds_left)} more.")
    feedback = None if reply.score is None else reply.score["feedback"]
    if feedback:
        miss, fold = feedback["nearest_miss"], feedback["nearest_fold"]
        if miss:
            lacking = "" if miss["lacking"] is None else f" (lacks {miss['lacking']:.4g})"
            words.append(f"Nearest miss: {miss['rule']}{lacking}.")
        if fold:
            words.append(f"Weakest improvement to win: fold {fold}.")
    tips = [f"{name} {_attempt(number)}" for name, number in reply.archive.items() if number is not None]
    if tips:
        words.append(f"Archive: {', '.join(tips)} (run.py --from {tips[0].split()[0]}).")
    return " ".join(words)


def _parent(score: Mapping[str, Any]) -> Mapping[str, Any] | None:
    feedback = score["feedback"]
    return feedback["parent"] if feedback else None


def _measure(gate: Mapping[str, Any]) -> str:
    value, limit = gate["value"], gate["limit"]
    if value is None or limit is None:
        return ""
    if _UNITS.get(gate["name"]) == "%":
        return f" {100 * value:.1f} % of {100 * limit:.0f} %"
    return f" {value:.4g} of {limit:.4g}"


def _place(gate: Mapping[str, Any]) -> str:
    return "" if gate["fold"] is None else f" in fold {gate['fold']}"


def _detail(gate: Mapping[str, Any]) -> str:
    return f" ({gate['detail']})" if gate["detail"] else ""


def _attempt(number: int) -> str:
    return f"#{number}" if number else "the seed"


def _number(value: float) -> str:
    return f"{value:.4f}".replace("-", "−")


def _signed(value: float, digits: int) -> str:
    return f"{round(value, digits) + 0.0:+.{digits}f}".replace("-", "−")
