"""The referee of the graded track: a solution in, its grade out, exactly once; the hidden bars at the end alone.

    bytes stored → ledger: opened → graded → grade stored → ledger: closed → reply

Killed anywhere in between, it grades the stored bytes again under the same number. What an agent gets is an
observation, never the grade: the grade knows targets and hidden figures.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

from autoquant import codec, files
from autoquant.arena.plain_text import plain
from autoquant.arena.referee.delivery import SecondsLeft
from autoquant.arena.referee.desk import Desk
from autoquant.arena.referee.mailbox import DESCRIPTION_LIMIT, Reply, ReplyKind, Request, RequestKind
from autoquant.arena.referee.standing import Standing, stored_strategy
from autoquant.arena.referee.worktrees import Worktrees
from autoquant.arena.taskrace.folder import SOLUTION, shape, stub
from autoquant.clock import Clock
from autoquant.errors import AutoQuantError, InfrastructureFault
from autoquant.ledger.layout import RaceLayout
from autoquant.ledger.ledger import Ledger
from autoquant.ledger.records import GRADED, AttemptClosed, AttemptOpened, DecisionSummary
from autoquant.ledger.views import AttemptView, CompetitorView
from autoquant.sandbox import WarmParent
from autoquant.tasks.episode import Observation, observed
from autoquant.tasks.grade import Grade
from autoquant.tasks.grader import Ground, grade, ungraded
from autoquant.tasks.solution import LIMITS


class TaskReferee(Desk):
    """Serves the mailboxes of a race of the graded track.

    Parameters
    ----------
    layout, ledger, clock, home : as `Desk`.
    grounds : what each task is graded on.
    parent : gives a clean process for one grading; it limits how many there are at a time.
    data_root : the data folder; worktrees get the shown bars.
    seconds_left : how long a competitor's session may still last.
    """

    def __init__(
        self,
        layout: RaceLayout,
        ledger: Ledger,
        grounds: Mapping[str, Ground],
        parent: Callable[[], AbstractContextManager[WarmParent]],
        clock: Clock,
        home: Path,
        data_root: Path,
        seconds_left: SecondsLeft = lambda competitor: None,
    ) -> None:
        view = ledger.view
        specs = {name: grounds[racer.joined.task].spec for name, racer in view.competitors.items()}
        form = shape(specs, view.created.budget)
        worktrees = Worktrees(layout, home, data_root, view.created_utc, view.created.protected, form)
        super().__init__(layout, ledger, worktrees, clock, home)
        self._grounds = grounds
        self._parent = parent
        self._seconds_left = seconds_left

    def _make(self, competitor: str) -> Path:
        spec = self._ground(competitor).spec
        return self._worktrees.prepare(competitor, stub(spec), (), self._marker(competitor))

    def _serve(self, competitor: str, request: Request) -> None:
        racer = self._racer(competitor)
        known = next((a for a in racer.attempts if a.request == request.id), None)
        if known is not None:
            self._reply(competitor, request, ReplyKind.RECORD, f"this request was step {known.attempt}", known)
        elif request.kind is not RequestKind.SUBMIT:
            self._reply(
                competitor, request, ReplyKind.REFUSED, "there is no archive in this track; nothing was changed"
            )
        elif racer.ended is not None or racer.left <= 0:
            words = "the task is over; nothing was graded or charged"
            self._reply(competitor, request, ReplyKind.BUDGET, words)
        else:
            self._submit(competitor, request)

    def _submit(self, competitor: str, request: Request) -> None:
        self._auditor.checkout()
        racer = self._racer(competitor)
        number = len(racer.attempts) + 1
        self.audit(competitor, number)
        try:
            source = self._folder(competitor).read(SOLUTION, LIMITS.strategy_bytes)
        except (OSError, files.NotRegularFile) as error:
            reason = "is missing" if isinstance(error, FileNotFoundError) else "is no plain file of a fitting size"
            self._reply(competitor, request, ReplyKind.REFUSED, f"{SOLUTION} {reason}; nothing was graded or charged")
            return
        digest = files.sha256_bytes(source)
        if digest != request.strategy:
            words = f"{SOLUTION} changed after run.py read it; nothing was graded or charged, run it again"
            self._reply(competitor, request, ReplyKind.REFUSED, words)
            return
        before = next((a for a in racer.closed if a.strategy == digest), None)
        if before is not None and not request.final:
            words = f"this very file was step {before.attempt}; nothing was charged"
            self._reply(competitor, request, ReplyKind.RECORD, words, before)
            return
        files.atomic_write(self._layout.blob(digest), source)
        self._append(
            AttemptOpened(
                competitor=competitor,
                attempt=number,
                request=request.id,
                strategy=digest,
                description=plain(request.description, DESCRIPTION_LIMIT),
                parent=number - 1,
                final=request.final,
            )
        )
        self._mailbox(competitor).take(request)
        self._conclude(competitor)

    def _conclude(self, competitor: str) -> None:
        """See the open step through to its reply."""
        racer = self._racer(competitor)
        attempt = racer.open_attempt
        assert attempt is not None
        self._heart.say(competitor, f"grading step {attempt.attempt} of {racer.joined.budget}")
        try:
            found = self._grade(competitor, attempt)
            try:
                self._close(racer, attempt, found or self._cut_down(attempt))
            except InfrastructureFault as error:  # a disk that refuses is told while it can be: nobody cut that grading
                if found is not None:
                    with contextlib.suppress(AutoQuantError):
                        self._append(self._fault(attempt, error))
                raise
            self.audit(competitor, attempt.attempt)
            self._deliver(competitor, self._racer(competitor).attempts[-1])
        finally:
            self._heart.say(competitor, "ready")

    def _close(self, racer: CompetitorView, attempt: AttemptView, found: Grade) -> None:
        """Store and record a grade."""
        content = codec.dumps(found).encode()
        files.atomic_write(self._layout.evaluation(racer.name, attempt.attempt), content)
        shown = codec.dumps(self._observed(racer, attempt, found)).encode()
        files.atomic_write(self._layout.score(racer.name, attempt.attempt), shown)
        self._append(
            AttemptClosed(
                competitor=racer.name,
                attempt=attempt.attempt,
                status=GRADED,
                score=found.score,
                double_cost=None,
                evaluation=files.sha256_bytes(content),
                score_file=files.sha256_bytes(shown),
                decision=DecisionSummary(reason=plain(found.first_to_mend, 400)),
            )
        )

    def _cut_down(self, attempt: AttemptView) -> Grade:
        ground = self._ground(attempt.competitor)
        return replace(ungraded(ground, "it was cut down from outside three times"), final=attempt.final)

    def _grade(self, competitor: str, attempt: AttemptView) -> Grade | None:
        """Grade the stored bytes; None when it was cut down from outside too often."""
        ground, source = self._ground(competitor), stored_strategy(self._layout, attempt.strategy)

        def judge(_: Standing) -> Grade:
            with self._parent() as parent:
                return grade(parent, source, ground, final=attempt.final)

        return self._patiently(attempt, judge)

    def _observed(self, racer: CompetitorView, attempt: AttemptView, found: Grade) -> Observation:
        earlier = [a.score for a in racer.attempts[: attempt.attempt - 1] if a.score is not None]
        left = 0 if attempt.final else racer.joined.budget - attempt.attempt
        best = max([*earlier, *([] if attempt.final else [found.score])], default=None)
        return observed(found, step=attempt.attempt, steps_left=left, done=left == 0, best=best)

    def _deliver(self, competitor: str, attempt: AttemptView) -> None:
        request = Request(attempt.request, RequestKind.SUBMIT)
        self._reply(competitor, request, ReplyKind.VERDICT, f"step {attempt.attempt}", attempt)

    def _reply(
        self, competitor: str, request: Request, kind: ReplyKind, message: str, attempt: AttemptView | None = None
    ) -> None:
        """Answer a request and take it away; `attempt` is the one whose observation goes with it."""
        racer = self._racer(competitor)
        left, mailbox = self._seconds_left(competitor), self._mailbox(competitor)
        mailbox.reply(
            Reply(
                id=request.id,
                kind=kind,
                message=message,
                attempts=len(racer.attempts) if racer.left else racer.joined.budget,
                budget=racer.joined.budget,
                working=0,
                working_strategy="",
                archive={},
                score=None if attempt is None else self._stored_observation(competitor, attempt),
                seconds_left=None if left is None else int(left),
            )
        )
        mailbox.take(request)

    def _stored_observation(self, competitor: str, attempt: AttemptView) -> dict[str, object] | None:
        path = self._layout.score(competitor, attempt.attempt)
        try:
            data = path.read_bytes()
        except OSError:
            return None
        if files.sha256_bytes(data) != attempt.score_file:
            return None
        return dict(codec.encode(codec.loads(Observation, data, path.name)))

    def _ground(self, competitor: str) -> Ground:
        return self._grounds[self._racer(competitor).joined.task]
