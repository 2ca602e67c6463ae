"""Ranks across assets of a rolling return."""


def target_weights(panel, train_end):
    rank = panel.close.pct_change(42, fill_method=None).rolling(18).mean().rank(axis=1, pct=True)
    return rank.sub(rank.mean(axis=1), axis=0).fillna(0.0) / panel.close.shape[1]
