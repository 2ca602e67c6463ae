"""Columns in the order of a set."""

import numpy as np
import pandas as pd


def target_weights(panel, train_end):
    returns = panel.close.pct_change(fill_method=None)

    columns = {}
    for asset in set(panel.assets):
        columns[asset] = np.sign(returns[asset].rolling(20).mean()).fillna(0.0) / panel.close.shape[1]
    return pd.DataFrame(columns)
