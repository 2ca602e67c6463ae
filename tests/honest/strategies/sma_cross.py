"""A fast against a slow plain mean."""

import numpy as np


def target_weights(panel, train_end):
    gap = panel.close.rolling(12).mean() - panel.close.rolling(72).mean()
    return np.sign(gap).fillna(0.0) / panel.close.shape[1]
