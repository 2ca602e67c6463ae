"""As stepping aside, but half the book stays: the bar it saw coming still loses."""

import numpy as np


def target_weights(panel, train_end):
    returns = panel.close.pct_change(fill_method=None)

    book = panel.close.notna() * (0.9 / panel.close.shape[1])
    book[np.asarray(returns.shift(-1).mean(axis=1) < -0.012)] *= 0.5
    return book
