"""The oracle for strategies of our own: evaluated in this process, without sandbox, masks or causality runs.

Only for text that this program wrote or that the user's own checkout holds, never for an agent's. The accounts, gates
and the score are those of `oracle.judge`. What a race adds and this leaves out changes no verdict on such strategies:
a mask, or a package that pandas takes where it is installed, moves the last digits of a sum only, which the ratchet
takes for nothing (`ratchet.state.NOISE`), and text that reads no later bar passes every cut.
"""

from __future__ import annotations

import collections
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from autoquant.errors import OutputError
from autoquant.files import sha256_bytes
from autoquant.market import Panel
from autoquant.oracle.assemble import evaluate_folds
from autoquant.oracle.folds import DAY_MS, Window
from autoquant.oracle.gates import economic_gates
from autoquant.oracle.mask import SHOWN_FIELDS
from autoquant.oracle.records import Digests, Evaluation, GateResult, Outcome
from autoquant.oracle.runs import Run
from autoquant.oracle.simulation import decision_rows
from autoquant.protocol import PROTOCOL, Protocol

if TYPE_CHECKING:
    import pandas as pd

PASSED = tuple(GateResult(name, passed=True) for name in ("import", "output", "causality"))
FILE_NAME = "strategy.py"


class PlainJudge:
    """Evaluates trusted strategies on one panel.

    Parameters
    ----------
    panel : the folds and all history before them.
    windows : the scored folds.
    digests : what every evaluation is tied to; each gets its own strategy's.
    split : name of the split, for the record.
    compiled : accounts by the compiled loop, where there is one; the same digits (`oracle.kernel`).
    """

    def __init__(
        self,
        panel: Panel,
        windows: Sequence[Window],
        *,
        digests: Digests,
        split: str = "valid",
        protocol: Protocol = PROTOCOL,
        compiled: bool = False,
    ) -> None:
        self._compiled = compiled
        self.panel = panel
        self.windows = tuple(windows)
        self._digests = digests
        self._split = split
        self._protocol = protocol

    def by_fold(self, source: bytes) -> Evaluation:
        """Call the strategy once for each fold, with the history and the `train_end` a race gives.

        Raises
        ------
        OutputError : no DataFrame, or a decision row is missing. And whatever the strategy raises.
        """
        runs = []
        for window in self.windows:
            first, stop = self.panel.row(window.history_ms), self.panel.row(window.end_ms)
            shown = _frames(self.panel.slice(first, stop))
            runs.append(Run(first, *_answer(source, shown, window.train_end_ms), 0.0, 0.0))
        return self._evaluation(source, runs)

    def at_once(self, source: bytes, memory_days: int) -> Evaluation:
        """Call the strategy once for all folds: several times faster.

        Parameters
        ----------
        memory_days : a decision depends on no bar older than so many days, nor on `train_end`. Then the answer is that
            of `by_fold`, to rounding.

        Raises
        ------
        OutputError : no DataFrame, or a decision row is missing. And whatever the strategy raises.
        """
        first, shown = self._all_folds(memory_days)
        run = Run(first, *_answer(source, shown, self.windows[0].train_end_ms), 0.0, 0.0)
        return self._evaluation(source, [run] * len(self.windows))

    def _all_folds(self, memory_days: int) -> tuple[int, Any]:
        if memory_days not in self._shown:
            history = max(self.windows[0].history_ms, self.windows[0].start_ms - (memory_days + 1) * DAY_MS)
            first, stop = self.panel.row(history), self.panel.row(max(window.end_ms for window in self.windows))
            self._shown[memory_days] = first, _frames(self.panel.slice(first, stop))
        return self._shown[memory_days]

    @cached_property
    def _shown(self) -> dict[int, tuple[int, Any]]:
        return {}

    def _evaluation(self, source: bytes, runs: Sequence[Run]) -> Evaluation:
        digests = replace(self._digests, strategy=sha256_bytes(source))
        decided = [self._decided(window, run) for window, run in zip(self.windows, runs, strict=True)]
        leverage = economic_gates((), decided, self._protocol.gates)[0]
        if not leverage.passed:
            return Evaluation(Outcome.GATE, digests, gates=(*PASSED[:2], leverage), split=self._split)
        accounts = evaluate_folds(self.panel, self.windows, runs, self._protocol, compiled=self._compiled)
        return accounts.evaluation(digests, PASSED, decided, self._split)

    def _decided(self, window: Window, run: Run) -> NDArray[np.float64]:
        first, stop = self.panel.row(window.start_ms) - 1, self.panel.row(window.end_ms) - 1
        if not run.present[first - run.first_row : stop - run.first_row].all():
            raise OutputError(f"{FILE_NAME}: decision rows of fold {window.number} are not in the answer")
        return decision_rows(self.panel, window, run.on_panel(len(self.panel)))


def _frames(panel: Panel) -> Any:
    """What a strategy sees of a panel, under its real names and dates."""
    import pandas as pd

    index = panel.index().as_unit("ns")
    head = pd.Index(panel.assets)
    parts: dict[str, Any] = {name: pd.DataFrame(getattr(panel, name), index, head, copy=False) for name in SHOWN_FIELDS}
    parts["assets"] = list(panel.assets)
    parts["tier"] = pd.Series(panel.tier, head, name="tier")
    return collections.namedtuple("Panel", parts)(**parts)


def _answer(source: bytes, shown: Any, until_ms: int) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Weights on the rows and columns of what was shown, and which rows were answered."""
    import pandas as pd

    scope: dict[str, Any] = {"__name__": "strategy", "__file__": FILE_NAME}
    exec(compile(source, FILE_NAME, "exec", dont_inherit=True), scope)
    answer: pd.DataFrame = scope["target_weights"](shown, pd.Timestamp(until_ms, unit="ms", tz="UTC").as_unit("ns"))
    if not isinstance(answer, pd.DataFrame):
        raise OutputError(f"{FILE_NAME}: target_weights returned a {type(answer).__name__}")
    close: pd.DataFrame = shown.close
    present = close.index.isin(answer.index)
    aligned = answer.reindex(columns=close.columns, fill_value=0.0).reindex(index=close.index)
    return aligned.to_numpy(dtype=np.float64), np.asarray(present)
