"""The two searchers without skill: both choose the next file without looking at prices or scores.

The only feedback is the race's own: which strategy.py stands in the worktree when the next experiment starts.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator

from autoquant.harness.family import SEED_LIKE, Member, draw, mutate

DRAWS_PER_EXPERIMENT = 20
"""A draw that repeats an earlier file is answered without being counted; then the next draw is tried."""
DRAWS_PER_STEP = 10
Searcher = Callable[[Member | None, random.Random], Iterator[tuple[Member, str]]]


def independent(parent: Member | None, rng: random.Random) -> Iterator[tuple[Member, str]]:
    """Members drawn one by one, whatever stands in the worktree."""
    while True:
        yield draw(rng), "independent draw"


def hillclimb(parent: Member | None, rng: random.Random) -> Iterator[tuple[Member, str]]:
    """Small changes of the working parent; of the seed's nearest relative as long as the seed itself is the parent.

    Each `DRAWS_PER_STEP` draws the change has one step more: after some hundred experiments all neighbours of a parent
    are on record, and whoever asked for them alone would be out of ideas with budget left.
    """
    start = SEED_LIKE if parent is None else parent
    for number in itertools.count():
        member = start
        for _ in range(1 + number // DRAWS_PER_STEP):
            member = mutate(member, rng)
        changed = [f"{name} {start[name]} -> {member[name]}" for name in member if member[name] != start[name]]
        if changed:
            yield member, "; ".join(changed)


SEARCHERS: dict[str, Searcher] = {"random": independent, "hillclimb": hillclimb}


def stream(seed: int, experiment: int) -> random.Random:
    """The draws of one experiment: the same after a restart, independent of all others.

    >>> stream(1, 7).random() == stream(1, 7).random() != stream(1, 8).random()
    True
    """
    return random.Random(f"autoquant control {seed} {experiment}")
