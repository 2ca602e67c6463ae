"""A slope taken from both sides."""

import numpy as np


def target_weights(panel, train_end):
    level = np.log(panel.close.ffill().bfill())
    slope = level.apply(np.gradient)
    return np.sign(slope) / panel.close.shape[1]
