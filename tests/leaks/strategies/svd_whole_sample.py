"""First principal component of all rows."""

import numpy as np


def target_weights(panel, train_end):
    returns = panel.close.pct_change(fill_method=None)

    table = np.nan_to_num(returns.to_numpy())
    left, size, right = np.linalg.svd(table - table.mean(axis=0), full_matrices=False)
    return panel.close * 0 + np.sign(np.outer(left[:, 0] * size[0], right[0])) / table.shape[1]
