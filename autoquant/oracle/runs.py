"""The calls a strategy gets: whole folds, cut histories, replaced futures. Rows are always the panel's own."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from autoquant.errors import OutputError
from autoquant.executor import Executor
from autoquant.market import Panel
from autoquant.oracle.draws import Draws
from autoquant.oracle.folds import Window
from autoquant.oracle.futures import shuffle_future
from autoquant.oracle.mask import Mask
from autoquant.sandbox import Answer, CallFrames


class Caller(Protocol):
    """Where strategy code runs; a warm parent."""

    def call(self, source: bytes, frames: CallFrames, train_end_ms: int, reveal: bool = False) -> Answer:
        """One fresh child's answer."""
        ...


@dataclass(frozen=True)
class Run:
    """One call's weights, unmasked: (rows, A) in the panel's asset order, the first one on panel row `first_row`."""

    first_row: int
    values: NDArray[np.float64]
    present: NDArray[np.bool_]
    """(rows,) rows that were answered; the others are NaN."""
    cpu_seconds: float
    wall_seconds: float

    @property
    def stop_row(self) -> int:
        """Panel row behind the last one."""
        return self.first_row + len(self.values)

    def on_panel(self, rows: int) -> NDArray[np.float64]:
        """Weights on a panel of `rows` rows, NaN outside the run: what the engine takes."""
        whole = np.full((rows, self.values.shape[1]), np.nan)
        whole[self.first_row : self.stop_row] = self.values
        return whole


@dataclass(frozen=True)
class Span:
    """A window in panel rows: history from `first`, scored bars [start, stop), history's end at `train_end`."""

    first: int
    train_end: int
    start: int
    stop: int


class StrategyRuns:
    """One strategy on one panel under one mask. Safe to use from several threads.

    Parameters
    ----------
    parent : where the calls run.
    executor : fans calls out; used by the causality checks.
    reveal : whether exception texts may come back (never in a race).
    """

    def __init__(
        self, source: bytes, panel: Panel, mask: Mask, parent: Caller, executor: Executor, reveal: bool = False
    ) -> None:
        self.source = source
        self.panel = panel
        self.mask = mask
        self.executor = executor
        self._parent = parent
        self._reveal = reveal
        self._frames: dict[Window, CallFrames] = {}
        self._lock = threading.Lock()

    def afresh(self) -> StrategyRuns:
        """The same, holding none of the windows that were cut so far."""
        return StrategyRuns(self.source, self.panel, self.mask, self._parent, self.executor, self._reveal)

    def span(self, window: Window) -> Span:
        """The window in panel rows, clipped to the panel."""
        row = self.panel.row
        return Span(row(window.history_ms), row(window.train_end_ms), row(window.start_ms), row(window.end_ms))

    def fold(self, window: Window) -> Run:
        """The scored run: all history of the window, up to its end and not a bar further.

        Raises
        ------
        OutputError : a decision row is missing. And whatever the call raises.
        """
        span = self.span(window)
        run = self.cut(window, span.first, span.stop)
        decided = run.present[span.start - 1 - run.first_row : span.stop - 1 - run.first_row]
        if not decided.all():
            raise OutputError(
                f"strategy.py: MissingRows: {int((~decided).sum())} of {len(decided)} decision rows of fold "
                f"{window.number} are not in the answer",
                "return one row for every row of panel.close",
                kind="MissingRows",
            )
        return run

    def cut(self, window: Window, start_row: int, stop_row: int) -> Run:
        """A run on panel rows [start_row, stop_row) of the window: the child's file ends there."""
        frames = self._shown(window)
        first = self.span(window).first
        return self._call(window, frames.rows(start_row - first, stop_row - first), start_row)

    def future(self, window: Window, cut_row: int, draws: Draws) -> Run:
        """A run of full length in which every bar after `cut_row` is another, real-looking one."""
        first = self.span(window).first
        return self._call(window, shuffle_future(self._shown(window), cut_row - first, draws), first)

    def _shown(self, window: Window) -> CallFrames:
        with self._lock:
            if window not in self._frames:
                span = self.span(window)
                self._frames[window] = self.mask.apply(self.panel.slice(span.first, span.stop), window)
            return self._frames[window]

    def _call(self, window: Window, frames: CallFrames, first_row: int) -> Run:
        until = window.train_end_ms + self.mask.shift_ms(window)
        answer = self._parent.call(self.source, frames, until, self._reveal)
        values = self.mask.unmask(answer.values)
        return Run(first_row, values, answer.present, answer.cpu_seconds, answer.wall_seconds)
