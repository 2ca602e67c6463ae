"""The embedded controls: searchers without skill, the honest baseline of every race.

They edit strategy.py and call run.py like any agent, in their own process, with nothing an agent does not have.
"""

from __future__ import annotations

import sys
from pathlib import Path

from autoquant.harness.base import Availability, Competitor, Refusal, SessionPlan, SessionRequest
from autoquant.harness.machine import Machine
from autoquant.harness.plain_harness import PlainHarness
from autoquant.harness.searchers import SEARCHERS

_CHECKOUT = Path(__file__).resolve().parent.parent.parent


class ControlHarness(PlainHarness):
    """Starts `autoquant.harness.control_program` with the arena's interpreter."""

    def check(self, competitor: Competitor, machine: Machine) -> Availability:
        """The searcher must exist; there is nothing to install."""
        if refusal := _unknown_searcher(competitor):
            return refusal.answer()
        return Availability(ok=True, version=f"searcher {competitor.model}, seed {competitor.seed or 0}")

    def session(self, competitor: Competitor, request: SessionRequest, machine: Machine) -> SessionPlan:
        """Runs from the checkout, so that the arena's package is imported and not the worktree's partial copy.

        Raises
        ------
        HarnessFault : the searcher does not exist.
        """
        if refusal := _unknown_searcher(competitor):
            raise refusal.fault(competitor)
        return SessionPlan(
            argv=(
                sys.executable,
                "-m",
                "autoquant.harness.control_program",
                f"--workspace={request.workspace}",
                f"--searcher={competitor.model}",
                f"--seed={competitor.seed or 0}",
                f"--used={request.attempts_used}",
                *competitor.args,
            ),
            cwd=_CHECKOUT,
            reads=(_CHECKOUT / "autoquant",),
        )


def _unknown_searcher(competitor: Competitor) -> Refusal | None:
    if competitor.model in SEARCHERS:
        return None
    known = ", ".join(sorted(SEARCHERS))
    return Refusal(f"there is no searcher {competitor.model!r}", f"model of a control is one of {known}")
