"""Files of minute bars as people have them, and the real setup_data.py over them."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

DAY_MS, MINUTE_MS = 86_400_000, 60_000
FIRST_DAY = "2022-12-26"
"""Eleven sessions from here on: six before 2023, five from then on."""
HEAD = "datetime,open,high,low,close"


def minutes(sessions: int = 11, first_day: str = FIRST_DAY) -> pd.DatetimeIndex:
    """Every minute of some sessions on days in a row."""
    days = pd.date_range(first_day, periods=sessions)
    clock = pd.to_timedelta(np.tile(np.arange(555, 930), sessions), unit="min")
    return pd.DatetimeIndex(days.repeat(375) + clock)


def table(base: float = 100.0, sessions: int = 11) -> pd.DataFrame:
    """Bars whose close tells their number."""
    times = minutes(sessions)
    close = base + np.arange(len(times)) / 16
    return pd.DataFrame({"datetime": times, "open": close - 1, "high": close + 2, "low": close - 2, "close": close})


def csv(frame: pd.DataFrame, *, form: str = "%Y-%m-%d %H:%M:%S", **options: object) -> str:
    told = frame.assign(datetime=frame["datetime"].dt.strftime(form)) if "datetime" in frame else frame
    return str(told.to_csv(index=False, **options))


@dataclass
class Desk:
    """A folder with two good files, and setup_data.py."""

    folder: Path
    capsys: pytest.CaptureFixture[str]

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def put(self, name: str, content: str | bytes) -> Path:
        path = self.folder / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def run(self, *arguments: str) -> tuple[int, str, str]:
        """Exit code, stdout and stderr of `setup_data.py --data-dir … arguments`."""
        main: Callable[[list[str]], int] = importlib.import_module("setup_data").main
        try:
            code = main(["--data-dir", str(self.data), *arguments])
        except SystemExit as ended:
            code = int(ended.code or 0)
        out, err = self.capsys.readouterr()
        return code, out, err

    def imported(self, nifty: str | bytes, bank: str | bytes | None = None, *more: str) -> dict[str, object]:
        """The summary as JSON of two CSV files; the second is a good one unless given."""
        code, out, err = self.run("--indices", *self.pair(nifty, bank), *more, "--json")
        assert (0, "") == (code, err), err
        answer: dict[str, object] = json.loads(out)
        return answer

    def pair(self, nifty: str | bytes, bank: str | bytes | None = None) -> list[str]:
        first, second = self.put("nifty.csv", nifty), self.put("bank.csv", csv(table(300.0)) if bank is None else bank)
        return [f"nifty={first}", f"banknifty={second}"]

    def refused(self, arguments: Iterable[str]) -> str:
        """The one line on stderr that a failing import ends with, and its hint; nothing is written."""
        code, out, err = self.run(*arguments)
        assert ("", False) == (out, self.data.exists())
        assert code in (2, 4), (code, err)
        lines = err.splitlines()
        assert lines[0].startswith("error: ")
        assert len(lines) <= 2
        assert len(lines) == 1 or lines[1].startswith("hint: ")
        return err
