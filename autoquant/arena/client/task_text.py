"""A reply of the graded track as an agent reads it: the rung, why it stops there, its own figures, what is left."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from autoquant import amounts
from autoquant.arena.referee.mailbox import Reply, ReplyKind

FIGURES = ("trades", "entries", "pnl", "max_drawdown", "sharpe", "costs", "worst_exposure")
"""In the order in which they are read."""


def task_text(reply: Reply) -> str:
    """Several lines for a graded solution, one or two for any other answer."""
    lines = [] if reply.kind is ReplyKind.VERDICT and reply.score is not None else [f"{reply.message}."]
    seen = reply.score
    if seen is not None:
        lines += _graded(reply, seen)
    if seen is not None or reply.kind is not ReplyKind.REFUSED:
        lines.append(f"next      {_next(reply, seen)}")
    return "\n".join(lines)


def _graded(reply: Reply, seen: Mapping[str, Any]) -> list[str]:
    score = "no score" if seen["score"] is None else f"score {seen['score']:.2f}"
    best = "" if seen["best"] is None or seen["final_score"] is not None else f", best backtest {seen['best']:.2f}"
    lines = [f"step {seen['step']} of {reply.budget}   {seen['message']}: {score}{best}"]
    for rung in seen["ladder"]:
        mark = {True: "yes", False: "NO ", None: "-  "}[rung["passed"]]
        detail = f" ({rung['detail']})" if rung["detail"] and rung["passed"] is False else ""
        lines.append(f"  {rung['score']:.2f}  {mark}  {rung['words']}{detail}")
    if seen["figures"]:
        named = ((name, seen["figures"][name]) for name in FIGURES if name in seen["figures"])
        told = (f"{name.replace('_', ' ')} {value:,.10g}" for name, value in named)
        lines.append("figures   " + " · ".join(told))
    return lines + [f"look-ahead {finding}" for finding in seen["findings"]]


def _next(reply: Reply, seen: Mapping[str, Any] | None) -> str:
    if reply.kind is ReplyKind.BUDGET or (seen is not None and seen["final_score"] is not None):
        return "The task is over: you are done."
    left = (reply.budget or 0) - reply.attempts
    if left <= 0:
        return "No steps left: you are done. The best backtest counts."
    time = "" if reply.seconds_left is None else f" This session may last {amounts.duration(reply.seconds_left)} more."
    if left == 1:
        return f"1 step left: run.py --final, or a last backtest.{time}"
    return f"{left} steps left, run.py --final among them.{time}"
