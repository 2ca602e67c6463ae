"""Weights once a week, NaN (hold) between."""

import numpy as np


def target_weights(panel, train_end):
    times = panel.close.index
    past = np.sign(panel.close.pct_change(60, fill_method=None)).fillna(0.0) / panel.close.shape[1]
    monday = (times.dayofweek == 0) & (times.hour == 0)
    return past[monday].reindex(times)
