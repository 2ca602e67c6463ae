"""Can I check: digests, the commands that make every number again, and the words of the contest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from autoquant.ledger.layout import RaceLayout
from autoquant.protocol import PROTOCOL
from autoquant.report import sources
from autoquant.report.model import Race


def context(race: Race) -> dict[str, Any]:
    """Names for `panels/provenance.html.j2`."""
    return {
        "p": race.provenance,
        "blob_folder": RaceLayout(Path("demo/state" if race.demo else "state"), race.name).blob("").as_posix(),
        "full_samples": PROTOCOL.calibration.samples,
        "archive": sources.ARCHIVE,
        "official_folds": PROTOCOL.ratchet.official_folds,
        "search_folds": PROTOCOL.ratchet.search_folds,
        "search_delta": PROTOCOL.ratchet.search_delta,
    }
