"""An answer that depends on luck."""

import numpy as np
import pandas as pd


def target_weights(panel, train_end):
    noise = np.random.standard_normal(panel.close.shape)
    return pd.DataFrame(np.sign(noise), panel.close.index, panel.close.columns) / panel.close.shape[1]
