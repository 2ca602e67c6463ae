"""Luck from the standard library."""

import random

import numpy as np


def target_weights(panel, train_end):
    returns = panel.close.pct_change(fill_method=None)
    return np.sign(returns).fillna(0.0) * random.random() / panel.close.shape[1]
