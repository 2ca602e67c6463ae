"""A row of the comparison, the other side of it, and medians of both taken in turn."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

SCRIPT = Path(__file__).with_name("rivals.py")


@dataclass(frozen=True)
class Row:
    """One line of the table. `ratio` is ours over theirs: below 1 we are faster."""

    part: str
    what: str
    ours_ms: float | None = None
    beside: str = ""
    beside_ms: float | None = None
    ratio: float | None = None
    target: str = ""
    note: str = ""
    fails: bool = False
    """Both sides came to different numbers, or time or memory grows more than it may."""


class Rivals:
    """`rivals.py` in its own environment, asked line by line.

    Parameters
    ----------
    python : an interpreter that has the libraries; None asks uv for one.
    wanted : False starts nothing.
    """

    def __init__(self, python: str | None, *, wanted: bool) -> None:
        command = (
            [python, str(SCRIPT)] if python else [shutil.which("uv") or "uv", "run", "-q", "--script", str(SCRIPT)]
        )
        environment = dict(os.environ) | {"TQDM_DISABLE": "1"}  # no bar of theirs on our terminal
        self._folder = tempfile.TemporaryDirectory(prefix="autoquant-bench-")
        self._process = (
            subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
            if wanted
            else None
        )
        said = self._ask({"who": "versions"}) if wanted else {}
        self.absent = said.get("reason")
        self.versions: dict[str, str] = {} if self.absent else said

    def put(self, name: str, **arrays: Any) -> str:
        """A file of arrays both sides work on; returns its path."""
        path = Path(self._folder.name) / f"{name}.npz"
        np.savez(path, **arrays)
        return str(path)

    def run(self, who: str, file: str) -> dict[str, Any]:
        """One timed run: `seconds` and `equity` or `pnl`; or `reason`."""
        if self.absent:
            return {"reason": self.absent}
        out = str(Path(self._folder.name) / "out.npy")
        said = self._ask({"who": who, "file": file, "out": out})
        if "seconds" in said and "pnl" not in said:
            said["equity"] = np.load(out)
        return said

    def _ask(self, question: dict[str, str]) -> dict[str, Any]:
        assert self._process is not None
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(question) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except OSError:
            line = ""
        return json.loads(line) if line else {"reason": "its environment cannot be made for this Python"}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
            self._process.wait()
        self._folder.cleanup()


def seconds(work: Callable[[], object]) -> float:
    """Of one run."""
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def in_turn(repeats: int, *works: Callable[[], float]) -> list[float]:
    """Median of each work's seconds, in milliseconds; one run of each after the other, over and over."""
    found: list[list[float]] = [[] for _ in works]
    for _ in range(repeats):
        for work, times in zip(works, found, strict=True):
            times.append(1e3 * work())
    return [statistics.median(times) for times in found]


def table(rows: list[Row]) -> str:
    """Markdown."""

    def text(value: float | None) -> str:
        return "n/a" if value is None else f"{value:,.3g}" if value < 100 else f"{value:,.0f}"

    lines = ["| part | what | ms | beside | ms | ratio | target | note |", "|---|---|--:|---|--:|--:|---|---|"]
    for row in rows:
        note = f"FAILS: {row.note}" if row.fails else row.note
        cells = [row.part, row.what, text(row.ours_ms), row.beside, text(row.beside_ms), text(row.ratio), row.target]
        lines.append("| " + " | ".join([*cells, note]) + " |")
    return "\n".join(lines)
