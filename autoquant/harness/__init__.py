"""One small adapter per agent CLI, a generic command, and the embedded control competitors."""

from __future__ import annotations

from autoquant.harness.base import Availability, Competitor, Harness, SessionPlan, SessionRequest
from autoquant.harness.command import CommandHarness
from autoquant.harness.control import ControlHarness
from autoquant.harness.planned import PlannedHarness

ADAPTERS: dict[str, Harness] = {"command": CommandHarness(), "control": ControlHarness()}
"""Kinds that can be started."""

PLANNED = {"grok": "Grok", "codex": "Codex", "antigravity": "Antigravity CLI"}
"""Kinds a roster may name before this version can start them, and how to call them."""

KINDS = tuple(sorted({*ADAPTERS, *PLANNED}))


def harness_of(competitor: Competitor) -> Harness:
    """The adapter of a competitor; a planned kind gets one that only says so."""
    return ADAPTERS.get(competitor.harness) or PlannedHarness(PLANNED[competitor.harness])


__all__ = [
    "ADAPTERS",
    "KINDS",
    "PLANNED",
    "Availability",
    "Competitor",
    "Harness",
    "SessionPlan",
    "SessionRequest",
    "harness_of",
]
