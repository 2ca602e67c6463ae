"""The embedded controls: searchers without skill, the honest baseline of every race.

They edit strategy.py and call run.py like any agent, in their own process, with nothing an agent does not have.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from autoquant.errors import HarnessFault
from autoquant.harness.base import Availability, Competitor, SessionPlan, SessionRequest
from autoquant.harness.machine import Machine
from autoquant.harness.plain_reader import PlainReader
from autoquant.harness.searchers import SEARCHERS

_CHECKOUT = Path(__file__).resolve().parent.parent.parent


@dataclass(frozen=True)
class ControlHarness:
    """Starts `autoquant.harness.control_program` with the arena's interpreter."""

    @property
    def settings(self) -> tuple[str, ...]:
        """There is no model whose help would have to be levelled."""
        return ()

    @property
    def transcripts(self) -> tuple[str, ...]:
        """It asks no model."""
        return ()

    def check(self, competitor: Competitor, machine: Machine) -> Availability:
        """The searcher must exist; there is nothing to install."""
        if competitor.model not in SEARCHERS:
            return Availability(
                ok=False,
                problem=f"there is no searcher {competitor.model!r}",
                hint=f"model of a control is one of {', '.join(sorted(SEARCHERS))}",
            )
        return Availability(ok=True, version=f"searcher {competitor.model}, seed {competitor.seed or 0}")

    def session(self, competitor: Competitor, request: SessionRequest, machine: Machine) -> SessionPlan:
        """Runs from the checkout, so that the arena's package is imported and not the worktree's partial copy.

        Raises
        ------
        HarnessFault : the searcher does not exist.
        """
        available = self.check(competitor, machine)
        if not available.ok:
            raise HarnessFault(f"{competitor.name}: {available.problem}", available.hint)
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
        )

    def reader(self) -> PlainReader:
        """A new reader."""
        return PlainReader()
