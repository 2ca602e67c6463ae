"""The referee: takes a request from a worktree's mailbox and sees it through to the reply, exactly once.

    bytes stored → ledger: opened → evaluate → files stored → ledger: closed → git → ledger: committed
    → strategy.py, results.tsv, score.json → reply

A process killed anywhere in between goes on from the record: `recover` re-evaluates an open attempt from its stored
bytes under the same number, and finishes what comes after a verdict. Nothing is charged twice, no number changes.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path

from autoquant import files
from autoquant.arena.plain_text import plain
from autoquant.arena.referee.audit import Expected
from autoquant.arena.referee.delivery import Delivery, SecondsLeft, named
from autoquant.arena.referee.desk import FAULT_TRIES, FAULT_WAIT_SECONDS, HEARTBEAT_SECONDS, Desk
from autoquant.arena.referee.judging import Judge, Verdict, judge_attempt, store_verdict, unevaluated, violated
from autoquant.arena.referee.mailbox import DESCRIPTION_LIMIT, ReplyKind, Request, RequestKind
from autoquant.arena.referee.standing import Standing
from autoquant.arena.referee.worktrees import STRATEGY, Worktrees
from autoquant.clock import Clock, utc_iso
from autoquant.errors import AutoQuantError, EvaluationCut, ImportGateError, InfrastructureFault
from autoquant.files import NotRegularFile
from autoquant.ledger.layout import RaceLayout
from autoquant.ledger.ledger import Ledger
from autoquant.ledger.records import AttemptCommitted, AttemptOpened
from autoquant.ledger.views import AttemptView
from autoquant.oracle.records import Outcome
from autoquant.protocol import PROTOCOL

_NOT_PLAIN = ImportGateError.__name__


@dataclass(frozen=True)
class RaceFacts:
    """What a referee has to know beyond the record.

    Parameters
    ----------
    noise_floor : the race's own, from its first record.
    data_directory : the source's data directory; worktrees get its TRAIN part.
    fault_tries, fault_wait_seconds, heartbeat_seconds : as `Desk`.
    """

    noise_floor: float
    data_directory: Path
    fault_tries: int = FAULT_TRIES
    fault_wait_seconds: float = FAULT_WAIT_SECONDS
    heartbeat_seconds: float = HEARTBEAT_SECONDS


class Referee(Desk):
    """Serves the mailboxes of one race. One thread per competitor may call `poll`; the judge limits itself.

    Parameters
    ----------
    layout, ledger, clock : of the race, whose lock the caller holds.
    judge : the oracle.
    facts : see `RaceFacts`.
    home : the arena's checkout.
    seconds_left : how long a competitor's session may still last, told with every answer.
    """

    def __init__(
        self,
        layout: RaceLayout,
        ledger: Ledger,
        judge: Judge,
        facts: RaceFacts,
        clock: Clock,
        home: Path,
        seconds_left: SecondsLeft = lambda competitor: None,
    ) -> None:
        view = ledger.view
        worktrees = Worktrees(layout, home, facts.data_directory, view.created_utc, view.created.protected)
        super().__init__(
            layout,
            ledger,
            worktrees,
            clock,
            home,
            fault_tries=facts.fault_tries,
            fault_wait_seconds=facts.fault_wait_seconds,
            heartbeat_seconds=facts.heartbeat_seconds,
        )
        self._judge = judge
        self._noise_floor = facts.noise_floor
        self._delivery = Delivery(layout, worktrees, seconds_left)

    def recover(self) -> None:
        """Finish what a killed arena left: commits first, then as every desk does."""
        for competitor in self.view().competitors:
            with self._lock(competitor):
                self._commit_missing(competitor)
        super().recover()

    def _make(self, competitor: str) -> Path:
        standing = self._standing(competitor)
        path = self._worktree_of(standing)
        self._delivery.refresh(standing)
        return path

    def _worktree_of(self, standing: Standing) -> Path:
        marker = self._marker(standing.competitor)
        return self._worktrees.prepare(standing.competitor, standing.strategy(0), standing.accepted(), marker)

    def _expected(self, competitor: str) -> Expected:
        return {**super()._expected(competitor), **self._delivery.copies(competitor)}

    def _serve(self, competitor: str, request: Request) -> None:
        if request.kind is RequestKind.RESTORE:
            self._restore(competitor, request)
        else:
            self._submit(competitor, request)

    def _submit(self, competitor: str, request: Request) -> None:
        standing = self._standing(competitor)
        mailbox = self._mailbox(competitor)
        known = next((a for a in standing.racer.attempts if a.request == request.id), None)
        if known is not None:
            self._delivery.reply(
                standing, request, ReplyKind.RECORD, f"this request was attempt {known.attempt}", known
            )
            return
        if standing.racer.ended is not None or standing.racer.left <= 0:
            self._delivery.reply(
                standing, request, ReplyKind.BUDGET, "the budget is used; nothing was judged or charged"
            )
            return
        self._auditor.checkout()
        number = len(standing.racer.attempts) + 1
        self.audit(competitor, number)
        changed = self._changed_for(self._standing(competitor), number)
        try:
            source = self._folder(competitor).read(STRATEGY, PROTOCOL.limits.strategy_bytes)
        except FileNotFoundError:
            self._delivery.put_back(standing)
            message = f"strategy.py is missing; it is back at {named(standing.racer.working)}. Nothing was charged"
            self._delivery.reply(standing, request, ReplyKind.REFUSED, message)
            return
        except (OSError, NotRegularFile):
            source = b""
        digest = files.sha256_bytes(source)
        if source and not changed:
            if digest != request.strategy:
                message = "strategy.py changed after run.py read it; nothing was judged or charged, run it again"
                self._delivery.reply(standing, request, ReplyKind.REFUSED, message)
                return
            if self._answered_from_record(standing, request, digest):
                return
        files.atomic_write(self._layout.blob(digest), source)
        self._append(
            AttemptOpened(
                competitor=competitor,
                attempt=number,
                request=request.id,
                strategy=digest,
                description=plain(request.description, DESCRIPTION_LIMIT),
                parent=standing.racer.working,
                lineage=self._lineage(competitor),
            )
        )
        mailbox.take(request)
        self._conclude(competitor)

    def _answered_from_record(self, standing: Standing, request: Request, digest: str) -> bool:
        """Reply to bytes that were judged before; nothing is charged."""
        judged = standing.judged_before(digest)
        if judged is not None:
            self._delivery.put_back(standing)
            message = f"this very file was judged as attempt {judged.attempt}; nothing was charged"
            self._delivery.reply(standing, request, ReplyKind.RECORD, message, judged)
            return True
        if digest == standing.view.created.seed_strategy and standing.view.seed is not None:
            self._delivery.put_back(standing)
            message = f"this is the seed, score {standing.view.seed.score:.4f}; nothing was charged"
            self._delivery.reply(standing, request, ReplyKind.RECORD, message)
            return True
        return False

    def _restore(self, competitor: str, request: Request) -> None:
        standing = self._standing(competitor)
        lineage = str(request.lineage)
        attempt = standing.racer.archive.get(lineage)
        if attempt is None:
            self._delivery.reply(
                standing, request, ReplyKind.REFUSED, f"the archive has no {lineage} yet; nothing was changed"
            )
            return
        files.atomic_write(self._lineage_file(competitor), lineage)
        self._folder(competitor).write(STRATEGY, standing.strategy(attempt))
        message = f"strategy.py now holds {lineage} ({named(attempt)}). Judged against {named(standing.racer.working)}"
        self._delivery.reply(standing, request, ReplyKind.RESTORED, message)

    def _conclude(self, competitor: str) -> None:
        """See the open attempt through to its reply."""
        standing = self._standing(competitor)
        attempt = standing.racer.open_attempt
        assert attempt is not None
        self._lineage_file(competitor).unlink(missing_ok=True)  # it is on record, also where a kill came between
        self._heart.say(competitor, f"judging attempt {attempt.attempt} of {standing.budget}")
        try:
            self._close(standing, attempt, self._verdict(standing, attempt))
            self._commit_missing(competitor)
            self.audit(competitor, attempt.attempt)
            self._deliver(competitor, self._racer(competitor).attempts[-1])
        finally:
            self._heart.say(competitor, "ready")

    def _deliver(self, competitor: str, attempt: AttemptView) -> None:
        self._delivery.deliver(self._standing(competitor), attempt)

    def _close(self, standing: Standing, attempt: AttemptView, verdict: Verdict) -> None:
        """Store and record a verdict. A disk that refuses is told while it can be: nobody cut that evaluation."""
        utc = utc_iso(self._clock.now())
        try:
            self._append(store_verdict(self._layout, self._worktrees, standing, attempt, verdict, utc), utc)
        except InfrastructureFault as error:
            if verdict.judgement is not None:
                with contextlib.suppress(AutoQuantError):
                    self._append(self._fault(attempt, error))
            raise

    def _verdict(self, standing: Standing, attempt: AttemptView) -> Verdict:
        """Judge the stored bytes."""
        if changed := self._changed_for(standing, attempt.attempt):
            return violated(standing, attempt, changed)
        source = standing.strategy(attempt.attempt)
        if not source:
            return unevaluated(standing, attempt, Outcome.INVALID, _NOT_PLAIN)

        def judge(now: Standing) -> Verdict:
            return judge_attempt(self._judge, now, attempt, source, self._noise_floor)

        found = self._patiently(attempt, judge)
        return found or unevaluated(standing, attempt, Outcome.CRASH, EvaluationCut.__name__)

    def _changed_for(self, standing: Standing, attempt: int) -> str:
        """The protected file whose change was found when this attempt was submitted; empty when there was none."""
        found = (v.path for v in standing.racer.violations if v.attempt == attempt)
        return next((path for path in found if self._is_protected(path)), "")

    def _commit_missing(self, competitor: str) -> None:
        """Commit accepted attempts that have no commit on record, in order."""
        standing = self._standing(competitor)
        if all(seen.commit for seen in standing.racer.closed if seen.accepted):
            return
        tip = self._worktrees.seed_commit(standing.strategy(0))
        for seen in standing.racer.closed:
            if not seen.accepted:
                continue
            facts = standing.commit_facts(seen)
            commit = seen.commit or self._worktrees.commit(competitor, tip, facts)
            if seen.commit is None:
                self._append(AttemptCommitted(competitor, seen.attempt, commit))
            tip = commit if facts.tip else tip
        if not self._layout.repository(competitor).is_dir():
            self._worktree_of(standing)

    def _lineage(self, competitor: str) -> str | None:
        """The lineage the text was started from, if it was restored from the archive."""
        try:
            return self._lineage_file(competitor).read_text(encoding="utf-8")
        except FileNotFoundError:
            return None

    def _lineage_file(self, competitor: str) -> Path:
        return self._layout.root / "lineages" / competitor

    def _is_protected(self, path: str) -> bool:
        return path in self._worktrees.pristine() or path.startswith("autoquant/")
