"""A simple honest solution of the hard task: which index has been the stronger one, held against the other.

Once a session, some minutes before its end, it compares the two indices' returns over the last 20 sessions and holds
the stronger against the weaker with equal value. One decision a day, a band against flapping; no claim that it earns.
"""

import numpy as np
import pandas as pd

SESSIONS, BAND = 20, 0.004
DECIDES_AT = 15 * 60 + 15


def generate_trades(nifty_df: pd.DataFrame, banknifty_df: pd.DataFrame) -> pd.DataFrame:
    """Rows of bar and both positions."""
    times = pd.DatetimeIndex(nifty_df.index)
    minute = times.hour * 60 + times.minute
    bars = np.flatnonzero(minute == DECIDES_AT)
    nifty = nifty_df["Close"].to_numpy()[bars]
    bank = banknifty_df["Close"].to_numpy()[bars]
    rows: list[tuple[int, float, float]] = []
    side = 0
    for k in range(SESSIONS, len(bars)):
        lead = np.log(nifty[k] / nifty[k - SESSIONS]) - np.log(bank[k] / bank[k - SESSIONS])
        wanted = 1 if lead > BAND else -1 if lead < -BAND else side
        if wanted != side and bars[k] + 1 < len(nifty_df):
            side = wanted
            rows.append((bars[k] + 1, side * 1.0, -side * round(nifty[k] / bank[k], 4)))
    return pd.DataFrame(rows, columns=["bar", "nifty_position", "banknifty_position"])
