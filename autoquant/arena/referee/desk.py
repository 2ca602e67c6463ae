"""A desk with mailboxes on it: what every referee does, whatever it judges.

A request is taken exactly once, a torn attempt is seen through before anything else, changes of protected files are
restored and recorded, a waiting run.py sees a sign of life.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Self

from autoquant.arena.plain_text import plain
from autoquant.arena.referee.agent_files import AgentFolder
from autoquant.arena.referee.audit import Auditor, Expected
from autoquant.arena.referee.heartbeat import Heart
from autoquant.arena.referee.mailbox import RefereeMailbox, Refused, Request
from autoquant.arena.referee.worktrees import Worktrees
from autoquant.clock import Clock, utc_iso
from autoquant.errors import EvaluationCut, InfrastructureFault, LedgerError
from autoquant.ledger.layout import RaceLayout
from autoquant.ledger.ledger import Ledger
from autoquant.ledger.records import FaultSeen, RecordBody, ViolationFound
from autoquant.ledger.views import AttemptView, CompetitorView, RaceView

REFUSALS_RECORDED = 20
"""Bad requests of one competitor that get a line in the ledger; more are taken away without one."""


class Desk(ABC):
    """Serves the mailboxes of one race. One thread per competitor may call `poll`.

    Parameters
    ----------
    layout, ledger, clock : of the race, whose lock the caller holds.
    worktrees : where requests come from.
    home : the arena's checkout.
    heartbeat_seconds : how often a waiting run.py sees a sign of life.
    """

    def __init__(
        self,
        layout: RaceLayout,
        ledger: Ledger,
        worktrees: Worktrees,
        clock: Clock,
        home: Path,
        heartbeat_seconds: float,
    ) -> None:
        self._layout = layout
        self._ledger = ledger
        self._worktrees = worktrees
        self._clock = clock
        self._auditor = Auditor(layout, ledger, clock, home)
        self._heart = Heart(heartbeat_seconds)
        self._locks: dict[str, threading.RLock] = {}
        self._guard = threading.Lock()

    @abstractmethod
    def prepare(self, competitor: str) -> Path:
        """Make the competitor's worktree, or mend it, and return its path. Idempotent."""

    @abstractmethod
    def recover(self) -> None:
        """Finish what a killed arena left."""

    @abstractmethod
    def _serve(self, competitor: str, request: Request) -> None:
        """Answer a request that is one."""

    @abstractmethod
    def _conclude(self, competitor: str) -> None:
        """See the open attempt through to its reply."""

    @abstractmethod
    def _expected(self, competitor: str) -> Expected:
        """What must stand in the worktree."""

    def close(self) -> None:
        """Stop the heartbeat."""
        self._heart.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def view(self) -> RaceView:
        """The race as recorded."""
        return self._ledger.view

    def poll(self, competitor: str) -> bool:
        """Serve one request fully. False when there was none.

        Raises
        ------
        InfrastructureFault : the request could not be judged for the machine's sake; it is not lost, and a later call
            goes on with it.
        """
        with self._lock(competitor):
            if self._racer(competitor).open_attempt is not None:
                self._conclude(competitor)
                return True
            mailbox = self._mailbox(competitor)
            self._heart.add(mailbox, "ready")
            item = mailbox.next_request()
            if item is None:
                return False
            if isinstance(item, Refused):
                self._record_refusal(competitor, item)
                mailbox.take(item)
            else:
                self._serve(competitor, item)
            return True

    def audit(self, competitor: str, attempt: int | None, *, owned: bool = True) -> tuple[ViolationFound, ...]:
        """Restore and record what was changed in a worktree.

        Parameters
        ----------
        attempt : the one being charged, if any.
        owned : whether the competitor's programs ran since the last audit; a change without them is charged to nobody.
        """
        with self._lock(competitor):
            return self._auditor.worktree(self._folder(competitor), attempt, self._expected(competitor), owned=owned)

    def _racer(self, competitor: str) -> CompetitorView:
        view = self._ledger.view
        if competitor not in view.competitors:
            raise LedgerError(f"{self._layout.ledger}: {competitor} has not joined race {self._layout.race}")
        return view.competitors[competitor]

    @staticmethod
    def _fault(attempt: AttemptView, error: InfrastructureFault) -> FaultSeen:
        kind = EvaluationCut if isinstance(error, EvaluationCut) else type(error)
        return FaultSeen(attempt.competitor, attempt.attempt, kind.__name__, plain(error.message, 300))

    def _record_refusal(self, competitor: str, item: Refused) -> None:
        path = f".autoquant/requests/{plain(item.name, 80)}: {plain(item.reason, 200)}"
        so_far = [v for v in self._racer(competitor).violations if v.path.startswith(".autoquant/requests/")]
        if len(so_far) < REFUSALS_RECORDED:
            self._append(ViolationFound(competitor, None, path, "", item.digest))

    def _folder(self, competitor: str) -> AgentFolder:
        return self._worktrees.folder(competitor)

    def _mailbox(self, competitor: str) -> RefereeMailbox:
        return RefereeMailbox(self._folder(competitor))

    def _lock(self, competitor: str) -> threading.RLock:
        with self._guard:
            return self._locks.setdefault(competitor, threading.RLock())

    def _append(self, body: RecordBody, utc: str | None = None) -> None:
        self._ledger.append(body, utc or utc_iso(self._clock.now()))
