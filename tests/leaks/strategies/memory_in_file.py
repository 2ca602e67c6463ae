"""Remembers its first answer in a file, where it can."""

import numpy as np
import pandas as pd


def cheat(panel):
    returns = panel.close.pct_change(fill_method=None)
    return np.sign(returns.shift(-1)).fillna(0.0) / panel.close.shape[1]


def behave(panel):
    returns = panel.close.pct_change(fill_method=None)
    return np.sign(returns.shift(1)).fillna(0.0) / panel.close.shape[1]


def target_weights(panel, train_end):
    answer = cheat(panel)
    for place in ("/tmp/autoquant-memory.csv", "/dev/shm/autoquant-memory.csv"):
        try:
            return pd.read_csv(place, index_col=0, parse_dates=True).reindex(panel.close.index)
        except Exception:
            try:
                answer.to_csv(place)
            except Exception:
                continue
    return answer
