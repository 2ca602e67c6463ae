"""Did a decision use a later bar? Runs are compared: all rows up to the cut, and where the NaN are.

Three depths (`screen`, `confirm`, `lockbox`), all on the same idea: a causal strategy gives the same weights for the
past whatever comes behind it, so a difference above 1e-9 is a leak. The scored runs themselves are the reference.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from autoquant.errors import LimitError
from autoquant.oracle.cuts import Probe, Repetition, Truncation, confirm_probes, profitable, screen_probes
from autoquant.oracle.draws import Draws
from autoquant.oracle.folds import DAY_MS, Window
from autoquant.oracle.merit import merits
from autoquant.oracle.probes import Prober, Tally
from autoquant.oracle.result import FoldResult
from autoquant.oracle.runs import Run, StrategyRuns
from autoquant.protocol import PROTOCOL, Causality
from autoquant.sandbox import CPU_LIMIT

_CHUNK = 24
"""Probes between two looks at what was found: a leak ends the check early, at one place for any number of workers."""


@dataclass(frozen=True)
class CausalityReport:
    """What a depth found. `kind` is empty when it passed.

    `kind`: truncation, window, perturbation or determinism (the last belongs to the output gate). `detail` names cut
    and row: for the arena's file and for use outside a race only.
    """

    passed: bool
    kind: str = ""
    detail: str = ""
    calls: int = 0
    cpu_seconds: float = 0.0
    window_bars: tuple[int, ...] = ()
    """Length of each differential window that spoke."""
    grown: int = 0
    """How often one had to grow."""


def screen(
    runs: StrategyRuns,
    base: Sequence[Run],
    results: Sequence[FoldResult],
    windows: Sequence[Window],
    key: bytes,
    *,
    rules: Causality = PROTOCOL.causality,
) -> CausalityReport:
    """Every attempt's check.

    Parameters
    ----------
    base, results : the scored run of each window and what it came to.
    key : `draws.cut_key` of the attempt.

    Raises
    ------
    LimitError : the depth's CPU budget is spent, or a call hit its own limit. InfrastructureFault : cut from outside.
    """
    spans = [runs.span(window) for window in windows]
    probes = screen_probes(key, spans, merits(runs.panel, spans, base, results), _bars_per_day(runs), rules)
    return _check(runs, base, windows, probes, rules, PROTOCOL.limits.screen_budget_cpu_seconds)


def confirm(
    runs: StrategyRuns,
    base: Sequence[Run],
    results: Sequence[FoldResult],
    windows: Sequence[Window],
    key: bytes,
    *,
    rules: Causality = PROTOCOL.causality,
) -> CausalityReport:
    """The deep check before an acceptance; arguments and errors as in `screen`."""
    spans = [runs.span(window) for window in windows]
    probes = confirm_probes(key, spans, merits(runs.panel, spans, base, results), _bars_per_day(runs), rules)
    return _check(runs, base, windows, probes, rules, PROTOCOL.limits.confirm_budget_cpu_seconds)


def lockbox(
    runs: StrategyRuns,
    window: Window,
    result_of: Callable[[Run], FoldResult],
    key: bytes,
    *,
    rules: Causality = PROTOCOL.causality,
) -> tuple[CausalityReport, Run]:
    """Decide the sealed path one day at a time, and check it.

    Each day's rows come from a run whose history ends with that day; `result_of` scores the joined path, and single
    bars inside days are cut where it earned. The returned run is the path to score: it never had a later day, even if
    the report fails.

    Raises
    ------
    As `screen`; and what the whole run raises.
    """
    span, prober = runs.span(window), Prober(runs, rules)
    whole = runs.fold(window)
    repeated = _check(runs, [whole], [window], [Repetition(0)], rules, np.inf)
    ends = _day_ends(runs, span.start - 1, span.stop - 1)

    def decide(end: int) -> tuple[NDArray[np.float64], NDArray[np.bool_], Tally]:
        tally = Tally()
        run = tally.spent(runs.cut(window, span.first, end + 1))
        prober.compare(tally, whole, run, end, "truncation", f"history ends with {prober.at(end)}")
        day = slice(max(span.start - 1, end + 1 - _bars_per_day(runs)) - span.first, end + 1 - span.first)
        return run.values[day].copy(), run.present[day].copy(), tally

    days = runs.executor.map(decide, ends)
    values, present = whole.values.copy(), whole.present.copy()
    for end, (decided, answered, _) in zip(ends, days, strict=True):
        rows = slice(end + 1 - span.first - len(decided), end + 1 - span.first)
        values[rows], present[rows] = decided, answered
    tallies = [tally for _, _, tally in days]
    path = Run(span.first, values, present, sum(tally.cpu_seconds for tally in tallies), 0.0)
    report = _report([Tally(repeated.kind, repeated.detail, 2, repeated.cpu_seconds), *tallies])
    if not report.passed:
        return report, path
    paid = merits(runs.panel, [span], [path], [result_of(path)])
    cuts = profitable(Draws(key, "lockbox"), [span], paid, rules.lockbox_cuts, skip=frozenset(ends))
    probes: list[Probe] = [Truncation(0, cut) for _, cut in cuts]
    bars = _check(runs, [path], [window], probes, rules, np.inf)
    cpu_seconds = report.cpu_seconds + bars.cpu_seconds
    return CausalityReport(bars.passed, bars.kind, bars.detail, report.calls + bars.calls, cpu_seconds), path


def _check(
    runs: StrategyRuns,
    base: Sequence[Run],
    windows: Sequence[Window],
    probes: Sequence[Probe],
    rules: Causality,
    budget_cpu_seconds: float,
) -> CausalityReport:
    """Run probes until one finds something, in their order."""
    prober = Prober(runs, rules)
    tallies: list[Tally] = []
    for start in range(0, len(probes), _CHUNK):
        chunk = probes[start : start + _CHUNK]
        tallies += runs.executor.map(lambda probe: prober.run(probe, base, windows), chunk)
        if sum(tally.cpu_seconds for tally in tallies) > budget_cpu_seconds:
            raise LimitError(
                f"strategy.py used more than {budget_cpu_seconds:.0f} s of CPU in the causality check",
                "make a call faster: the check runs it many times",
                kind=CPU_LIMIT,
            )
        if any(tally.kind for tally in tallies):
            break
    return _report(tallies)


def _report(tallies: Sequence[Tally]) -> CausalityReport:
    first = next((tally for tally in tallies if tally.kind), None)
    return CausalityReport(
        passed=first is None,
        kind=first.kind if first else "",
        detail=first.detail if first else "",
        calls=sum(tally.calls for tally in tallies),
        cpu_seconds=sum(tally.cpu_seconds for tally in tallies),
        window_bars=tuple(bars for tally in tallies for bars in tally.window_bars),
        grown=sum(tally.grown for tally in tallies),
    )


def _day_ends(runs: StrategyRuns, first: int, last: int) -> list[int]:
    """Rows that end a UTC day, for the days of the decision rows first … last−1."""
    days = runs.panel.times // DAY_MS
    ends = np.flatnonzero(np.append(days[1:] != days[:-1], True))
    return [int(row) for row in ends[(ends >= first) & (days[ends] <= days[last - 1])]]


def _bars_per_day(runs: StrategyRuns) -> int:
    return max(1, DAY_MS // runs.panel.bar_ms)
