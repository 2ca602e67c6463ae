"""What goes back into a worktree after a verdict: strategy.py, copies of the results, and at last the reply."""

from __future__ import annotations

from collections.abc import Callable

from autoquant import files
from autoquant.arena.referee.judging import read_score
from autoquant.arena.referee.mailbox import RefereeMailbox, Reply, ReplyKind, Request, RequestKind
from autoquant.arena.referee.standing import Standing
from autoquant.arena.referee.worktrees import READ_ONLY, STRATEGY, Worktrees
from autoquant.errors import LedgerError
from autoquant.ledger.layout import RESTORE, RaceLayout
from autoquant.ledger.views import AttemptView, results_tsv
from autoquant.protocol import PROTOCOL

RESULTS, SCORE = "results.tsv", "score.json"
SecondsLeft = Callable[[str], float | None]


class Delivery:
    """Brings worktrees of one race to what the record says; everything here can be done again.

    Parameters
    ----------
    layout, worktrees : of the race.
    seconds_left : how long a competitor's session may still last.
    """

    def __init__(self, layout: RaceLayout, worktrees: Worktrees, seconds_left: SecondsLeft) -> None:
        self._layout = layout
        self._worktrees = worktrees
        self._seconds_left = seconds_left
        self._copies: dict[str, dict[str, bytes]] = {}

    def copies(self, competitor: str) -> dict[str, bytes]:
        """What `refresh` wrote last, by path: the audit expects it there."""
        return self._copies.get(competitor, {})

    def deliver(self, standing: Standing, attempt: AttemptView) -> None:
        """Bring the worktree to the verdict on `attempt` and reply."""
        self.put_back(standing)
        self.refresh(standing)
        request = Request(attempt.request, RequestKind.SUBMIT)
        self.reply(standing, request, ReplyKind.VERDICT, _verdict_words(standing, attempt), attempt)

    def put_back(self, standing: Standing) -> None:
        """strategy.py holds the working parent again."""
        folder = self._worktrees.folder(standing.competitor)
        working = standing.strategy(standing.racer.working)
        if folder.digest(STRATEGY) != files.sha256_bytes(working):
            folder.write(STRATEGY, working)

    def refresh(self, standing: Standing) -> None:
        """results.tsv and score.json as the record says.

        Raises
        ------
        LedgerError : the last attempt's score file is missing, or not what the record names.
        """
        competitor, folder = standing.competitor, self._worktrees.folder(standing.competitor)
        copies = {RESULTS: results_tsv(standing.view, competitor).encode()}
        if standing.racer.closed:
            copies[SCORE] = self._score(standing.racer.closed[-1])
        for path, content in copies.items():
            if folder.digest(path) != files.sha256_bytes(content):
                folder.write(path, content, READ_ONLY)
        self._copies[competitor] = copies

    def reply(
        self, standing: Standing, request: Request, kind: ReplyKind, message: str, attempt: AttemptView | None = None
    ) -> None:
        """Answer a request and take it away; `attempt` is the one whose score file goes with it."""
        racer = standing.racer
        score = None if attempt is None else read_score(self._layout, standing.competitor, attempt.attempt)
        working = files.sha256_bytes(standing.strategy(racer.working))
        used = len(racer.attempts)
        mailbox = RefereeMailbox(self._worktrees.folder(standing.competitor))
        left = self._seconds_left(standing.competitor)
        mailbox.reply(
            Reply(
                request.id,
                kind,
                message,
                used,
                standing.budget,
                racer.working,
                working,
                racer.archive,
                score,
                seconds_left=None if left is None else int(left),
            )
        )
        mailbox.take(request)

    def _score(self, attempt: AttemptView) -> bytes:
        path = self._layout.score(attempt.competitor, attempt.attempt)
        try:
            content = path.read_bytes()
        except OSError:
            content = b""
        if files.sha256_bytes(content) != attempt.score_file:
            raise LedgerError(f"{path}: missing, or not what the record names", RESTORE)
        return content


def named(attempt: int) -> str:
    """How an attempt is called in a sentence; 0 is the seed."""
    return f"attempt {attempt}" if attempt else "the seed"


def _verdict_words(standing: Standing, attempt: AttemptView) -> str:
    reason = "" if attempt.decision is None else attempt.decision.reason
    if attempt.strategy == files.sha256_bytes(b""):
        limit = PROTOCOL.limits.strategy_bytes >> 10
        reason = f"strategy.py was a link, folder, pipe, empty, or larger than {limit} KiB; it has to be a plain file"
    where = "stays" if standing.racer.working == attempt.attempt else "is back"
    return f"{attempt.status}: {reason}. strategy.py {where} at {named(standing.racer.working)}"
