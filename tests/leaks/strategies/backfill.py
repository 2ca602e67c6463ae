"""A daily value filled backward."""

import numpy as np


def target_weights(panel, train_end):
    daily = panel.close[panel.close.index.hour == 20].reindex(panel.close.index)
    return np.sign(daily.bfill() - panel.close).fillna(0.0) / panel.close.shape[1]
