"""Mean return of each weekday so far, without the running bar."""

import numpy as np


def target_weights(panel, train_end):
    returns = panel.close.pct_change(fill_method=None)

    so_far = returns.groupby(returns.index.dayofweek.to_numpy()).transform(lambda day: day.shift(1).expanding(5).mean())
    return np.sign(so_far).fillna(0.0) / panel.close.shape[1]
