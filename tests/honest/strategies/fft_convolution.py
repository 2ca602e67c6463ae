"""A trailing sum by FFT: rounding depends on the length, the decision does not."""

import numpy as np
from scipy.signal import fftconvolve


def target_weights(panel, train_end):
    returns = panel.close.pct_change(fill_method=None)

    table = np.nan_to_num(returns.to_numpy())
    summed = fftconvolve(table, np.ones((9, 1)), axes=0)[: len(table)]
    return panel.close * 0 + np.clip(20 * summed, -1, 1) / table.shape[1]
