"""Turns its sign by the date on which history ends."""

import numpy as np


def target_weights(panel, train_end):
    returns = panel.close.pct_change(fill_method=None)

    sign = 1.0 if panel.close.index[-1].dayofyear % 3 else -1.0
    return sign * np.sign(returns.rolling(10).mean()).fillna(0.0) / panel.close.shape[1]
