"""The graded track for tests: small bars with something to earn, and a scan for what may never leave."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

sys.path.append(str(Path(__file__).parent / "tasks"))

from task_cases import AS_TABLE, REVERTS, changed, pair, planted, saved, single

from autoquant.market.indices import Bars, wall_clock
from autoquant.sandbox import WarmParent
from autoquant.tasks.solution import replayed, run
from autoquant.tasks.spec import ORDER, metrics, task
from autoquant.tasks.truth import reference_replay, reference_source

HONEST = pair(*REVERTS, AS_TABLE)
"""Passes every gate of the hard task on these bars."""
ON_HIDDEN = "hidden = nifty_df.index[0].year >= 2023"
NEAR = {
    "easy": changed("easy", ("FAST, SLOW = 20, 50", "FAST, SLOW = 19, 50")),
    "medium": changed("medium", ("30\n", "31\n")),
    "hard": HONEST,
}
"""Solutions that run and trade, whose figures are not the truth's."""


@cache
def market() -> tuple[Bars, Bars]:
    """5,000 shown bars and 3,000 hidden ones."""
    return planted(5, 5_000, 0.002), planted(1, 3_000, 0.001, first_day="2023-01-02")


def make_data(root: Path) -> Path:
    """A data folder with these bars."""
    return saved(root, *market(), source="files")


def only_hidden(*lines: str) -> bytes:
    """The honest solution, with a change on hidden bars alone."""
    return pair(ON_HIDDEN, *REVERTS, "if hidden:", *(f"    {line}" for line in lines), AS_TABLE)


def quoting(task_name: str) -> bytes:
    """A solution that crashes and tells what it sees."""
    body = "raise ValueError(f'{list({0}.index[-3:])} {list({0}.iloc[-1])}')"
    return single(body.replace("{0}", "df")) if task_name == "easy" else pair(body.replace("{0}", "nifty_df"))


HIDDEN_TELLERS = (
    only_hidden("raise ValueError(f'{nifty_df.index[-1]} {list(nifty_df.Close)}')"),
    only_hidden("return pd.DataFrame({str(price): [1] for price in nifty_df['Close'].iloc[:9]})"),
    only_hidden("rows = [(i, p / 10.0, 0.0) for i, p in enumerate(nifty_df['Close'])]"),
    only_hidden("rows = [(i, float(nifty_df['Close'].iloc[-1]), np.nan) for i in range(9)]"),
)
"""Solutions of the hard task that shout hidden bars through every channel there is: message, columns, trades."""


NAMES = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b[0-9a-f]{32,64}\b")
"""Of episodes, requests and contents: digits in them mean nothing."""


@dataclass(frozen=True)
class Secrets:
    """What may never leave."""

    words: tuple[str, ...]
    """Texts: hidden days, lines of reference solutions."""
    numbers: tuple[float, ...]
    """Hidden prices, figures on hidden bars, the truths' figures."""

    def found_in(self, text: str) -> list[str]:
        """What of it a text holds."""
        text = NAMES.sub("", text)
        told = {token.replace(",", "").rstrip(".") for token in re.findall(r"\d[\d,]*(?:\.\d+)?", text)}
        seen = np.array(sorted({float(token) for token in told}))
        hits = [word for word in self.words if word in text]
        for number in self.numbers:
            near = np.abs(seen - abs(number)) <= max(5e-5, 1e-9 * abs(number))
            hits += [f"{number} as {value}" for value in seen[near]]
        return hits

    def without(self, source: bytes) -> Secrets:
        """Lines that a solution itself has are no secret from whoever wrote it."""
        return replace(self, words=tuple(word for word in self.words if word not in source.decode()))


def secrets(parent: WarmParent) -> Secrets:
    """Of `market`."""
    shown, hidden = market()
    days = {wall_clock(time)[:10] for time in hidden.times}
    spelled = {day.replace("-", mark) for day in days for mark in "-/."} | {day.replace("-", "") for day in days}
    turned = {"/".join(reversed(day.split("-"))) for day in days}
    prices = set(hidden.prices.ravel().tolist()) - set(shown.prices.ravel().tolist())
    return Secrets(tuple({*spelled, *turned, *_lines()}), tuple({*prices, *_figures(parent, shown, hidden)}))


def _lines() -> Iterable[str]:
    """Of the reference solutions, but for what everybody writes."""
    for name in ORDER:
        for line in reference_source(name).decode().splitlines():
            if len(line.strip()) > 24 and not line.startswith("import "):
                yield line.strip()


def _figures(parent: WarmParent, shown: Bars, hidden: Bars) -> Iterable[float]:
    """Truths on the shown bars; what the honest solution comes to on the hidden ones."""
    for name in ("easy", "medium"):
        truth = metrics(reference_replay(parent, name, shown))
        for metric, value in truth.items():
            yield from _ends(value, metric) if metric not in ("trades", "entries") else ()
    spec = task("hard")
    ran = run(parent, HONEST, spec.shown(hidden), spec)
    assert ran.trades is not None
    came = metrics(replayed(ran.trades, spec.shown(hidden), spec))
    yield from (came[name] for name in ("pnl", "max_drawdown", "sharpe"))


def _ends(value: float, metric: str) -> Iterable[float]:
    """A target as it might be written."""
    yield from (value, round(value, 2), round(value, 4))
    if metric == "sharpe":
        return
    yield from (round(0.98 * value, 2), round(1.02 * value, 2))


def texts_in(value: Any) -> Iterable[str]:
    """Every text and number of a nested value, keys included."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from texts_in(key)
            yield from texts_in(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from texts_in(item)
    elif value is not None:
        yield str(value)
