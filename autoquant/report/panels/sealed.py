"""Is it real: the sealed year, or the empty year before it opens."""

from __future__ import annotations

import datetime as dt
from typing import Any

from autoquant.protocol import PROTOCOL
from autoquant.report import sealed, text
from autoquant.report.frames import Drawing
from autoquant.report.model import LockboxStage, Race


def context(race: Race) -> dict[str, Any]:
    """Names for `panels/sealed.html.j2`."""
    reasons = sorted({verdict.missing for verdict in race.lockbox.verdicts if verdict.missing})
    return {
        "sealed_chart": _chart(race),
        "sealed_reason": text.listing(reasons) or "the reserved set is empty",
        "sealed_last": (dt.date.fromisoformat(race.lockbox.end) - dt.timedelta(days=1)).isoformat(),
        "confirmed_probability": PROTOCOL.confirmed_probability,
    }


def _chart(race: Race) -> Drawing | None:
    if race.lockbox.stage is LockboxStage.SEALED:
        ended = sum(entrant.ended is not None for entrant in race.entrants)
        words = f"Sealed: {ended} of {text.count(len(race.entrants), 'competitor')} done."
        return Drawing.of(lambda width: sealed.sealed_empty(race, width, words))
    if not any(verdict.daily_returns for verdict in race.lockbox.verdicts):
        return None
    return Drawing.of(lambda width: sealed.sealed_chart(race, width))
