"""The append-only, hash-chained record of a race, and the views derived from it."""
