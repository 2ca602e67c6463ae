"""A threshold that the whole sample sets."""


def target_weights(panel, train_end):
    returns = panel.close.pct_change(fill_method=None)
    return returns.lt(returns.quantile(0.2)).astype(float) / panel.close.shape[1]
