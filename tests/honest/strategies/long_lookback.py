"""Says nothing before three months of history: windows have to grow."""

import numpy as np


def target_weights(panel, train_end):
    past = panel.close.pct_change(500, fill_method=None)
    return np.sign(past).fillna(0.0) / panel.close.shape[1]
