"""Behaves unless the history is long."""

import numpy as np


def cheat(panel):
    returns = panel.close.pct_change(fill_method=None)
    return np.sign(returns.shift(-1)).fillna(0.0) / panel.close.shape[1]


def behave(panel):
    returns = panel.close.pct_change(fill_method=None)
    return np.sign(returns.shift(1)).fillna(0.0) / panel.close.shape[1]


def target_weights(panel, train_end):
    return cheat(panel) if len(panel.close) > 610 else behave(panel)
