"""An episode: twenty steps on one task, backtests on the bars that are shown, the hidden bars once and last.

An observation is made here and nowhere else. It is built from named parts, never from a whole grade, so that nothing of
the hidden bars, of the truth's figures or of the reference solution can slip into it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Literal, get_args

from autoquant.errors import UserError
from autoquant.sandbox import WarmParent
from autoquant.tasks.explore import WHAT, explore
from autoquant.tasks.grade import Grade
from autoquant.tasks.grader import Ground, grade
from autoquant.tasks.scan import scan
from autoquant.tasks.solution import LIMITS, read_source, told
from autoquant.tasks.spec import STEPS, TaskSpec

Kind = Literal["explore_data", "submit_code", "run_backtest", "submit_final"]
ACTIONS: tuple[str, ...] = get_args(Kind)
MAXIMUM_CODE = LIMITS.strategy_bytes


@dataclass(frozen=True)
class Action:
    """What an agent asks for. `code` goes with submit_code alone, `what` with explore_data alone."""

    kind: str
    code: str | None = None
    what: str = "summary"
    first: int = 0
    count: int = 20


@dataclass(frozen=True)
class Step:
    """One rung as an agent sees it: no target."""

    score: float
    words: str
    passed: bool | None
    detail: str = ""


@dataclass(frozen=True)
class Observation:
    """What an agent gets."""

    task: str
    step: int
    """Steps used so far."""
    steps_left: int
    done: bool
    message: str
    brief: str = ""
    """With the reset alone."""
    table: str = ""
    """Of explore_data."""
    score: float | None = None
    """Of this backtest or of the final submission."""
    best: float | None = None
    """Best backtest so far; after the final submission its score alone counts."""
    final_score: float | None = None
    ladder: tuple[Step, ...] = ()
    figures: dict[str, float] = field(default_factory=dict)
    """Of the solution's own trades on the shown bars."""
    findings: tuple[str, ...] = ()
    """What looks ahead in the text."""


class QuantResearchEnv:
    """One episode at a time; `reset` begins another. Calls may come from several threads; they are served in turn.

    Parameters
    ----------
    ground : gives what a task is graded on.
    parent : gives a clean process for the time of one grading; waiting for a free one is its business.
    steps : of an episode.
    """

    def __init__(
        self,
        ground: Callable[[str], Ground],
        parent: Callable[[], AbstractContextManager[WarmParent]],
        *,
        steps: int = STEPS,
    ) -> None:
        self._ground_of = ground
        self._parent = parent
        self._steps = steps
        self._lock = threading.Lock()
        self._ground: Ground | None = None
        self._step = 0
        self._code: bytes | None = None
        self._best: float | None = None
        self._final: Grade | None = None

    def reset(self, task: str) -> Observation:
        """Begin an episode.

        Raises
        ------
        UserError : there is no such task.
        """
        with self._lock:
            self._ground = self._ground_of(task)
            self._step, self._code, self._best, self._final = 0, None, None, None
            spec = self._ground.spec
            return self._observed(f"{spec.title}. {self._steps} steps.", brief=_brief(spec))

    def step(self, action: Action) -> Observation:
        """Take one step. An action that makes no sense is told so and costs nothing.

        Raises
        ------
        UserError : no episode was begun, or it is over.
        InfrastructureFault : the machine's doing; the step was not used.
        """
        with self._lock:
            if self._ground is None:
                raise UserError("no episode has begun", "reset with a task first")
            if self.done:
                raise UserError("the episode is over", "reset begins another")
            problem = _problem(action, self._code)
            if problem:
                return self._observed(problem)
            match action.kind:
                case "explore_data":
                    return self._explore(action)
                case "submit_code":
                    return self._take((action.code or "").encode())
                case "run_backtest":
                    return self._backtest()
                case _:
                    return self._submit()

    @property
    def done(self) -> bool:
        """Whether the episode is over."""
        return self._final is not None or self._step >= self._steps

    @property
    def score(self) -> float | None:
        """The final submission's score; without one that of the best backtest."""
        return self._final.score if self._final else self._best

    @property
    def best(self) -> float | None:
        """Score of the best backtest."""
        return self._best

    @property
    def final(self) -> Grade | None:
        """The whole final grade, for whoever keeps the record; never for an agent."""
        return self._final

    @property
    def steps(self) -> int:
        """Steps of an episode."""
        return self._steps

    @property
    def steps_used(self) -> int:
        """Steps used so far."""
        return self._step

    def _explore(self, action: Action) -> Observation:
        assert self._ground is not None
        table = explore(self._ground.shown, action.what, action.first, action.count)
        self._step += 1
        return self._observed(f"{action.what} of the shown bars", table=table)

    def _take(self, code: bytes) -> Observation:
        assert self._ground is not None
        refusal = read_source(code, self._ground.spec)
        findings = tuple(one.words for one in scan(code))
        self._code = code
        self._step += 1
        if refusal is not None:
            message = f"taken, but it will not run: {told(refusal)}"
        else:
            message = "taken" + ("; the text looks ahead" if findings else "")
        return self._observed(message, findings=findings)

    def _backtest(self) -> Observation:
        found = self._grade(final=False)
        self._step += 1
        self._best = found.score if self._best is None else max(self._best, found.score)
        return self._graded(found)

    def _submit(self) -> Observation:
        found = self._grade(final=True)
        self._step += 1
        self._final = found
        return self._graded(found)

    def _grade(self, *, final: bool) -> Grade:
        assert self._ground is not None
        assert self._code is not None
        with self._parent() as parent:
            return grade(parent, self._code, self._ground, final=final)

    def _graded(self, found: Grade) -> Observation:
        left = self._steps - self._step
        return observed(found, step=self._step, steps_left=left, done=self.done, best=self._best)

    def _observed(
        self, message: str, *, brief: str = "", table: str = "", findings: tuple[str, ...] = ()
    ) -> Observation:
        assert self._ground is not None
        return Observation(
            task=self._ground.spec.name,
            step=self._step,
            steps_left=self._steps - self._step,
            done=self.done,
            message=message,
            brief=brief,
            table=table,
            best=self._best,
            findings=findings,
        )


def observed(found: Grade, *, step: int, steps_left: int, done: bool, best: float | None) -> Observation:
    """What an agent gets of a grade; `best` is the best backtest so far, this one included."""
    return Observation(
        task=found.task,
        step=step,
        steps_left=steps_left,
        done=done,
        message="final submission" if found.final else "backtest on the shown bars",
        score=found.score,
        best=best,
        final_score=found.score if found.final else None,
        ladder=_ladder_of(found),
        figures=_figures_of(found),
        findings=tuple(one.words for one in found.findings),
    )


def _ladder_of(found: Grade) -> tuple[Step, ...]:
    """The rungs without targets: where figures were compared, whether they are near enough is all that is told."""
    return tuple(
        Step(rung.score, rung.words, rung.passed, "" if rung.comparisons else rung.detail) for rung in found.rungs
    )


def _figures_of(found: Grade) -> dict[str, float]:
    """What the solution's own trades came to on the shown bars."""
    came = found.replay
    if came is None:
        return {}
    digits = {"trades": 0, "entries": 0, "pnl": 2, "max_drawdown": 2, "sharpe": 4, "costs": 2, "worst_exposure": 4}
    return {name: round(float(getattr(came, name)), places) for name, places in digits.items()}


def _problem(action: Action, code: bytes | None) -> str:
    """Why an action makes no sense, whatever came in its fields; empty when it does."""
    match action.kind:
        case "explore_data":
            return _exploring_problem(action)
        case "submit_code":
            return _code_problem(action.code)
        case "run_backtest" | "submit_final":
            return "" if code is not None else f"{action.kind} needs code: submit_code first"
    return f"there is no action {str(action.kind)[:40]!r}: {', '.join(ACTIONS)}"


def _exploring_problem(action: Action) -> str:
    if action.what not in WHAT:
        return f"explore one of: {', '.join(WHAT)}"
    whole = isinstance(action.first, int) and isinstance(action.count, int)
    return "" if whole else "first and count are whole numbers"


def _code_problem(code: str | None) -> str:
    if not isinstance(code, str) or not code.strip():
        return "submit_code goes with code"
    try:
        size = len(code.encode())
    except UnicodeEncodeError:
        return "the code holds characters that no file can"
    return f"the code has {size:,} bytes, at most {MAXIMUM_CODE:,}" if size > MAXIMUM_CODE else ""


def _brief(spec: TaskSpec) -> str:
    ladder = "\n".join(f"{rung.score:.2f}  {rung.words}" for rung in spec.rung)
    return (
        f"{spec.brief.strip()}\n\nDefine {spec.signature} and return the columns {', '.join(spec.columns)}.\n\n{ladder}"
    )
