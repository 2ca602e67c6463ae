"""Tomorrow by fancy indexing, the last row pointing at itself."""

import numpy as np


def target_weights(panel, train_end):
    values = panel.close.to_numpy()
    following = values[np.minimum(np.arange(len(values)) + 1, len(values) - 1)]
    return panel.close * 0 + np.sign(np.nan_to_num(following - values)) / values.shape[1]
