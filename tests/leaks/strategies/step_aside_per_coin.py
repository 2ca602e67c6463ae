"""Leaves a coin out for the two days in which it falls."""

import numpy as np


def target_weights(panel, train_end):
    book = panel.close.notna() * (0.9 / panel.close.shape[1])
    ahead = panel.close.shift(-12) / panel.close - 1.0
    return book.where(~(ahead < -0.06), 0.0)
