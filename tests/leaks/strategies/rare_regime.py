"""A peek on one bar in a hundred, flat otherwise but for a trickle."""

import numpy as np


def target_weights(panel, train_end):
    returns = panel.close.pct_change(fill_method=None)

    jump = returns.abs().mean(axis=1)
    rare = jump > jump.expanding(100).quantile(0.97)
    peek = np.sign(returns.shift(-1)).fillna(0.0)
    calm = np.sign(returns.rolling(60, min_periods=20).mean()).fillna(0.0) * 0.2
    return peek.where(rare, calm, axis=0) / panel.close.shape[1]
