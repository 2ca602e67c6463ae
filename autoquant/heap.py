"""Where the memory of this process comes from."""

from __future__ import annotations

import ctypes

_M_ARENA_MAX = -8
"""glibc's number for it, from malloc.h."""


def share_heaps(most: int = 2) -> bool:
    """Have all threads take memory from `most` heaps; False where the C library has no such setting.

    glibc gives each new thread a heap of its own, up to eight for a core, and what was freed in one serves no thread of
    another: an arena kept more the more racers it had. Heaps that are there stay, so this comes before the threads.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    return mallopt is not None and mallopt(_M_ARENA_MAX, most) == 1
