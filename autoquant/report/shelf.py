"""A race's evaluation files, each checked against the ledger's digest before it is believed."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autoquant import codec, files
from autoquant.errors import ConfigError
from autoquant.ledger.layout import RaceLayout
from autoquant.oracle.records import Evaluation
from autoquant.oracle.records import Stress as JudgedStress
from autoquant.report.model import Shifted, Stress
from autoquant.report.returns import Floats, Returns, Trials
from autoquant.report.text import clean

_MAXIMUM_FILE = 1 << 24
_SEED = ("", 0)


@dataclass
class Shelf:
    """What was read of a race. A file that is missing or differs from its digest contributes nothing and is listed."""

    layout: RaceLayout
    untrusted: list[str] = field(default_factory=list)
    _returns: dict[tuple[str, int], tuple[Floats, ...]] = field(default_factory=dict)

    def seed(self, digest: str | None) -> Evaluation | None:
        """The seed's evaluation."""
        return self._evaluation(self.layout.evaluation("seed", 0), digest, "seed", _SEED)

    def attempt(self, competitor: str, number: int, digest: str | None) -> Evaluation | None:
        """An attempt's evaluation; its daily returns are kept for `returns`, and are not in it."""
        path = self.layout.evaluation(competitor, number)
        return self._evaluation(path, digest, f"{competitor} #{number}", (competitor, number))

    def sealed(self, name: str, digest: str | None) -> tuple[Evaluation | None, tuple[float, ...]]:
        """A lockbox entry's evaluation and its daily returns."""
        key = (f"lockbox {name}", 0)
        evaluation = self._evaluation(self.layout.lockbox_evaluation(name), digest, key[0], key)
        days = self._returns.pop(key, ())
        return evaluation, tuple(days[0].tolist()) if days else ()

    def stress(self, competitor: str, number: int, digest: str | None) -> Stress | None:
        """What the deep check of an accepted attempt measured beside the score."""
        path = self.layout.detail(competitor, number)
        plain = self._plain(path, digest, f"{competitor} #{number}, its details")
        found = ((plain or {}).get("confirmation") or {}).get("stress")
        if found is None:
            return None
        try:
            judged = codec.decode(JudgedStress, found, path.name)
        except ConfigError as error:
            self.untrusted.append(f"{competitor} #{number}, its details: {clean(error.message, 160)}")
            return None
        shifted = tuple(Shifted(one.days, one.score) for one in judged.shifted)
        return Stress(
            shifted, judged.drawdown_at_volatility, judged.sharpe, judged.sharpe_low, judged.sharpe_high
        )  # fmt: skip

    def returns(self, competitors: list[str]) -> Returns:
        """Daily returns of everything read so far, competitors in the given order."""
        seed = self._returns.get(_SEED, ())
        shape = tuple(map(len, seed)) if seed else next((tuple(map(len, days)) for days in self._returns.values()), ())
        joined = {key: np.concatenate(days) for key, days in self._returns.items() if tuple(map(len, days)) == shape}
        trials = []
        for name in competitors:
            found = [(number, days) for (owner, number), days in joined.items() if owner == name and number]
            panel = np.column_stack([days for _, days in found]) if found else np.empty((sum(shape), 0))
            trials.append(Trials(tuple(number for number, _ in found), panel))
        return Returns(shape, joined.get(_SEED), tuple(trials))

    def _evaluation(self, path: Path, digest: str | None, name: str, key: tuple[str, int]) -> Evaluation | None:
        plain = self._plain(path, digest, name)
        if plain is None:
            return None
        days = plain.pop("daily_returns", [])
        try:
            evaluation = codec.decode(Evaluation, plain, path.name)
            kept = tuple(_finite(fold) for fold in days)
        except (ConfigError, TypeError, ValueError) as error:
            self.untrusted.append(f"{name}: {clean(str(error), 160)}")
            return None
        if kept:
            self._returns[key] = kept
        return evaluation

    def _plain(self, path: Path, digest: str | None, name: str) -> dict[str, Any] | None:
        """A file's content as plain values; None when missing, altered or not recorded."""
        if digest is None:
            return None
        try:
            data = files.read_regular(self.layout.root, str(path.relative_to(self.layout.root)), _MAXIMUM_FILE)
        except (OSError, files.NotRegularFile):
            self.untrusted.append(f"{name}: evaluation file not there")
            return None
        if files.sha256_bytes(data) != digest:
            self.untrusted.append(f"{name}: evaluation file differs from the ledger's digest")
            return None
        plain: dict[str, Any] = json.loads(data)
        return plain


def _finite(fold: list[float]) -> NDArray[np.float64]:
    days = np.asarray(fold, dtype=np.float64)
    if days.ndim != 1 or not np.isfinite(days).all():
        raise ValueError("daily returns are rows of finite numbers")
    return days
