"""A race's evaluation files, each checked against the ledger's digest before it is believed."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from autoquant import codec, files
from autoquant.errors import ConfigError
from autoquant.ledger.layout import RaceLayout
from autoquant.oracle.records import Evaluation
from autoquant.oracle.records import Stress as JudgedStress
from autoquant.report.model import Shifted, Stress
from autoquant.report.returns import Floats, Returns, Trials
from autoquant.report.text import clean, visible

_Key = tuple[str, int]
"""A competitor and the number of its attempt."""

_MAXIMUM_FILE = 1 << 24
_SEED = ("", 0)
EVIDENCE_MOST, EVIDENCE_LINES, EVIDENCE_WIDTH = 20, 24, 120
"""Diffs of forbidden changes on a page, lines of each, characters of a line."""
_RETURNS = b'{"daily_returns":'
"""How a canonical evaluation begins; the next quote is that of the key behind."""
_STRESS = b'"stress":'


@dataclass(frozen=True, eq=False)
class _Days:
    """(T,) daily returns, those of the folds in a row, and how many days each fold has."""

    folds: tuple[int, ...]
    values: Floats


@dataclass
class Shelf:
    """What was read of a race. A file that is missing or differs from its digest contributes nothing and is listed."""

    layout: RaceLayout
    untrusted: list[str] = field(default_factory=list)
    _returns: dict[_Key, _Days] = field(default_factory=dict)
    _told: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def seed(self, digest: str | None) -> Evaluation | None:
        """The seed's evaluation."""
        return self._evaluation(self.layout.evaluation("seed", 0), digest, "seed", _SEED)

    def attempt(self, competitor: str, number: int, digest: str | None, *, returns: bool = True) -> Evaluation | None:
        """An attempt's evaluation; its daily returns are kept for `returns` when wanted, and are not in it."""
        path = self.layout.evaluation(competitor, number)
        key = (competitor, number) if returns else None
        return self._evaluation(path, digest, f"{competitor} #{number}", key)

    def days(self, competitor: str, number: int, digest: str | None) -> None:
        """Of an attempt nothing but its daily returns, for `returns`."""
        name = f"{competitor} #{number}"
        data = self._read(self.layout.evaluation(competitor, number), digest, name)
        try:
            if data is not None:
                rest, returns = _parted(data)
                folds = codec.parse(data).get("daily_returns", []) if rest is data else codec.parse(returns)
                self._keep((competitor, number), folds)
        except _UNFIT as error:
            self._distrust(name, error)

    def sealed(self, name: str, digest: str | None) -> tuple[Evaluation | None, tuple[float, ...]]:
        """A lockbox entry's evaluation and its daily returns."""
        return self._sealed(self.layout.lockbox_evaluation(name), digest, f"lockbox {name}")

    def reference(self, name: str, digest: str) -> tuple[Evaluation | None, tuple[float, ...]]:
        """The accounts of what the entries are drawn beside, and its daily returns."""
        return self._sealed(self.layout.lockbox_reference(name), digest, f"lockbox reference {name}")

    def _sealed(self, path: Path, digest: str | None, name: str) -> tuple[Evaluation | None, tuple[float, ...]]:
        evaluation = self._evaluation(path, digest, name, (name, 0))
        days = self._returns.pop((name, 0), None)
        return evaluation, tuple(days.values[: days.folds[0]].tolist()) if days else ()

    def stress(self, competitor: str, number: int, digest: str | None) -> Stress | None:
        """What the deep check of an accepted attempt measured beside the score."""
        path, name = self.layout.detail(competitor, number), f"{competitor} #{number}, its details"
        data = self._read(path, digest, name)
        try:
            found = _stress(data) if data is not None else None
            if found is None:
                return None
            judged = codec.decode(JudgedStress, found, path.name)
        except _UNFIT as error:
            self._distrust(name, error)
            return None
        shifted = tuple(Shifted(one.days, one.score) for one in judged.shifted)
        return Stress(
            shifted, judged.drawdown_at_volatility, judged.sharpe, judged.sharpe_low, judged.sharpe_high
        )  # fmt: skip

    def evidence(self, digest: str) -> tuple[str, ...]:
        """First lines of the diff that was kept of a forbidden change, inert; nothing where none was kept."""
        if not digest or len(self._told) >= EVIDENCE_MOST:
            return ()
        if digest not in self._told:
            data = self._read(self.layout.evidence(digest), digest, "evidence", f"diff {digest[:12]}")
            lines = (data or b"").decode(errors="replace").split("\n")
            self._told[digest] = tuple(visible(line, EVIDENCE_WIDTH) for line in lines[2 : 2 + EVIDENCE_LINES])
        return self._told[digest]

    def returns(self, competitors: list[str]) -> Returns:
        """Daily returns of everything read so far, competitors in the given order."""
        first = self._returns.get(_SEED) or next(iter(self._returns.values()), None)
        shape = first.folds if first else ()
        joined = {key: days.values for key, days in self._returns.items() if days.folds == shape}
        trials = []
        for name in competitors:
            found = [(number, days) for (owner, number), days in joined.items() if owner == name and number]
            panel = np.column_stack([days for _, days in found]) if found else np.empty((sum(shape), 0))
            trials.append(Trials(tuple(number for number, _ in found), panel))
        return Returns(shape, joined.get(_SEED), tuple(trials))

    def _evaluation(self, path: Path, digest: str | None, name: str, key: _Key | None) -> Evaluation | None:
        data = self._read(path, digest, name)
        if data is None:
            return None
        try:
            rest, returns = _parted(data)
            plain = codec.parse(rest)
            folds = plain.pop("daily_returns", None)
            evaluation = codec.decode(Evaluation, plain, path.name)
            if key is not None:
                self._keep(key, codec.parse(returns) if folds is None else folds)
        except _UNFIT as error:
            self._distrust(name, error)
            return None
        return evaluation

    def _keep(self, key: _Key, folds: list[list[float]]) -> None:
        values = np.asarray([day for fold in folds for day in fold], dtype=np.float64)
        if values.ndim != 1 or not np.isfinite(values).all():
            raise ValueError("daily returns are rows of finite numbers")
        if len(values):
            self._returns[key] = _Days(tuple(map(len, folds)), values)

    def _read(self, path: Path, digest: str | None, name: str, what: str = "evaluation file") -> bytes | None:
        """A file's content; None when missing, altered or not recorded."""
        if digest is None:
            return None
        try:
            data = files.read_regular(self.layout.root, str(path.relative_to(self.layout.root)), _MAXIMUM_FILE)
        except (OSError, files.NotRegularFile):
            self.untrusted.append(f"{name}: {what} not there")
            return None
        if files.sha256_bytes(data) != digest:
            self.untrusted.append(f"{name}: {what} differs from the ledger's digest")
            return None
        return data

    def _distrust(self, name: str, error: Exception) -> None:
        self.untrusted.append(f"{name}: {clean(str(error), 160)}")


_UNFIT = (ConfigError, AttributeError, RecursionError, TypeError, ValueError)
"""What a file that is JSON of another shape, or none, runs into."""


def _parted(data: bytes) -> tuple[bytes, bytes]:
    """An evaluation without its daily returns, and those alone: most of the time that it takes to parse one.

    In canonical form they come first and hold numbers alone, so they end before the next quote. A text of any other
    form is left whole.

    >>> _parted(b'{"daily_returns":[[0.1,0.2],[0.3]],"digests":{}}')
    (b'{"digests":{}}', b'[[0.1,0.2],[0.3]]')
    """
    end = data.find(b'"', len(_RETURNS))
    if not data.startswith(_RETURNS) or data[end - 1 : end] != b",":
        return data, b"[]"
    return b"{" + data[end:], data[len(_RETURNS) : end - 1]


def _stress(data: bytes) -> Any:
    """What the deep check stored beside the score; None without one. Its place is sought, the rest is not parsed.

    >>> _stress(b'{"confirmation":{"seconds":1.0,"stress":{"sharpe":2.0}}}')
    {'sharpe': 2.0}
    """
    if data.count(_STRESS) == 1:
        return json.JSONDecoder().raw_decode(data[data.index(_STRESS) + len(_STRESS) :].decode())[0]
    return (codec.parse(data).get("confirmation") or {}).get("stress")
