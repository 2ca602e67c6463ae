"""Carrying out one probe: the calls it takes, and what they say against the scored run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from autoquant.clock import ms_iso
from autoquant.errors import AgentFault, LimitError
from autoquant.oracle.compare import difference, speaks
from autoquant.oracle.cuts import Differential, Perturbation, Probe, Repetition, Truncation
from autoquant.oracle.folds import Window
from autoquant.oracle.runs import Run, StrategyRuns
from autoquant.protocol import Causality


@dataclass
class Tally:
    """What a probe spent, and what it found: `kind` is empty when nothing."""

    kind: str = ""
    detail: str = ""
    calls: int = 0
    cpu_seconds: float = 0.0
    window_bars: tuple[int, ...] = ()
    """Length of each differential window that spoke."""
    grown: int = 0
    """How often a window had to grow."""

    def spent(self, run: Run) -> Run:
        """Count a call."""
        self.calls += 1
        self.cpu_seconds += run.cpu_seconds
        return run


class Prober:
    """Runs probes of one strategy."""

    def __init__(self, runs: StrategyRuns, rules: Causality) -> None:
        self.runs = runs
        self._rules = rules

    def run(self, probe: Probe, base: Sequence[Run], windows: Sequence[Window]) -> Tally:
        """Carry out one probe against the scored run of its fold.

        Raises
        ------
        LimitError : a call hit its limit; says nothing about causality. InfrastructureFault : cut from outside.
        """
        window, reference = windows[probe.fold], base[probe.fold]
        tally = Tally()
        match probe:
            case Repetition():
                whole = lambda: self.runs.cut(window, reference.first_row, reference.stop_row)  # noqa: E731
                what = f"fold {window.number}, the same run again"
                self._against(tally, reference, reference.stop_row - 1, "determinism", what, whole)
            case Truncation(cut=cut):
                self._truncation(tally, reference, window, cut)
            case Perturbation(cut=cut, draws=draws):
                what = f"fold {window.number}, another future after {self.at(cut)}"
                self._against(tally, reference, cut, "perturbation", what, lambda: self.runs.future(window, cut, draws))
            case Differential():
                self._differential(tally, reference, window, probe)
        return tally

    def compare(self, tally: Tally, reference: Run, run: Run, cut: int, kind: str, what: str) -> bool:
        """Whether the two runs agree up to `cut`; the tally keeps what does not."""
        found = difference(reference, run, cut, self._rules.tolerance)
        if found:
            tally.kind, tally.detail = kind, f"{what}: {found.say(self.runs.panel)}"
        return found is None

    def at(self, row: int) -> str:
        """Open time of a panel row."""
        return ms_iso(int(self.runs.panel.times[row]))

    def _truncation(self, tally: Tally, reference: Run, window: Window, cut: int) -> bool:
        what = f"fold {window.number}, history cut after {self.at(cut)}"
        return self._against(
            tally, reference, cut, "truncation", what, lambda: self.runs.cut(window, reference.first_row, cut + 1)
        )

    def _against(self, tally: Tally, reference: Run, cut: int, kind: str, what: str, call: Callable[[], Run]) -> bool:
        """Compare one more run with the scored one; a strategy that fails only here behaves by what comes behind."""
        try:
            run = tally.spent(call())
        except LimitError:
            raise
        except AgentFault as fault:
            tally.calls += 1
            tally.kind, tally.detail = kind, f"{what}: the run failed ({fault.kind})"
            return False
        return self.compare(tally, reference, run, cut, kind, what)

    def _differential(self, tally: Tally, reference: Run, window: Window, probe: Differential) -> None:
        """W: every cut's run against the longer one; a cut that said nothing goes on alone with more history."""
        span = self.runs.span(window)
        start = span.train_end - probe.history
        silent = list(probe.cuts)
        if start > span.first:
            silent = []
            longer: Run | None = None
            for cut in probe.cuts:
                short = self._window(tally, window, start, cut + 1)
                if short is not None and speaks(short):
                    longer = longer or self._window(tally, window, start, probe.end)
                if short is None or longer is None or not speaks(short):
                    silent.append(cut)
                elif not self._window_holds(tally, window, short, longer, cut):
                    return
        for cut in silent:
            if not self._grown_window_holds(tally, reference, window, probe, cut):
                return

    def _grown_window_holds(self, tally: Tally, reference: Run, window: Window, probe: Differential, cut: int) -> bool:
        """Double the history until the window says something; at the panel's start it is a T against the scored run."""
        span, history = self.runs.span(window), 2 * probe.history
        while (start := span.train_end - history) > span.first:
            tally.grown += 1
            history *= 2
            short = self._window(tally, window, start, cut + 1)
            if short is None or not speaks(short):
                continue
            if (longer := self._window(tally, window, start, probe.end)) is not None:
                return self._window_holds(tally, window, short, longer, cut)
        tally.grown += 1
        tally.window_bars += (cut + 1 - span.first,)
        return self._truncation(tally, reference, window, cut)

    def _window(self, tally: Tally, window: Window, start: int, stop: int) -> Run | None:
        """A window's run; None where the strategy fails on it, which asks for more history."""
        try:
            return tally.spent(self.runs.cut(window, start, stop))
        except LimitError:
            raise
        except AgentFault:
            tally.calls += 1
            return None

    def _window_holds(self, tally: Tally, window: Window, short: Run, longer: Run, cut: int) -> bool:
        tally.window_bars += (cut + 1 - short.first_row,)
        what = f"fold {window.number}, window from {self.at(short.first_row)}, cut after {self.at(cut)}"
        return self.compare(tally, short, longer, cut, "window", what)
