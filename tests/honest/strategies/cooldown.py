"""After a loss it sits out for a while: a state machine in a loop."""

import numpy as np
import pandas as pd


def target_weights(panel, train_end):
    returns = panel.close.pct_change(fill_method=None).fillna(0.0).to_numpy()
    weights = np.zeros_like(returns)
    pause = np.zeros(returns.shape[1], dtype=int)
    for row in range(1, len(returns)):
        loss = weights[row - 1] * returns[row] < -0.002
        pause = np.where(loss, 12, np.maximum(pause - 1, 0))
        weights[row] = np.where(pause > 0, 0.0, np.sign(returns[row])) / panel.close.shape[1]
    return pd.DataFrame(weights, panel.close.index, panel.close.columns)
