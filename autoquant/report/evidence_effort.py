"""How much is drawn for a race's statistics: everything for a race of usual size, less for a huge one, and said so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

SEED = 20_261_130
"""Random numbers depend on this, on the statistic and on the competitor's place alone."""
TRIALS_WHOLE = 2_000
"""Up to so many attempts with returns in a race, PBO looks at all of them."""
COLUMNS_ALL, COLUMNS_LEAST = 2_000, 40
DRAWS_ALL, DRAWS_ALL_THINNED = 50_000, 25_000
"""Of N*, by all competitors together: each draw takes a normal number a day, whatever the number of attempts."""
DRAWS_TIMES_TRIALS, DRAWS_MOST, DRAWS_LEAST = 7_500_000, 10_000, 300
PANELS_ALL, PANELS_MOST, PANELS_LEAST = 500, 100, 15
SEARCHES_MOST = 60
"""Competitors, by standing, whose search is looked into."""
CHAMPIONS_MOST = 60
"""Different champions that are compared pair by pair."""


@dataclass(frozen=True)
class Effort:
    """Sizes of what is drawn."""

    columns: int | None
    """Attempts of one competitor that PBO looks at; None for all."""
    draws: int
    """Of N*."""
    panels: int
    """Of PBO's noise band."""
    resamples: int
    """Of the scores."""

    @property
    def thinned(self) -> bool:
        """Whether the race is too large for the whole of it."""
        return self.columns is not None


def effort(trials: Sequence[int]) -> Effort:
    """Sizes for a race whose competitors have so many attempts with daily returns.

    >>> effort([150] * 5)
    Effort(columns=None, draws=10000, panels=100, resamples=2000)
    >>> effort([1000] * 50)
    Effort(columns=40, draws=300, panels=15, resamples=1000)
    """
    everything, racers = max(1, sum(trials)), max(1, len(trials))
    whole = everything <= TRIALS_WHOLE
    draws = (DRAWS_ALL if whole else DRAWS_ALL_THINNED) // racers
    return Effort(
        columns=None if whole else max(COLUMNS_LEAST, COLUMNS_ALL // racers),
        draws=min(DRAWS_MOST, max(DRAWS_LEAST, min(draws, DRAWS_TIMES_TRIALS // everything))),
        panels=min(PANELS_MOST, max(PANELS_LEAST, PANELS_ALL // racers)),
        resamples=2_000 if racers <= 10 else 1_000,
    )


def pair_samples(pairs: int) -> int | None:
    """Bootstrap samples for each of so many pairs; None where no affordable number resolves what Holm asks for.

    >>> [pair_samples(pairs) for pairs in (1, 10, 45, 1225)]
    [4999, 4999, 1999, None]
    """
    return 4_999 if pairs <= 10 else 1_999 if pairs <= 45 else None


def generator(statistic: int, index: int = 0) -> np.random.Generator:
    """The random numbers of one statistic of one competitor."""
    return np.random.default_rng([SEED, statistic, index])
