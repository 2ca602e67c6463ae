"""Ranks of rounded returns, ties by order of columns."""

import numpy as np


def target_weights(panel, train_end):
    returns = panel.close.pct_change(fill_method=None)

    rank = (50 * returns.rolling(12).sum()).round().rank(axis=1, method="first", pct=True)
    return ((rank > 0.7) * 1.0 - (rank <= 0.3) * 1.0) / panel.close.shape[1]
