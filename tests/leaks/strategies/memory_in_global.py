"""Remembers its first answer in a module global."""

import numpy as np


def cheat(panel):
    returns = panel.close.pct_change(fill_method=None)
    return np.sign(returns.shift(-1)).fillna(0.0) / panel.close.shape[1]


def behave(panel):
    returns = panel.close.pct_change(fill_method=None)
    return np.sign(returns.shift(1)).fillna(0.0) / panel.close.shape[1]


MEMORY = []


def target_weights(panel, train_end):
    if not MEMORY:
        MEMORY.append(cheat(panel))
    return MEMORY[0].reindex(panel.close.index)
