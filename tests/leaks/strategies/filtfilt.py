"""A filter run forward and back."""

import numpy as np
from scipy.signal import butter, filtfilt


def target_weights(panel, train_end):
    level = np.log(panel.close.ffill().bfill())
    b, a = butter(2, 0.1)
    smooth = filtfilt(b, a, level, axis=0)
    return (smooth - level).clip(-0.1, 0.1) * 10 / panel.close.shape[1]
