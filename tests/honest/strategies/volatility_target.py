"""A steady share of risk per asset."""

import numpy as np


def target_weights(panel, train_end):
    returns = panel.close.pct_change(fill_method=None)
    risk = returns.rolling(120, min_periods=40).std() * np.sqrt(2190)
    return (0.4 / risk).clip(upper=1.0).fillna(0.0) / panel.close.shape[1]
