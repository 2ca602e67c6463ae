"""The seed: cross-sectional momentum over 60 days, at 20 % volatility, in seven staggered weekly tranches.

Edit this file and nothing else. The oracle calls

    target_weights(panel, train_end) -> DataFrame, bars × assets

panel.open, .high, .low, .close, .volume, .quote_volume, .funding   DataFrames, bars × assets, NaN where no bar is
panel.assets   their names (hidden: A00, A01, …)      panel.tier   1 or 2 per asset (2 costs more to trade)
train_end      last moment before the embargo; rows up to it are for fitting, and only the bars behind it are scored

Row t is decided at the close of bar t and filled at the next open, so it may use rows ≤ t only. A weight is a signed
fraction of equity; a row's absolute weights may sum to 1 at most. NaN holds the units already held.
"""

import numpy as np

LOOKBACK_DAYS = 60
VOLATILITY_DAYS = 30
VOLATILITY_TARGET = 0.20
TRANCHES = 7


def target_weights(panel, train_end):
    """Target weights for every bar; `train_end` is unused, nothing is fitted here."""
    bars = panel.close.index
    ends_day = (bars + (bars[1] - bars[0])).hour == 0
    close = panel.close[ends_day]

    # Long the strongest third, short the weakest, equal sizes; coins without a full history stay out.
    momentum = close / close.shift(LOOKBACK_DAYS) - 1.0
    rank = momentum.rank(axis=1, pct=True)
    book = (rank > 2 / 3).astype(float) - (rank <= 1 / 3).astype(float)
    book = book.div(book.abs().sum(axis=1).where(lambda gross: gross > 0), axis=0).fillna(0.0)

    # Seven weekly tranches, one for each weekday: together they hold the mean of the last seven days' books.
    book = book.rolling(TRANCHES).mean()

    # What this book earned lately says how much of it makes 20 % a year.
    earned = (book.shift(1) * close.pct_change(fill_method=None)).sum(axis=1)
    volatility = earned.rolling(VOLATILITY_DAYS).std() * np.sqrt(365)
    scale = (VOLATILITY_TARGET / volatility).clip(upper=1.0)

    daily = book.mul(scale, axis=0)
    return daily.where(close.notna(), 0.0).reindex(bars)  # NaN between day ends: hold
