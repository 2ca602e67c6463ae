"""Reference solution of the medium task: the pairs rule, walked from entry to exit instead of bar by bar."""

from bisect import bisect_left

import numpy as np
import pandas as pd

RATIO, WINDOW, ENTER, LEAVE, COOLDOWN = 0.35, 60, 2.0, 0.5, 30


def generate_trades(nifty_df: pd.DataFrame, banknifty_df: pd.DataFrame) -> pd.DataFrame:
    """Rows of bar and both positions."""
    spread = nifty_df["Close"] - RATIO * banknifty_df["Close"]
    window = spread.rolling(WINDOW)
    score = ((spread - window.mean()) / window.std(ddof=1)).to_numpy()
    known = np.flatnonzero(~np.isnan(score))
    score = score[known]
    enters = np.flatnonzero(np.abs(score) > ENTER).tolist()
    leaves = np.flatnonzero(np.abs(score) < LEAVE).tolist()
    rows: list[tuple[int, int]] = []
    allowed = 0
    while (place := bisect_left(enters, allowed)) < len(enters):
        entry = enters[place]
        side = -1 if score[entry] > 0 else 1
        rows.append((known[entry] + 1, side))
        place = bisect_left(leaves, entry + 1)
        if place == len(leaves):
            break
        rows.append((known[leaves[place]] + 1, 0))
        # Set to 30 on the exit bar, the counter loses 1 on each bar after it: 0 on the thirtieth, which may enter.
        allowed = leaves[place] + COOLDOWN
    rows = [row for row in rows if row[0] < len(spread)]
    bars, sides = np.array(rows, dtype=np.int64).reshape(-1, 2).T
    return pd.DataFrame({"bar": bars, "nifty_position": sides, "banknifty_position": -sides})
