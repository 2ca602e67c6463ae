"""How the arena speaks while it works; the command passes it in, tests pass their own."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

Update = Callable[[int, int], None]
"""Called with (done, total)."""


def _silent(title: str) -> AbstractContextManager[Update]:
    return nullcontext(lambda done, total: None)


@dataclass(frozen=True)
class Voice:
    """Progress and notes; the answer itself is what a function returns.

    Parameters
    ----------
    say : one line, at once.
    progress : opens a progress bar of that title.
    live : whether notes go to a terminal, so that a table can be redrawn in place.
    """

    say: Callable[[str], None] = lambda line: None
    progress: Callable[[str], AbstractContextManager[Update]] = _silent
    live: bool = False
