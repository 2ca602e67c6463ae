"""What is still to come, summed from the end."""


def target_weights(panel, train_end):
    returns = panel.close.pct_change(fill_method=None)
    left = returns.fillna(0.0)[::-1].cumsum()[::-1].shift(-1)
    return left.clip(-1, 1).fillna(0.0) / panel.close.shape[1]
