"""Reference solution of the easy task: SMA(20) against SMA(50) on NIFTY closes, in force from the next bar."""

import numpy as np
import pandas as pd

FAST, SLOW = 20, 50


def generate_trades(df: pd.DataFrame) -> pd.DataFrame:
    """Rows of bar and position."""
    close = df["Close_nifty"]
    signal = np.sign((close.rolling(FAST).mean() - close.rolling(SLOW).mean()).fillna(0.0).to_numpy())
    signal[:SLOW] = 0.0
    position = np.concatenate([[0.0], signal[:-1]])
    bars = np.flatnonzero(np.diff(position, prepend=0.0))
    return pd.DataFrame({"bar": bars, "position": position[bars].astype(int)})
