"""A centred mean."""

import numpy as np


def target_weights(panel, train_end):
    mean = panel.close.rolling(9, center=True).mean()
    return np.sign(mean - panel.close).fillna(0.0) / panel.close.shape[1]
