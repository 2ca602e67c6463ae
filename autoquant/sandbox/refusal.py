"""How a child says that an answer has a shape the interface does not know."""

from __future__ import annotations


class RefusedError(Exception):
    """The first argument is the kind, the second a sentence."""
