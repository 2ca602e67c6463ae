"""Cross-sectional momentum."""


def target_weights(panel, train_end):
    past = panel.close.pct_change(120, fill_method=None)
    centred = past.sub(past.mean(axis=1), axis=0)
    return centred.div(centred.abs().sum(axis=1), axis=0).fillna(0.0)
