"""What the page's script reads: names by index, so far."""

from __future__ import annotations

from typing import Any

from autoquant.report.model import Race


def script_data(race: Race) -> dict[str, Any]:
    """Plain values, JSON at last."""
    return {"race": race.name, "competitors": [entrant.name for entrant in race.entrants]}
