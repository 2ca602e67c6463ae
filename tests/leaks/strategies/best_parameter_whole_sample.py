"""The best of forty lookbacks for each asset, by what the whole sample paid."""

import numpy as np


def target_weights(panel, train_end):
    level = np.log(panel.close.ffill())
    ahead = level.diff().shift(-1)
    paid = {bars: (np.sign(level.diff(bars)) * ahead).sum() for bars in range(2, 42)}
    weights = level * 0.0
    for asset in panel.assets:
        best = max(paid, key=lambda bars: paid[bars][asset])
        weights[asset] = np.sign(level[asset].diff(best))
    return weights.fillna(0.0) / panel.close.shape[1]
