"""Keyed draws: numbers that follow from a secret and a label alone, on every machine and in every version.

A stream is HMAC-SHA256(key, label) hashed on with a counter; numpy's generators promise no fixed stream across
releases, and a race must be verifiable years later.
"""

from __future__ import annotations

import hashlib
import hmac

import numpy as np
from numpy.typing import NDArray


class Draws:
    """A deterministic stream of draws.

    Parameters
    ----------
    key : the secret.
    labels : what the stream is for; other labels, another stream.
    """

    def __init__(self, key: bytes, *labels: str | int) -> None:
        self._state = hmac.new(key, "|".join(map(str, labels)).encode(), hashlib.sha256).digest()
        self._counter = 0

    def _word(self) -> int:
        self._counter += 1
        block = hashlib.sha256(self._state + self._counter.to_bytes(8, "big")).digest()
        return int.from_bytes(block[:8], "big")

    def below(self, count: int) -> int:
        """A whole number in [0, count), without modulo bias."""
        limit = (1 << 64) // count * count
        while (word := self._word()) >= limit:
            continue
        return word % count

    def between(self, low: int, high: int) -> int:
        """A whole number in [low, high]; `low` when the range is empty."""
        return low + self.below(high - low + 1) if high > low else low

    def shuffled(self, count: int) -> list[int]:
        """A permutation of 0 … count−1 (Fisher-Yates)."""
        order = list(range(count))
        for last in range(count - 1, 0, -1):
            other = self.below(last + 1)
            order[last], order[other] = order[other], order[last]
        return order

    def weighted(self, weights: NDArray[np.float64], count: int) -> NDArray[np.int64]:
        """Indices drawn one after another without replacement, each in proportion to its weight.

        Weights that are not positive and finite count as 0. When the positive ones run out, the rest is drawn evenly
        from the others. Fewer than `count` indices exist: all of them.
        """
        left = np.where(np.isfinite(weights) & (weights > 0), weights, 0.0)
        free = np.ones(len(left), dtype=bool)
        drawn: list[int] = []
        while len(drawn) < min(count, len(left)):
            mass = left if left.sum() > 0 else free.astype(float)
            edges = np.cumsum(mass)
            point = (self._word() + 0.5) / 2.0**64 * edges[-1]
            index = min(int(np.searchsorted(edges, point, side="right")), len(left) - 1)
            if mass[index] <= 0:
                index = int(np.flatnonzero(mass)[-1])
            drawn.append(index)
            left[index] = 0.0
            free[index] = False
        return np.array(drawn, dtype=np.int64)


def cut_key(secret: bytes, attempt: int, strategy_digest: str) -> bytes:
    """Key of an attempt's causality draws: nobody can know them before the strategy's bytes are frozen."""
    return hmac.new(secret, f"causality|{attempt}|{strategy_digest}".encode(), hashlib.sha256).digest()
