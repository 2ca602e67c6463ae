"""Draw the page again and again while a race runs."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

from autoquant.clock import Clock
from autoquant.errors import AutoQuantError

SECONDS = 60
"""After so many a watched page is drawn again, and an open one takes its new version."""


def redraw(draw: Callable[[], object], clock: Clock, note: Callable[[str], None], *, rounds: int | None = None) -> None:
    """Call `draw` now and every minute, for ever or `rounds` times.

    The first failure ends it, since the command line is then wrong; a later one is noted and the old page stays.
    """
    draw()
    for _ in count() if rounds is None else range(rounds - 1):
        clock.sleep(SECONDS)
        try:
            draw()
        except AutoQuantError as error:
            note(f"page not renewed: {error.message}")
        except OSError as error:  # a disk that is away for a moment
            note(f"page not renewed: {error.strerror or error}")
