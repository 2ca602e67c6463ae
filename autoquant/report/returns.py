"""Daily returns of what was judged, as the oracle wrote them: the input of every statistic on the page."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Trials:
    """One competitor's attempts that have daily returns on record."""

    numbers: tuple[int, ...]
    panel: Floats
    """(T, n), a column per attempt, in the order of `numbers`."""

    def of(self, number: int) -> Floats | None:
        """(T,) returns of one attempt; None when there are none on record."""
        return self.panel[:, self.numbers.index(number)] if number in self.numbers else None


@dataclass(frozen=True, eq=False)
class Returns:
    """All of a race. The T days are those of the folds in a row."""

    fold_days: tuple[int, ...]
    """Days of each fold; they add up to T. Empty when nothing was judged."""
    seed: Floats | None
    """(T,)."""
    trials: tuple[Trials, ...]
    """By the entrant's index."""

    @property
    def days(self) -> int:
        """T."""
        return sum(self.fold_days)

    def champion(self, index: int, number: int | None) -> Floats | None:
        """(T,) returns of an entrant's champion, the seed's when `number` is None; None when not on record."""
        return self.seed if number is None else self.trials[index].of(number)
