"""A task as data: what it says, what it asks for, what each rung of its ladder is worth. The files are in `specs/`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from pathlib import Path

from autoquant import codec
from autoquant.errors import UserError
from autoquant.market.indices import NAMES, PRICES, Bars
from autoquant.sandbox import TableFrames
from autoquant.tasks.replay import Replay

ORDER = ("easy", "medium", "hard")
METRICS = ("trades", "entries", "pnl", "max_drawdown", "sharpe")
STEPS = 20
"""Of an episode."""


@dataclass(frozen=True)
class Tolerance:
    """How far from the truth a metric may be; exactly one of the two."""

    relative: float | None = None
    """Share of the truth's absolute value."""
    absolute: float | None = None

    def holds(self, value: float, truth: float) -> bool:
        """Whether `value` is near enough.

        >>> Tolerance(relative=0.05).holds(105.0, 100.0), Tolerance(absolute=0.5).holds(-0.6, 0.0)
        (True, False)
        """
        return abs(value - truth) <= self.width(truth)

    def width(self, truth: float) -> float:
        """Largest distance from the truth."""
        return self.absolute if self.absolute is not None else (self.relative or 0.0) * abs(truth)


@dataclass(frozen=True)
class Rung:
    """One step of a ladder. Its score is reached when its condition and every one before it hold."""

    score: float
    words: str
    """The condition, for whoever reads a grade."""
    check: str | None = None
    """Name of a condition that is no comparison with the truth."""
    within: dict[str, Tolerance] = field(default_factory=dict)


@dataclass(frozen=True)
class Published:
    """Figures of the reference data set."""

    rows: int
    trades: int
    pnl: float
    max_drawdown: float
    sharpe: float
    entries: int = 0


@dataclass(frozen=True)
class TaskSpec:
    """One task."""

    name: str
    title: str
    frames: str
    """`merged`: one frame of eight columns; `pair`: two frames of four."""
    columns: tuple[str, ...]
    """What generate_trades returns."""
    signature: str
    brief: str
    base: str
    """Why a file reaches no rung at all."""
    rung: tuple[Rung, ...]
    published: Published | None = None
    training_sharpe: float | None = None
    out_of_sample: tuple[tuple[float, float], ...] = ()
    """Sharpe ratio on hidden data to score, straight between the points, flat outside."""

    @property
    def arguments(self) -> tuple[str, ...]:
        """Names of generate_trades' arguments."""
        return tuple(part.strip() for part in self.signature.partition("(")[2].rstrip(")").split(","))

    @property
    def tolerances(self) -> Mapping[str, Tolerance]:
        """Of the last rung."""
        return self.rung[-1].within

    @property
    def published_figures(self) -> dict[str, float]:
        """Of the metrics that are compared, on the reference data set; none where nothing was published."""
        published = self.published
        return {} if published is None else {name: float(getattr(published, name)) for name in self.tolerances}

    @property
    def shown_columns(self) -> tuple[tuple[str, str], ...]:
        """Frame and column of each row of the bars' prices."""
        if self.frames == "merged":
            return tuple(("df", f"{price.title()}_{name}") for name in NAMES for price in PRICES)
        return tuple((name, price.title()) for name in NAMES for price in PRICES)

    def shown(self, bars: Bars) -> TableFrames:
        """What a solution gets of some bars."""
        return TableFrames(bars.times, self.shown_columns, bars.prices)


def out_of_sample_score(spec: TaskSpec, sharpe: float) -> float:
    """Score of a Sharpe ratio on hidden data: straight lines between the points of the specification.

    >>> [round(out_of_sample_score(task("hard"), sharpe), 3) for sharpe in (-3.0, -0.5, 0.25, 2.784)]
    [0.3, 0.4, 0.575, 1.0]
    """
    points = spec.out_of_sample
    if sharpe <= points[0][0]:
        return points[0][1]
    for (left, low), (right, high) in pairwise(points):
        if sharpe <= right:
            return low + (high - low) * (sharpe - left) / (right - left)
    return points[-1][1]


def metrics(replay: Replay) -> dict[str, float]:
    """The figures that a ladder compares."""
    return {name: float(getattr(replay, name)) for name in METRICS}


@cache
def task(name: str) -> TaskSpec:
    """A task by its name.

    Raises
    ------
    UserError : there is none of that name.
    """
    if name not in ORDER:
        raise UserError(f"there is no task {name!r}", f"tasks: {', '.join(ORDER)}")
    path = Path(__file__).parent / "specs" / f"{name}.toml"
    return codec.decode(TaskSpec, tomllib.loads(path.read_text()), path.name)
