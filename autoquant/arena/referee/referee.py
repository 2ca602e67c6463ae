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
from autoquant.arena.referee.desk import Desk
from autoquant.arena.referee.judging import Judge, Verdict, judge_attempt, store_verdict, unevaluated, violated
from autoquant.arena.referee.mailbox import DESCRIPTION_LIMIT, ReplyKind, Request, RequestKind
from autoquant.arena.referee.marker import Marker
from autoquant.arena.referee.standing import Standing
from autoquant.arena.referee.worktrees import STRATEGY, Worktrees
from autoquant.clock import Clock, utc_iso
from autoquant.errors import AutoQuantError, EvaluationCut, ImportGateError, InfrastructureFault
from autoquant.files import NotRegularFile
from autoquant.ledger.layout import RaceLayout
from autoquant.ledger.ledger import Ledger
from autoquant.ledger.records import (
    AttemptCommitted,
    AttemptOpened,
    EvaluationStarted,
)
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
    fault_tries : evaluations in a row that may fail for the machine's sake before the fault is raised.
    fault_wait_seconds : wait before the next one.
    heartbeat_seconds : how often a waiting run.py sees a sign of life.
    """

    noise_floor: float
    data_directory: Path
    fault_tries: int = 3
    fault_wait_seconds: float = 1.0
    heartbeat_seconds: float = 2.0


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
        super().__init__(layout, ledger, worktrees, clock, home, facts.heartbeat_seconds)
        self._judge = judge
        self._facts = facts
        self._delivery = Delivery(layout, worktrees, seconds_left)

    def prepare(self, competitor: str) -> Path:
        """Make the competitor's worktree, or mend it, and return its path. Idempotent."""
        with self._lock(competitor):
            standing = self._standing(competitor)
            if self._worktrees.is_complete(competitor):
                sessions = standing.racer.sessions
                self.audit(competitor, None, owned=bool(sessions) and sessions[-1].reason in (None, "lost"))
            path = self._worktrees.prepare(
                competitor, standing.strategy(0), standing.accepted(), self._marker(standing)
            )
            self._delivery.refresh(standing)
            self._heart.add(self._mailbox(competitor), "ready")
            return path

    def recover(self) -> None:
        """Finish what a killed arena left: open attempts, commits, files in the worktree, replies.

        Raises
        ------
        InfrastructureFault : an open attempt could not be evaluated; it stays open and uncharged twice.
        """
        for competitor, racer in self.view().competitors.items():
            if not racer.attempts:
                continue
            with self._lock(competitor):
                self._commit_missing(competitor)
                if racer.ended is not None and racer.open_attempt is None:
                    continue
                self.prepare(competitor)
                if racer.open_attempt is not None:
                    self._conclude(competitor)
                elif not self._mailbox(competitor).has_reply(racer.attempts[-1].request):
                    self._delivery.deliver(self._standing(competitor), racer.attempts[-1])

    def _expected(self, competitor: str) -> Expected:
        return {
            **self._worktrees.fixed_files(competitor, self._marker(self._standing(competitor))),
            **self._worktrees.data_files(),
            **self._delivery.copies(competitor),
        }

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
        self._lineage_file(competitor).unlink(missing_ok=True)
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
        self._heart.say(competitor, f"judging attempt {attempt.attempt} of {standing.budget}")
        try:
            self._close(standing, attempt, self._verdict(standing, attempt))
            self._commit_missing(competitor)
            self.audit(competitor, attempt.attempt)
            standing = self._standing(competitor)
            self._delivery.deliver(standing, standing.racer.attempts[-1])
        finally:
            self._heart.say(competitor, "ready")

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
        """Judge the stored bytes; the machine's faults are recorded and tried again, within limits."""
        if changed := self._changed_for(standing, attempt.attempt):
            return violated(standing, attempt, changed)
        source = standing.strategy(attempt.attempt)
        if not source:
            return unevaluated(standing, attempt, Outcome.INVALID, _NOT_PLAIN)
        competitor, faults = standing.competitor, 0
        while True:
            standing = self._standing(competitor)
            seen = standing.racer.attempts[-1]
            if standing.kills(seen) >= PROTOCOL.limits.evaluation_kills:
                return unevaluated(standing, attempt, Outcome.CRASH, EvaluationCut.__name__)
            self._append(EvaluationStarted(competitor, attempt.attempt, seen.tries + 1))
            try:
                return judge_attempt(self._judge, standing, attempt, source, self._facts.noise_floor)
            except InfrastructureFault as error:
                self._append(self._fault(attempt, error))
                faults += not isinstance(error, EvaluationCut)
                if faults >= self._facts.fault_tries:
                    raise
                self._clock.sleep(self._facts.fault_wait_seconds)

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
            self._worktrees.prepare(competitor, standing.strategy(0), standing.accepted(), self._marker(standing))

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

    def _marker(self, standing: Standing) -> Marker:
        names = tuple(sorted(name for name in self._worktrees.pristine() if name in standing.view.created.protected))
        return Marker(self._layout.race, standing.competitor, standing.budget, names)

    def _standing(self, competitor: str) -> Standing:
        return Standing(self._layout, self._ledger.view, competitor)
