"""A desk with mailboxes on it: what every referee does, whatever it judges.

A request is taken exactly once, a torn attempt is seen through before anything else, what the machine spoils is tried
again under the same number, changes of protected files are restored and recorded, a waiting run.py sees a sign of life.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Self, TypeVar

from autoquant.arena.plain_text import plain
from autoquant.arena.referee.agent_files import AgentFolder
from autoquant.arena.referee.audit import Auditor, Expected
from autoquant.arena.referee.heartbeat import Heart
from autoquant.arena.referee.mailbox import RefereeMailbox, Refused, Request
from autoquant.arena.referee.marker import Marker
from autoquant.arena.referee.standing import Standing
from autoquant.arena.referee.worktrees import Worktrees
from autoquant.clock import Clock, utc_iso
from autoquant.errors import EvaluationCut, InfrastructureFault
from autoquant.ledger.layout import RaceLayout
from autoquant.ledger.ledger import Ledger
from autoquant.ledger.records import EvaluationStarted, FaultSeen, RecordBody, ViolationFound
from autoquant.ledger.views import AttemptView, CompetitorView, RaceView
from autoquant.protocol import PROTOCOL

Judged = TypeVar("Judged")

FAULT_TRIES = 3
FAULT_WAIT_SECONDS = 1.0
HEARTBEAT_SECONDS = 2.0
REFUSALS_RECORDED = 20
"""Bad requests of one competitor that get a line in the ledger; more are taken away without one."""


class Desk(ABC):
    """Serves the mailboxes of one race. One thread per competitor may call `poll`.

    Parameters
    ----------
    layout, ledger, clock : of the race, whose lock the caller holds.
    worktrees : where requests come from.
    home : the arena's checkout.
    fault_tries : evaluations in a row that may fail for the machine's sake before the fault is raised.
    fault_wait_seconds : wait before the next one.
    heartbeat_seconds : how often a waiting run.py sees a sign of life.
    """

    def __init__(
        self,
        layout: RaceLayout,
        ledger: Ledger,
        worktrees: Worktrees,
        clock: Clock,
        home: Path,
        *,
        fault_tries: int = FAULT_TRIES,
        fault_wait_seconds: float = FAULT_WAIT_SECONDS,
        heartbeat_seconds: float = HEARTBEAT_SECONDS,
    ) -> None:
        self._layout = layout
        self._ledger = ledger
        self._worktrees = worktrees
        self._clock = clock
        self._fault_tries = fault_tries
        self._fault_wait_seconds = fault_wait_seconds
        self._auditor = Auditor(layout, ledger, clock, home)
        self._heart = Heart(heartbeat_seconds)
        self._others_ended: dict[str, int] = {}
        """By competitor: how many sessions of all others had ended at its last audit."""
        self._locks: dict[str, threading.RLock] = {}
        self._guard = threading.Lock()

    @abstractmethod
    def _make(self, competitor: str) -> Path:
        """Make the competitor's worktree, or mend it, and return its path."""

    @abstractmethod
    def _serve(self, competitor: str, request: Request) -> None:
        """Answer a request that is one."""

    @abstractmethod
    def _conclude(self, competitor: str) -> None:
        """See the open attempt through to its reply."""

    @abstractmethod
    def _deliver(self, competitor: str, attempt: AttemptView) -> None:
        """Answer the request of a closed attempt."""

    def _expected(self, competitor: str) -> Expected:
        """What must stand in the worktree."""
        fixed = self._worktrees.fixed_files(competitor, self._marker(competitor))
        return {**fixed, **self._worktrees.data_files()}

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

    def prepare(self, competitor: str) -> Path:
        """Make the competitor's worktree, or mend it, and return its path. Idempotent."""
        with self._lock(competitor):
            if self._worktrees.is_complete(competitor):
                sessions = self._racer(competitor).sessions
                self.audit(competitor, None, owned=bool(sessions) and sessions[-1].reason in (None, "lost"))
            path = self._make(competitor)
            self._heart.add(self._mailbox(competitor), "ready")
            return path

    def recover(self) -> None:
        """Finish what a killed arena left: open attempts, files in the worktree, replies.

        Raises
        ------
        InfrastructureFault : an open attempt could not be judged; it stays open and uncharged twice.
        """
        self._sweep()
        for competitor, racer in self.view().competitors.items():
            if not racer.attempts or (racer.ended is not None and racer.open_attempt is None):
                continue
            with self._lock(competitor):
                self.prepare(competitor)
                if racer.open_attempt is not None:
                    self._conclude(competitor)
                elif not self._mailbox(competitor).has_reply(racer.attempts[-1].request):
                    self._deliver(competitor, racer.attempts[-1])

    def _sweep(self) -> None:
        """Take away what was stored, in whole or by half, for an attempt that a kill kept from being charged."""
        view = self.view()
        charged = {attempt.strategy for racer in view.competitors.values() for attempt in racer.attempts}
        for path in self._layout.blob("").glob("*"):
            if path.name not in charged and path.name != view.created.seed_strategy:
                path.unlink(missing_ok=True)

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
            untied = self._untied(competitor) if owned else "while no session of it ran"
            return self._auditor.worktree(self._folder(competitor), attempt, self._expected(competitor), untied=untied)

    def _untied(self, competitor: str) -> str:
        """Why a change since the last audit may be a rival's: without a seal, all agents are one user."""
        view = self.view()
        sessions = [one for name, racer in view.competitors.items() if name != competitor for one in racer.sessions]
        ended = sum(one.reason is not None for one in sessions)
        before, self._others_ended[competitor] = self._others_ended.get(competitor, 0), ended
        met = ended > before or ended < len(sessions)
        return "while rivals without a seal ran beside it" if met and view.isolation != "sealed" else ""

    def _patiently(self, attempt: AttemptView, judge: Callable[[Standing], Judged]) -> Judged | None:
        """What `judge` makes of the open attempt; the machine's faults are recorded and tried again, within limits.

        Returns
        -------
        None when it was cut down from outside as often as the protocol allows.

        Raises
        ------
        InfrastructureFault : the machine failed `fault_tries` times; the attempt stays open.
        """
        faults = 0
        while True:
            standing = self._standing(attempt.competitor)
            seen = standing.racer.attempts[-1]
            if standing.kills(seen) >= PROTOCOL.limits.evaluation_kills:
                return None
            self._append(EvaluationStarted(attempt.competitor, attempt.attempt, seen.tries + 1))
            try:
                return _told(judge, standing)
            except InfrastructureFault as error:
                self._append(self._fault(attempt, error))
                faults += not isinstance(error, EvaluationCut)
                if faults >= self._fault_tries:
                    raise
                self._clock.sleep(self._fault_wait_seconds)

    def _standing(self, competitor: str) -> Standing:
        return Standing(self._layout, self._ledger.view, competitor)

    def _racer(self, competitor: str) -> CompetitorView:
        return self._standing(competitor).racer

    def _marker(self, competitor: str) -> Marker:
        joined, known = self._racer(competitor).joined, self._ledger.view.created.protected
        names = tuple(sorted(name for name in self._worktrees.pristine() if name in known))
        return Marker(self._layout.race, competitor, joined.budget, names, joined.task)

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


def _told(judge: Callable[[Standing], Judged], standing: Standing) -> Judged:
    """What `judge` makes of it; no descriptor and no memory left is the machine's fault, whoever meets it."""
    try:
        return judge(standing)
    except (OSError, MemoryError) as error:
        raise InfrastructureFault(f"judging: {type(error).__name__}: {error}") from error
