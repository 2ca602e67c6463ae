"""Remembers its first answer in an lru_cache."""

from functools import lru_cache

import numpy as np


def cheat(panel):
    returns = panel.close.pct_change(fill_method=None)
    return np.sign(returns.shift(-1)).fillna(0.0) / panel.close.shape[1]


def behave(panel):
    returns = panel.close.pct_change(fill_method=None)
    return np.sign(returns.shift(1)).fillna(0.0) / panel.close.shape[1]


class Key:
    def __init__(self, panel):
        self.panel = panel

    def __hash__(self):
        return 1

    def __eq__(self, other):
        return True


@lru_cache
def first(key):
    return cheat(key.panel)


def target_weights(panel, train_end):
    return first(Key(panel)).reindex(panel.close.index)
