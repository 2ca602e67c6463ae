"""Did you mean: the known word that a mistyped one is closest to."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def known_words(word: str, known: Iterable[str]) -> str:
    """What to say after an unknown word: the nearest known one, if one is near, and all of them.

    >>> known_words("colur", ("name", "colour"))
    "did you mean 'colour'? known: name, colour"
    >>> known_words("x", ("name", "colour"))
    'known: name, colour'
    """
    words = tuple(known)
    near = difflib.get_close_matches(word, words, 1, 0.7)
    return (f"did you mean {near[0]!r}? " if near else "") + f"known: {', '.join(words)}"
