"""In cash whenever the market was rough, often for weeks."""

import numpy as np


def target_weights(panel, train_end):
    returns = panel.close.pct_change(fill_method=None)
    rough = returns.mean(axis=1).rolling(60).mean()
    return (
        np.sign(returns.rolling(30).mean()).fillna(0.0).mul((rough > 0.0).astype(float), axis=0) / panel.close.shape[1]
    )
