"""An answer that depends on how many rows there are."""

import numpy as np


def target_weights(panel, train_end):
    returns = panel.close.pct_change(fill_method=None)
    sign = 1.0 if len(panel.close) % 2 else -1.0
    return sign * np.sign(returns.rolling(5).mean()).fillna(0.0) / panel.close.shape[1]
