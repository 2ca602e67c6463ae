"""Orders on the last bar of a month, told from the clock alone; units held between."""

import numpy as np


def target_weights(panel, train_end):
    returns = panel.close.pct_change(fill_method=None)

    bars = panel.close.index
    ends_month = (bars + (bars[1] - bars[0])).month != bars.month
    return np.sign(returns.rolling(60).mean()).mul(np.where(ends_month, 1.0, np.nan), axis=0) / panel.close.shape[1]
