"""An answer that depends on when it is asked."""

import numpy as np
import pandas as pd


def target_weights(panel, train_end):
    returns = panel.close.pct_change(fill_method=None)
    moment = pd.Timestamp.now().microsecond / 1e6
    return np.sign(returns).fillna(0.0) * moment / panel.close.shape[1]
