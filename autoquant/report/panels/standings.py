"""Who won: the leaderboard with the folds of every champion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autoquant.report import glyphs
from autoquant.report.model import Race, Standing


def context(race: Race, table: Sequence[Standing]) -> dict[str, Any]:
    """Names for `panels/standings.html.j2`."""
    return {
        "domain": glyphs.fold_domain(race),
        "seed_verdict": next((v for v in race.lockbox.verdicts if v.competitor is None), None),
    }
