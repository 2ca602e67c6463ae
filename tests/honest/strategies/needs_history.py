"""Raises on a history too short for it: windows have to grow."""

import numpy as np


def target_weights(panel, train_end):
    if len(panel.close) < 450:
        raise ValueError("too short")
    return np.sign(panel.close.diff(12)).fillna(0.0) / panel.close.shape[1]
