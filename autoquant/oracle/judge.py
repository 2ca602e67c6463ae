"""The oracle as one door: strategy bytes in, a judgement out.

A judge belongs to one panel, one set of folds and one secret. It owns the warm parents and the workers that strategy
calls run on; everything else it does is pure. It may be asked from several threads at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import numpy as np
from numpy.typing import NDArray

from autoquant.clock import Clock, SystemClock
from autoquant.errors import AgentFault, ImportGateError, LimitError, OutputError
from autoquant.executor import LocalPool, default_jobs
from autoquant.files import sha256_bytes
from autoquant.market import Panel
from autoquant.oracle import causality
from autoquant.oracle.assemble import Accounts, evaluate_folds, failed
from autoquant.oracle.draws import cut_key
from autoquant.oracle.folds import Window
from autoquant.oracle.gates import economic_gates
from autoquant.oracle.mask import Mask
from autoquant.oracle.records import (
    Confirmation,
    Digests,
    Evaluation,
    Fault,
    GateResult,
    Judgement,
    Outcome,
    ShiftedScore,
    Timings,
)
from autoquant.oracle.runs import Run, StrategyRuns
from autoquant.oracle.simulation import decision_rows
from autoquant.oracle.stress import stress
from autoquant.protocol import PROTOCOL, Protocol
from autoquant.sandbox import ParentPool, WarmParent, check_source
from autoquant.sealing import Seal

NO_SECRET = bytes(32)
"""Outside a race: masks and cuts that anybody can repeat."""

PASSED_SO_FAR = (GateResult("import", passed=True), GateResult("output", passed=True))


@dataclass(frozen=True)
class Pins:
    """What every number of a judge depends on beside the strategy, as sha256."""

    protocol: str
    code: str
    data: str

    def of(self, source: bytes) -> Digests:
        """The digests of one evaluation."""
        return Digests(self.protocol, self.code, self.data, sha256_bytes(source))


class Judge:
    """Evaluates strategies at the depths of the contest.

    Parameters
    ----------
    panel : the folds and all history before them.
    windows : the scored folds.
    pins : digests that go into each evaluation.
    secret : seeds masks and cuts; `NO_SECRET` outside a race.
    jobs : strategy calls at a time; None takes all cores.
    reveal : whether faults carry the exception's text (never in a race).
    split : name of the split, for the record.
    seal : what strategy code runs in, as `autoquant.sandbox.strategy_seal` found it; None is the evident level.
    """

    def __init__(
        self,
        panel: Panel,
        windows: Sequence[Window],
        *,
        pins: Pins,
        secret: bytes = NO_SECRET,
        jobs: int | None = None,
        reveal: bool = False,
        split: str = "valid",
        protocol: Protocol = PROTOCOL,
        clock: Clock | None = None,
        seal: Seal | None = None,
    ) -> None:
        self.panel = panel
        self.windows = tuple(windows)
        self.pins = pins
        self._secret = secret
        self._reveal = reveal
        self._split = split
        self._protocol = protocol
        self._clock = clock or SystemClock()
        self._workers = LocalPool("threads", jobs or default_jobs())
        self._parents = ParentPool(limits=protocol.limits, seal=seal)

    def close(self) -> None:
        """End workers and warm parents."""
        self._parents.close()
        self._workers.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def screen(self, source: bytes, attempt: int) -> Judgement:
        """Evaluate at screen depth: import, output, causality, fills and costs, gates, score, shadows.

        Raises
        ------
        InfrastructureFault : the machine failed; nothing is known about the strategy.
        """
        begun = self._clock.monotonic()
        digests = self.pins.of(source)
        try:
            with self._parent(source) as parent:
                return self._screen(source, attempt, digests, parent, begun)
        except AgentFault as fault:
            spent = self._clock.monotonic() - begun
            return Judgement(
                blame(fault, digests, self._split, reveal=self._reveal), Timings(strategy=spent, total=spent)
            )

    def confirm(self, source: bytes, attempt: int, judgement: Judgement) -> Confirmation:
        """The deep check before anything is accepted: many cuts, replaced futures, a second mask.

        Raises
        ------
        InfrastructureFault : the machine failed; nothing is known about the strategy.
        """
        begun = self._clock.monotonic()
        with self._parent(source) as parent:
            runs = self._runs(source, attempt, parent)
            try:
                base = self._base(runs)
                results = self._accounts(self.windows, base).plain
                key = self._key(source, attempt)
                report = causality.confirm(runs, base, results, self.windows, key, rules=self._protocol.causality)
            except AgentFault as fault:
                failure = blame(fault, self.pins.of(source), self._split, reveal=self._reveal)
                detail = f"{fault.message} during the check"
                return Confirmation(False, None, None, detail, self._clock.monotonic() - begun, failure=failure)
            if not report.passed:
                return Confirmation(False, None, None, report.detail, self._clock.monotonic() - begun)
            second = self._second_opinion(source, attempt, parent)
            beside = stress(
                [result.daily_returns.tolist() for result in results],
                [ShiftedScore(days, self._score_shifted(runs, days)) for days in self._protocol.shift_days],
            )
        seconds = self._clock.monotonic() - begun
        return Confirmation(True, second, _gap(judgement.evaluation, second), report.detail, seconds, beside)

    def weights(self, source: bytes, attempt: int = 0) -> list[Run]:
        """The scored runs alone, one per fold: what calibration jitters.

        Raises
        ------
        AgentFault : the strategy gave no usable answer.
        """
        with self._parent(source) as parent:
            return self._base(self._runs(source, attempt, parent))

    def _screen(self, source: bytes, attempt: int, digests: Digests, parent: WarmParent, begun: float) -> Judgement:
        runs = self._runs(source, attempt, parent)
        base = self._base(runs)
        called = self._clock.monotonic()
        decided = self._decided(base)
        leverage = economic_gates((), decided, self._protocol.gates)[0]
        if not leverage.passed:
            spent = Timings(strategy=called - begun, total=self._clock.monotonic() - begun)
            seen = (*PASSED_SO_FAR, leverage)
            return Judgement(Evaluation(Outcome.GATE, digests, gates=seen, split=self._split), spent)
        accounts = self._accounts(self.windows, base)
        accounted = self._clock.monotonic()
        key = self._key(source, attempt)
        report = causality.screen(runs, base, accounts.plain, self.windows, key, rules=self._protocol.causality)
        ended = self._clock.monotonic()
        spent = Timings(called - begun, ended - accounted, accounted - called, ended - begun)
        if report.kind == "determinism" and not report.passed:
            fault = Fault("NotDeterministic", None, report.detail if self._reveal else None)
            unequal = GateResult("output", passed=False, detail="two equal calls, two answers")
            evaluation = Evaluation(
                Outcome.INVALID, digests, gates=(PASSED_SO_FAR[0], unequal), fault=fault, split=self._split
            )
            return Judgement(evaluation, spent, report.detail)
        gates = (*PASSED_SO_FAR, GateResult("causality", passed=report.passed))
        if not report.passed:
            text = report.detail if self._reveal else None
            fault = Fault("CausalityError", None, text)
            evaluation = Evaluation(Outcome.GATE, digests, gates=gates, fault=fault, split=self._split)
            return Judgement(evaluation, spent, report.detail)
        return Judgement(accounts.evaluation(digests, gates, decided, self._split), spent, report.detail)

    def _second_opinion(self, source: bytes, attempt: int, parent: WarmParent) -> Evaluation:
        digests = self.pins.of(source)
        try:
            base = self._base(self._runs(source, attempt, parent, which=1))
        except AgentFault as fault:
            return blame(fault, digests, self._split, reveal=self._reveal)
        decided = self._decided(base)
        accounts = self._accounts(self.windows, base)
        gates = (*PASSED_SO_FAR, GateResult("causality", passed=True))
        return accounts.evaluation(digests, gates, decided, self._split)

    def _score_shifted(self, runs: StrategyRuns, days: int) -> float | None:
        """Score with every fold moved by `days`; None where the panel ends or the strategy gives no usable answer."""
        moved = tuple(window.shifted(days) for window in self.windows)
        runs = runs.afresh()  # each shift once: six frames of 9 MB would be kept for every one of them
        if max(window.end_ms for window in moved) > self.panel.end_ms:
            return None
        try:
            base = self._workers.map(runs.fold, moved)
        except AgentFault:
            return None
        return self._accounts(moved, base).score

    def _parent(self, source: bytes) -> AbstractContextManager[WarmParent]:
        return self._parents.take(check_source(source, self._protocol.limits).preload)

    def _runs(self, source: bytes, attempt: int, parent: WarmParent, which: int = 0) -> StrategyRuns:
        mask = Mask.draw(self._secret, attempt, self.panel.assets, self.windows, which)
        return StrategyRuns(source, self.panel, mask, parent, self._workers, self._reveal)

    def _base(self, runs: StrategyRuns) -> list[Run]:
        return self._workers.map(runs.fold, self.windows)

    def _accounts(self, windows: Sequence[Window], runs: Sequence[Run]) -> Accounts:
        """The folds' accounts, on a worker: memory is kept for each thread that sums, and callers may be a thousand."""
        [accounts] = self._workers.map(lambda each: evaluate_folds(self.panel, windows, each, self._protocol), [runs])
        return accounts

    def _decided(self, base: Sequence[Run]) -> list[NDArray[np.float64]]:
        """Decision rows of each fold."""
        rows = len(self.panel)
        pairs = zip(self.windows, base, strict=True)
        return [decision_rows(self.panel, window, run.on_panel(rows)) for window, run in pairs]

    def _key(self, source: bytes, attempt: int) -> bytes:
        return cut_key(self._secret, attempt, sha256_bytes(source))


def blame(fault: AgentFault, digests: Digests, split: str, *, reveal: bool) -> Evaluation:
    """The record of a strategy that broke a rule; with `reveal` it carries what the exception said."""
    text = (fault.text or fault.message) if reveal else None
    gate = {ImportGateError: "import", OutputError: "output"}.get(type(fault))
    return failed(fault_outcome(fault), gate, Fault(fault.kind, fault.line, text), digests, split)


def fault_outcome(fault: AgentFault) -> Outcome:
    """The word for what a strategy did wrong."""
    if isinstance(fault, ImportGateError | OutputError):
        return Outcome.INVALID
    if isinstance(fault, LimitError) and fault.kind == "CpuLimit":
        return Outcome.TIMEOUT
    return Outcome.CRASH


def _gap(first: Evaluation, second: Evaluation) -> float | None:
    pairs = list(zip(first.fold_sharpes, second.fold_sharpes, strict=False))
    return max((abs(a - b) for a, b in pairs), default=None)
