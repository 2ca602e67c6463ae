"""Solutions as text, grounds to grade them on, and the tasks' rules as plain loops."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from autoquant.market.index_files import merge
from autoquant.market.indices import DAY_MS, NAMES, SPLIT, Bars, save_indices
from autoquant.sandbox import WarmParent
from autoquant.tasks.grade import Grade
from autoquant.tasks.grader import Ground, grade
from autoquant.tasks.replay import Trades
from autoquant.tasks.spec import task
from autoquant.tasks.truth import reference_source, truth_of

HEAD = "import numpy as np\nimport pandas as pd\n\n\n"
MINUTE_MS = 60_000


def ground_of(parent: WarmParent, name: str, shown: Bars, hidden: Bars | None = None) -> Ground:
    """What a task is graded on, without a data folder."""
    spec = task(name)
    truth = None if spec.out_of_sample else truth_of(parent, spec, shown)
    return Ground(spec, shown, hidden or shown_none(shown), "synthetic", truth)


def shown_none(bars: Bars) -> Bars:
    return Bars(bars.times[:0], bars.prices[:, :0])


def saved(root: Path, shown: Bars, hidden: Bars, source: str, seed: int | None = None) -> Path:
    """A data folder with these bars; the hidden ones begin at the split."""
    bars = Bars(np.concatenate([shown.times, hidden.times]), np.hstack([shown.prices, hidden.prices]))
    manifest = save_indices(root, bars, source=source, split=SPLIT, seed=seed)
    assert (len(shown), len(hidden)) == (manifest.shown.rows, manifest.hidden.rows)
    return root


def minutes_of_2024(shared: Path) -> Bars:
    """The 58,127 real minutes of both indices."""
    return merge({name: shared / "data" / f"{name}_1min_2024.parquet" for name in NAMES})[0]


def single(*lines: str) -> bytes:
    """A solution of the easy task; the lines are the body of its function."""
    return _function("df", lines)


def pair(*lines: str) -> bytes:
    """A solution of the other two."""
    return _function("nifty_df, banknifty_df", lines)


def _function(arguments: str, lines: tuple[str, ...]) -> bytes:
    body = "\n".join(f"    {line}" for text in lines for line in text.split("\n"))
    return f"{HEAD}def generate_trades({arguments}):\n{body}\n".encode()


def changed(name: str, *swaps: tuple[str, str]) -> bytes:
    """A reference solution with some of its text swapped."""
    text = reference_source(name).decode()
    for old, new in swaps:
        assert old in text, old
        text = text.replace(old, new)
    return text.encode()


LATE = changed("medium", ("leaves[place] + COOLDOWN", "leaves[place] + COOLDOWN + 1"))
EARLY = changed("medium", ("leaves[place] + COOLDOWN", "leaves[place] + COOLDOWN - 1"))
"""The medium task's reference with a cooldown that is one bar longer, and one bar shorter."""


def bars_of(nifty: NDArray[np.float64], bank: NDArray[np.float64], *, first_ms: int = 1_704_100_500_000) -> Bars:
    """Bars whose four prices are the close, in sessions of 375 minutes on days in a row."""
    count = len(nifty)
    session, minute = np.divmod(np.arange(count, dtype=np.int64), 375)
    times = first_ms + session * DAY_MS + minute * MINUTE_MS
    return Bars(times, np.vstack([np.tile(nifty, (4, 1)), np.tile(bank, (4, 1))]))


def scored(parent: WarmParent, ground: Ground, source: bytes, *, final: bool = False) -> Grade:
    return grade(parent, source, ground, final=final)


def failing(found: Grade) -> str:
    """Why the first rung that does not hold does not, in the grade's own words."""
    return next((rung.detail for rung in found.rungs if not rung.passed), "")


def rows_of(path: NDArray[np.float64]) -> Trades:
    """(T, legs) positions at each bar as rows of trades: where any of them changes."""
    before = np.vstack([np.zeros((1, path.shape[1])), path[:-1]])
    bars = np.flatnonzero((path != before).any(axis=1))
    return Trades(bars, path[bars])


def plain_pairs(
    nifty: NDArray[np.float64],
    bank: NDArray[np.float64],
    *,
    cooldown: int = 30,
    ddof: int = 1,
    enters_late: bool = False,
    counts_exit_bar: bool = False,
    runs_in_position: bool = False,
    enters_at_limit: bool = False,
    lag: int = 1,
) -> Trades:
    """The medium task's rule, bar by bar. The options are ways to get it wrong.

    Parameters
    ----------
    enters_late : the counter is looked at before it loses its 1: no entry on the bar on which it reaches 0.
    counts_exit_bar : the exit bar is the first of the cooldown.
    runs_in_position : the counter starts at the entry instead of the exit, and runs while a position is held.
    enters_at_limit : a z of exactly 2 enters.
    lag : bars from decision to position.
    """
    spread = nifty - 0.35 * bank
    path = np.zeros((len(spread) + 2, 2))
    side, counter = 0, 0
    for i in range(59, len(spread)):
        part = spread[i - 59 : i + 1]
        deviation = part.std(ddof=ddof)
        if deviation == 0.0:
            path[i + lag] = (side, -side)
            continue
        z = (spread[i] - part.mean()) / deviation
        if side:
            counter -= runs_in_position and counter > 0
            if abs(z) < 0.5:
                side = 0
                counter = counter if runs_in_position else cooldown - counts_exit_bar
        else:
            waiting = counter > 0
            counter -= waiting
            if not (waiting if enters_late else counter):
                side = -1 if z > 2.0 else 1 if z < -2.0 else 0
                if enters_at_limit and abs(z) == 2.0:
                    side = -1 if z > 0 else 1
                counter = cooldown if side and runs_in_position else counter
        path[i + lag] = (side, -side)
    return rows_of(path[: len(spread)])


def planted(seed: int, bars: int, swing: float, *, first_day: str = "2022-06-01") -> Bars:
    """Two indices whose ratio swings around its mean: what bets on its return earns, the more the wider it swings.

    Parameters
    ----------
    swing : standard deviation of the ratio's logarithm; 0 leaves nothing to earn, costs to pay.
    """
    rng = np.random.default_rng(seed)
    bank = 40_000.0 * np.exp(np.cumsum(rng.normal(0, 3e-4, bars)))
    gap, apart = 0.0, np.empty(bars)
    for i, shock in enumerate(rng.normal(0, np.sqrt(1 - 0.98**2), bars)):
        gap = 0.98 * gap + shock
        apart[i] = gap
    noise = np.cumsum(rng.normal(0, 1e-4, bars))
    nifty = 0.4 * bank * np.exp(swing * apart + noise)
    first = int(np.datetime64(first_day, "ms").astype(np.int64)) + (9 * 60 + 15) * MINUTE_MS
    return bars_of(np.round(nifty * 20) / 20, np.round(bank * 20) / 20, first_ms=first)


REVERTS = (
    "apart = np.log(nifty_df['Close'] / banknifty_df['Close'])",
    "apart = ((apart - apart.rolling(375).mean()) / apart.rolling(375).std()).fillna(0.0).to_numpy()",
    "rows, side = [], 0",
    "for i in range(len(apart) - 1):",
    "    wanted = -1 if apart[i] > 1.5 else 1 if apart[i] < -1.5 else 0 if side * apart[i] > 0 else side",
    "    if wanted != side:",
    "        side = wanted",
    "        rows.append((i + 1, side * 1.0, side * -0.4))",
)
"""Body of an honest hedged solution that bets on the return of the ratio."""
AS_TABLE = "return pd.DataFrame(rows, columns=['bar', 'nifty_position', 'banknifty_position'])"
