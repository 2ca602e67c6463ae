"""A one-sided recursive filter."""

import numpy as np
from scipy.signal import butter, lfilter


def target_weights(panel, train_end):
    returns = panel.close.pct_change(fill_method=None)

    b, a = butter(2, 0.1)
    smooth = lfilter(b, a, np.nan_to_num(returns.to_numpy()), axis=0)
    return panel.close * 0 + np.clip(100 * smooth, -1, 1) / smooth.shape[1]
