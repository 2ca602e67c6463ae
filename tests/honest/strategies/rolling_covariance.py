"""Mean-variance weights from a trailing covariance, refitted every five days."""

import numpy as np


def target_weights(panel, train_end):
    returns = panel.close.pct_change(fill_method=None)

    table = np.nan_to_num(returns.to_numpy())
    weights = np.zeros(table.shape)
    for row in range(120, len(table), 30):
        spread = np.cov(table[row - 120 : row].T) + 1e-6 * np.eye(table.shape[1])
        ideal = np.linalg.solve(spread, table[row - 30 : row].mean(axis=0))
        weights[row : row + 30] = 0.9 * ideal / np.abs(ideal).sum()
    return panel.close * 0 + weights
