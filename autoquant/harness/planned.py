"""Kinds of agent CLI that a roster may name although this version has no adapter for them."""

from __future__ import annotations

from dataclasses import dataclass

from autoquant.errors import HarnessFault
from autoquant.harness.base import Availability, Competitor, SessionPlan, SessionRequest


@dataclass(frozen=True)
class PlannedHarness:
    """Reports that it cannot run, so that doctor and start can say it in one line."""

    title: str

    def check(self, competitor: Competitor) -> Availability:
        """Never available."""
        return Availability(
            ok=False,
            problem=f"no adapter for harness {competitor.harness!r} ({self.title}) in this version",
            hint='leave it out (--competitors …, --skip-missing), or drive its CLI with harness = "command"',
        )

    def session(self, competitor: Competitor, request: SessionRequest) -> SessionPlan:
        """Refuses.

        Raises
        ------
        HarnessFault : always; names the competitor and the session that was asked for.
        """
        raise HarnessFault(
            f"{competitor.name}: session {request.number} needs harness {competitor.harness!r} ({self.title}), "
            "which this version cannot start"
        )
