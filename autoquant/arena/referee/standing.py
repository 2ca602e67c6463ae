"""Where a competitor stands, read from the record and the files it names. Nothing is written here."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from autoquant import codec, files
from autoquant.arena.referee.worktrees import Accepted
from autoquant.errors import EvaluationCut, LedgerError
from autoquant.ledger.commits import attempt_message, moves_tip
from autoquant.ledger.layout import RESTORE, RaceLayout
from autoquant.ledger.views import AttemptView, CompetitorView, RaceView
from autoquant.oracle.records import Evaluation
from autoquant.ratchet.state import Archive, RatchetState, Trial

SEED = "seed"
"""Under this name the seed's evaluation is stored, as attempt 0."""


@dataclass(frozen=True)
class Standing:
    """One competitor of a race at one moment."""

    layout: RaceLayout
    view: RaceView
    competitor: str

    @property
    def racer(self) -> CompetitorView:
        """The competitor's own part of the record.

        Raises
        ------
        LedgerError : the competitor never joined.
        """
        try:
            return self.view.competitors[self.competitor]
        except KeyError:
            raise LedgerError(
                f"{self.layout.ledger}: {self.competitor} has not joined race {self.layout.race}"
            ) from None

    @property
    def budget(self) -> int:
        """Attempts granted."""
        return self.racer.joined.budget

    def strategy(self, attempt: int) -> bytes:
        """Text of an attempt, from the stored bytes.

        Raises
        ------
        LedgerError : missing, or not what the record names.
        """
        return stored_strategy(self.layout, self._digest(attempt))

    def trial(self, attempt: int) -> Trial:
        """An evaluated attempt as the ratchet sees it; 0 is the seed.

        Raises
        ------
        LedgerError : its evaluation is missing, or not what the record names.
        """
        if attempt == 0:
            return seed_trial(self.layout, self.view)
        seen = self._attempt(attempt)
        path = self.layout.evaluation(self.competitor, attempt)
        return Trial(attempt, seen.strategy, _evaluation(self.layout, path, seen.evaluation))

    def state(self) -> RatchetState:
        """The ratchet after the last closed attempt."""
        racer = self.racer
        trials = {0: self.trial(0)}
        tips = {name: number for name, number in racer.archive.items() if number is not None}
        for number in {racer.working, racer.champion, *tips.values()} - {0}:
            trials[number] = self.trial(number)
        return RatchetState(
            seed=trials[0],
            parent=trials[racer.working],
            champion=trials[racer.champion],
            archive=Archive(**{name: trials[number] for name, number in tips.items()}),
            attempts=len(racer.closed),
        )

    def accepted(self) -> tuple[Accepted, ...]:
        """Every accepted attempt, as its commit is made."""
        return tuple(self.commit_facts(seen) for seen in self.racer.closed if seen.accepted)

    def commit_facts(self, seen: AttemptView) -> Accepted:
        """What the commit of a closed, accepted attempt is made of."""
        return commit_facts(
            seen.attempt,
            self.strategy(seen.attempt),
            str(seen.status),
            seen.score,
            seen.description,
            str(seen.closed_utc),
        )

    def judged_before(self, digest: str) -> AttemptView | None:
        """The closed attempt that already judged these bytes."""
        return next((a for a in self.racer.closed if a.strategy == digest and a.status != "violation"), None)

    def kills(self, attempt: AttemptView) -> int:
        """Evaluations of an open attempt that ended without a word: cut down from outside."""
        told = sum(1 for f in self.racer.faults if f.attempt == attempt.attempt and f.kind != EvaluationCut.__name__)
        return attempt.tries - told

    def _attempt(self, attempt: int) -> AttemptView:
        seen = self.racer.find(attempt)
        if seen is None:
            raise LedgerError(f"{self.layout.ledger}: {self.competitor} has no attempt {attempt}")
        return seen

    def _digest(self, attempt: int) -> str:
        return self.view.created.seed_strategy if attempt == 0 else self._attempt(attempt).strategy


def commit_facts(
    attempt: int, strategy: bytes, status: str, score: float | None, description: str, utc: str
) -> Accepted:
    """The one way an accepted attempt becomes a commit: same record, same commit id."""
    return Accepted(attempt, strategy, attempt_message(attempt, status, score, description), utc, moves_tip(status))


def stored_strategy(layout: RaceLayout, digest: str) -> bytes:
    """Strategy bytes by digest.

    Raises
    ------
    LedgerError : missing or damaged.
    """
    path = layout.blob(digest)
    try:
        data = path.read_bytes()
    except OSError:
        raise LedgerError(f"{path}: stored strategy is missing", RESTORE) from None
    if files.sha256_bytes(data) != digest:
        raise LedgerError(f"{path}: stored strategy is damaged", RESTORE)
    return data


def seed_trial(layout: RaceLayout, view: RaceView) -> Trial:
    """The seed's evaluation as attempt 0, stored by `layout.evaluation("seed", 0)`.

    Raises
    ------
    LedgerError : the seed was not scored yet, or its evaluation is missing or damaged.
    """
    if view.seed is None:
        raise LedgerError(f"{layout.ledger}: the seed is not scored yet")
    evaluation = _evaluation(layout, layout.evaluation(SEED, 0), view.seed.evaluation_digest)
    return Trial(0, view.created.seed_strategy, evaluation)


def _evaluation(layout: RaceLayout, path: Path, digest: str | None) -> Evaluation:
    try:
        data = path.read_bytes()
    except OSError:
        raise LedgerError(f"{path}: evaluation is missing", RESTORE) from None
    if files.sha256_bytes(data) != digest:
        raise LedgerError(f"{path}: differs from the digest in {layout.ledger.name}", RESTORE)
    return codec.loads(Evaluation, data, str(path))
