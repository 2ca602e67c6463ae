"""Where prices came from, in words that nobody can miss unless it is the archive itself."""

from __future__ import annotations

from autoquant.report.model import Source
from autoquant.report.text import clean

ARCHIVE = "binance-archive"
SYNTHETIC = "synthetic"


def describe(name: str | None) -> Source:
    """The source named in a manifest or a race's first record; None when nothing says.

    >>> describe("synthetic").stamp
    'SYNTHETIC'
    >>> describe("binance-archive").banner
    ''
    """
    if name == ARCHIVE:
        return Source(name, "Binance USD-M archive", synthetic=False, banner="", stamp="")
    if name == SYNTHETIC:
        banner = (
            "Synthetic market. A random generator made these prices. "
            "No score on this page is a market result, and none says anything about one."
        )
        return Source(name, "synthetic market", synthetic=True, banner=banner, stamp="SYNTHETIC")
    if name is None:
        banner = (
            "Unknown prices. Nothing on record says which data these scores were computed on; "
            "read none as a market result."
        )
        return Source("", "prices of unknown source", synthetic=False, banner=banner, stamp="SOURCE UNKNOWN")
    words = clean(name, 120)
    banner = (
        f"Not the Binance archive. Prices came from {words}, which was allowed by hand. "
        "Scores depend on what that place served and are not a published result."
    )
    return Source(words, f"prices from {words}", synthetic=False, banner=banner, stamp="NOT THE ARCHIVE")
