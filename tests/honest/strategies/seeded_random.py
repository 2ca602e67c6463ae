"""Random numbers from a fixed seed, one per row, drawn in the order of the rows."""

import numpy as np


def target_weights(panel, train_end):
    draws = np.random.default_rng(1).random(panel.close.shape)
    return panel.close * 0 + (draws > 0.5) * 0.5 / panel.close.shape[1]
