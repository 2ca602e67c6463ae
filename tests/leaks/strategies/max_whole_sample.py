"""Distance from the sample's highest close."""


def target_weights(panel, train_end):
    return (1.0 - panel.close / panel.close.max()).fillna(0.0) / panel.close.shape[1]
