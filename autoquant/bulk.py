"""Making very many objects at once."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    """No search for reference cycles inside: for work that makes hundreds of thousands of objects and few cycles.

    Python searches again and again as the number of living objects grows, looks at each of them every time, and finds
    nothing: a third of the time that a big race takes to read. Memory is freed as ever where the last reference goes.
    """
    searching = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if searching:
            gc.enable()
