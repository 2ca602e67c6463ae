"""One small adapter per agent CLI, a generic command, and the embedded control competitors."""

from __future__ import annotations

from autoquant.harness.antigravity import AntigravityHarness
from autoquant.harness.base import Availability, Competitor, Harness, SessionPlan, SessionRequest
from autoquant.harness.claude import ClaudeHarness
from autoquant.harness.codex import CodexHarness
from autoquant.harness.command import CommandHarness
from autoquant.harness.control import ControlHarness
from autoquant.harness.gemini import GeminiHarness
from autoquant.harness.grok import GrokHarness
from autoquant.harness.opencode import OpencodeHarness

ADAPTERS: dict[str, Harness] = {
    "antigravity": AntigravityHarness(),
    "claude": ClaudeHarness(),
    "codex": CodexHarness(),
    "command": CommandHarness(),
    "control": ControlHarness(),
    "gemini": GeminiHarness(),
    "grok": GrokHarness(),
    "opencode": OpencodeHarness(),
}
"""Kinds of program, the keys of `harness` in competitors.toml."""

KINDS = tuple(sorted(ADAPTERS))


def harness_of(competitor: Competitor) -> Harness:
    """The adapter of a competitor."""
    return ADAPTERS[competitor.harness]


__all__ = [
    "ADAPTERS",
    "KINDS",
    "Availability",
    "Competitor",
    "Harness",
    "SessionPlan",
    "SessionRequest",
    "harness_of",
]
