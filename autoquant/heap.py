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


def give_back() -> bool:
    """Give free memory back to the system; False where the C library cannot, or had none.

    glibc does so by itself only with what lies at a heap's end: a few small things that live on hold all that was freed
    below them. It takes some milliseconds, and as many when the memory is taken again.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    return trim is not None and trim(0) == 1
