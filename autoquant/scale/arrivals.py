"""Answers, by key, each counted once.

A scheduler that loses a worker runs its task again; the first run may have answered all the same, and a worker that was
only slow may answer later. Equal keys have equal answers, so the first one counts and whatever comes after is dropped.
"""

from __future__ import annotations


class Arrivals:
    """What has come of the work with these keys."""

    def __init__(self, keys: frozenset[str]) -> None:
        self._keys = keys
        self._come: set[str] = set()

    def take(self, key: str) -> bool:
        """Whether this answer is the one that counts: somebody asked, and none came before.

        >>> arrivals = Arrivals(frozenset({"a"}))
        >>> arrivals.take("a"), arrivals.take("a"), arrivals.take("b"), arrivals.whole
        (True, False, False, True)
        """
        if key not in self._keys or key in self._come:
            return False
        self._come.add(key)
        return True

    @property
    def whole(self) -> bool:
        """Whether everything has come."""
        return len(self._come) == len(self._keys)
