"""A negative shift whose amount no text search finds."""

import numpy as np


def target_weights(panel, train_end):
    returns = panel.close.pct_change(fill_method=None)
    amount = len("ab") - int(np.ceil(2.1))
    return np.sign(returns.shift(amount)) / panel.close.shape[1]
