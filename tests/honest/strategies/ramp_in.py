"""Nothing at first, then step by step."""

import numpy as np


def target_weights(panel, train_end):
    returns = panel.close.pct_change(fill_method=None)
    seen = returns.notna().cumsum()
    ramp = ((seen - 60) / 120).clip(0.0, 1.0)
    return np.sign(returns.rolling(30).mean()).fillna(0.0) * ramp / panel.close.shape[1]
