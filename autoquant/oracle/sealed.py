"""The sealed year: one path, decided one day at a time on history that ends with that day, then scored like a fold."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from autoquant.clock import Clock, SystemClock
from autoquant.errors import AgentFault
from autoquant.executor import Executor, LocalPool, default_jobs
from autoquant.files import sha256_bytes
from autoquant.market import Panel
from autoquant.oracle import causality
from autoquant.oracle.assemble import evaluate_folds
from autoquant.oracle.draws import cut_key
from autoquant.oracle.folds import lockbox_window
from autoquant.oracle.judge import NO_SECRET, PASSED_SO_FAR, Pins, blame
from autoquant.oracle.mask import Mask
from autoquant.oracle.records import Evaluation, Fault, GateResult, Judgement, Outcome, Timings
from autoquant.oracle.result import FoldResult
from autoquant.oracle.runs import Run, StrategyRuns
from autoquant.oracle.simulation import decision_rows, simulate_folds
from autoquant.protocol import PROTOCOL, Protocol
from autoquant.sandbox import WarmParent, check_source
from autoquant.sealing import Seal

SPLIT = "lockbox"

Item = TypeVar("Item")
Result = TypeVar("Result")


def judge_lockbox(
    source: bytes,
    panel: Panel,
    *,
    pins: Pins,
    secret: bytes = NO_SECRET,
    attempt: int = 0,
    jobs: int | None = None,
    protocol: Protocol = PROTOCOL,
    clock: Clock | None = None,
    on_call: Callable[[int, int], None] | None = None,
    seal: Seal | None = None,
) -> Judgement:
    """Judge one strategy on the sealed path, at lockbox depth.

    Parameters
    ----------
    panel : TRAIN, VALID and the sealed year in one.
    attempt : the attempt whose text this is; masks and cuts follow from it.
    on_call : called with (days decided, days) while the path is made.
    seal : what strategy code runs in; None is the evident level.

    Raises
    ------
    InfrastructureFault : the machine failed; the same call gives the answer later.
    """
    watch = clock or SystemClock()
    begun = watch.monotonic()
    digests = pins.of(source)
    try:
        facts = check_source(source, protocol.limits)
        with (
            LocalPool("threads", jobs or default_jobs()) as workers,
            WarmParent(protocol.limits, facts.preload, seal=seal) as parent,
        ):
            window = lockbox_window(protocol)
            mask = Mask.draw(secret, attempt, panel.assets, (window,))
            executor: Executor = workers if on_call is None else _Reporting(workers, on_call)
            runs = StrategyRuns(source, panel, mask, parent, executor)

            def result_of(run: Run) -> FoldResult:
                return simulate_folds(panel, [run.on_panel(len(panel))], [window], costs=protocol.costs)[0][0]

            key = cut_key(secret, attempt, sha256_bytes(source))
            report, path = causality.lockbox(runs, window, result_of, key, rules=protocol.causality)
    except AgentFault as fault:
        return Judgement(blame(fault, digests, SPLIT, reveal=False), Timings(total=watch.monotonic() - begun))
    checked = watch.monotonic()
    gates = (*PASSED_SO_FAR, GateResult("causality", passed=report.passed))
    if not report.passed:
        evaluation = Evaluation(Outcome.GATE, digests, gates=gates, fault=Fault("CausalityError"), split=SPLIT)
    else:
        accounts = evaluate_folds(panel, (window,), (path,), protocol)
        decided = [decision_rows(panel, window, path.on_panel(len(panel)))]
        evaluation = accounts.evaluation(digests, gates, decided, SPLIT)
    ended = watch.monotonic()
    spent = Timings(causality=checked - begun, accounting=ended - checked, total=ended - begun)
    return Judgement(evaluation, spent, report.detail)


class _Reporting:
    """An executor that tells how far its longest fan-out has come."""

    def __init__(self, inner: Executor, on_call: Callable[[int, int], None]) -> None:
        self._inner = inner
        self._on_call = on_call

    def map(
        self,
        function: Callable[[Item], Result],
        items: Iterable[Item],
        *,
        on_result: Callable[[int, int], None] | None = None,
    ) -> list[Result]:
        """As the executor behind it."""
        return self._inner.map(function, items, on_result=on_result or self._on_call)
