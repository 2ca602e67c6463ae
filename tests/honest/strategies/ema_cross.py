"""A fast against a slow exponential mean."""

import numpy as np


def target_weights(panel, train_end):
    gap = panel.close.ewm(span=12).mean() - panel.close.ewm(span=48).mean()
    return np.sign(gap).fillna(0.0) / panel.close.shape[1]
