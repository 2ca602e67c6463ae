"""Were the decisions right? Every one is made again from the recorded evaluations, by the ratchets themselves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import chain

from autoquant import codec, files
from autoquant.errors import AutoQuantError, EvaluationCut, ImportGateError
from autoquant.ledger.judged import SEED
from autoquant.ledger.records import DecisionSummary
from autoquant.ledger.views import AttemptView, CompetitorView, RaceView
from autoquant.oracle.records import Evaluation, Fault, Outcome, Status, StoredDetail
from autoquant.protocol import PROTOCOL
from autoquant.ratchet.decide import Decision, after_confirmation, propose, reconsider, settle, violation
from autoquant.ratchet.feedback import Feedback, feedback
from autoquant.ratchet.score_file import ScoreFile, agent_score, summary
from autoquant.ratchet.state import RatchetState, Trial, advance
from autoquant.verify import evidence as ev
from autoquant.verify.compare import ROUNDING, TOLERANCE, difference
from autoquant.verify.evidence import Evidence
from autoquant.verify.records import Check, State, outcome


def read_evaluation(evidence: Evidence, name: str) -> Evaluation | None:
    """An evaluation; None when it is missing or unreadable (the check of the files says which)."""
    content = evidence.read(name)
    try:
        return None if content is None else codec.loads(Evaluation, content, name)
    except AutoQuantError:
        return None


def read_detail(evidence: Evidence, competitor: str, attempt: int) -> StoredDetail | None:
    """What stands beside an evaluation; None when it is missing or unreadable."""
    name = ev.detail(competitor, attempt)
    content = evidence.read(name)
    try:
        return None if content is None else codec.loads(StoredDetail, content, name)
    except AutoQuantError:
        return None


def check_decisions(evidence: Evidence, view: RaceView, seed_commit: str | None, *, exact: bool) -> Check:
    """Status, lineages, champion, summary and score file of every attempt, from its evaluations alone.

    Parameters
    ----------
    seed_commit : id of the commit everybody starts from, which score files name; None leaves the score files out.
    exact : the environment is the one the race ran in.
    """
    name = "decisions"
    if view.created.protocol != PROTOCOL.digest:
        return Check(name, State.NOT_DONE, "the race ran under another protocol than this checkout's")
    if view.seed is None:
        return Check(name, State.NOT_DONE, "the seed was never scored, so nothing was decided")
    seed = read_evaluation(evidence, ev.evaluation(SEED, 0))
    if seed is None:
        return Check(name, State.NOT_DONE, "the seed's evaluation is missing")
    problems = []
    if seed.score != view.seed.score:
        problems.append(f"seed: score {view.seed.score} on record, {seed.score} in its evaluation")
    replays = [
        _Replay(
            evidence, view, racer, RatchetState.start(Trial(0, view.created.seed_strategy, seed)), seed_commit, exact
        )
        for racer in view.competitors.values()
    ]
    problems += chain.from_iterable(replay.problems() for replay in replays)
    undone = [words for replay in replays for words in replay.undone]
    made = sum(replay.made for replay in replays)
    return outcome(name, problems, f"{made} decisions made again, all as recorded", undone="; ".join(undone[:3]))


@dataclass
class _Replay:
    """One competitor's race, decided again attempt by attempt."""

    evidence: Evidence
    view: RaceView
    racer: CompetitorView
    state: RatchetState
    seed_commit: str | None
    exact: bool
    made: int = 0
    undone: list[str] = field(default_factory=list)

    def problems(self) -> Iterator[str]:
        """Where an attempt's record is not what the ratchets say."""
        for seen in self.racer.closed:
            who = f"{self.racer.name} attempt {seen.attempt}"
            if seen.parent != self.state.parent.attempt:
                yield f"{who}: opened from parent {seen.parent}, the working parent was {self.state.parent.attempt}"
            try:
                yield from (f"{who}: {words}" for words in self._one(seen))
            except (ValueError, KeyError, TypeError) as error:
                yield f"{who}: cannot be decided from its files ({error})"
                return

    def _one(self, seen: AttemptView) -> Iterator[str]:
        if seen.status == Status.VIOLATION:
            yield from self._violated(seen)
            return
        stored = read_evaluation(self.evidence, ev.evaluation(seen.competitor, seen.attempt))
        if stored is None:
            yield "its evaluation is missing, so nothing says why it is " + str(seen.status)
            self._follow(seen, None)
            return
        detail = read_detail(self.evidence, seen.competitor, seen.attempt)
        if detail is None:
            self.undone.append(f"{seen.competitor} attempt {seen.attempt} has no second mask on record")
            self._follow(seen, stored)
            return
        if detail.judgement is None:
            yield from self._unevaluated(seen, stored)
            return
        before, confirmation = self.state, detail.confirmation
        trial = Trial(seen.attempt, seen.strategy, detail.judgement.evaluation)
        decision = propose(before, trial, noise_floor=self.view.created.noise_floor)
        if decision.needs_confirmation and confirmation is None:
            yield f"{decision.status} without the deep check"
            self._follow(seen, stored)
            return
        trial, decision = reconsider(before, trial, decision, confirmation, noise_floor=self.view.created.noise_floor)
        told = feedback(before, trial, settled := self._settle(trial, decision, detail))
        yield from self._compare(seen, settled, trial, told, stored)

    def _settle(self, trial: Trial, decision: Decision, detail: StoredDetail) -> Decision:
        floor, budget = self.view.created.noise_floor, self.racer.joined.budget
        settled, self.state = settle(self.state, trial, decision, detail.confirmation, noise_floor=floor, budget=budget)
        return settled

    def _unevaluated(self, seen: AttemptView, stored: Evaluation) -> Iterator[str]:
        """Never run: no plain file, or cut down from outside as often as the protocol lets it be."""
        digests = replace(self.state.seed.evaluation.digests, strategy=seen.strategy)
        empty = seen.strategy == files.sha256_bytes(b"")
        cut = seen.tries >= PROTOCOL.limits.evaluation_kills
        no_file = Evaluation(Outcome.INVALID, digests, fault=Fault(ImportGateError.__name__))
        cut_down = Evaluation(Outcome.CRASH, digests, fault=Fault(EvaluationCut.__name__))
        if not (empty and stored == no_file) and not (cut and stored == cut_down):
            yield "was not evaluated, and the record does not say why"
        trial = Trial(seen.attempt, seen.strategy, stored)
        proposal = propose(self.state, trial, noise_floor=0.0)
        decision, self.state = settle(
            self.state, trial, proposal, None, noise_floor=0.0, budget=self.racer.joined.budget
        )
        yield from self._compare(seen, decision, trial, None, stored)

    def _violated(self, seen: AttemptView) -> Iterator[str]:
        paths = dict.fromkeys(v.path for v in self.racer.violations if v.attempt == seen.attempt)
        reason = "" if seen.decision is None else seen.decision.reason
        before = self.state
        for path in paths:
            decision, self.state = violation(before, seen.attempt, path, budget=self.racer.joined.budget)
            if decision.reason == reason:
                yield from self._compare(seen, decision, None, None, None)
                return
        _, self.state = violation(before, seen.attempt, "", budget=self.racer.joined.budget)
        yield "is a violation, and no changed file is on record for it"

    def _compare(
        self,
        seen: AttemptView,
        decision: Decision,
        trial: Trial | None,
        told: Feedback | None,
        stored: Evaluation | None,
    ) -> Iterator[str]:
        self.made += 1
        if seen.status != decision.status:
            yield f"status {seen.status} on record, the ratchets say {decision.status}"
            return
        tolerance = 0.0 if self.exact else TOLERANCE
        evaluation = None if trial is None else after_confirmation(trial.evaluation, decision)
        if words := difference(stored, evaluation, tolerance):
            yield f"evaluation: {words}"
        numbers = (None, None) if stored is None else (stored.score, stored.score_double_cost)
        if (seen.score, seen.double_cost) != numbers:
            yield f"score {seen.score} on record, {numbers[0]} in its evaluation"
        timings = {} if seen.decision is None else seen.decision.timings
        again = DecisionSummary(**{**summary(decision, trial), "timings": timings})
        if words := difference(seen.decision, again, tolerance):
            yield f"decision: {words}"
        yield from self._score_file(seen, decision, evaluation, told)

    def _score_file(
        self, seen: AttemptView, decision: Decision, evaluation: Evaluation | None, told: Feedback | None
    ) -> Iterator[str]:
        name = ev.score(seen.competitor, seen.attempt)
        content = self.evidence.read(name)
        commit = self._commit_of(decision.working)
        if seen.score_file is None or commit is None:
            what = "no score file" if seen.score_file is None else "no commit to hold its score file against"
            self.undone.append(f"{seen.competitor} attempt {seen.attempt} has {what} on record")
            return
        if content is None:
            return  # the check of the files says so
        shown = evaluation or Evaluation(
            Outcome.INVALID, replace(self.state.seed.evaluation.digests, strategy=seen.strategy)
        )
        again = agent_score(shown, told, decision, seen.attempt, decision.status, commit=commit)
        if content == (codec.dumps(again, indent=1) + "\n").encode():
            return
        try:
            words = difference(codec.loads(ScoreFile, content, name), again, 0.0 if self.exact else ROUNDING)
        except AutoQuantError as error:
            words = error.message
        if words:
            yield f"score file: {words}"

    def _commit_of(self, working: int | None) -> str | None:
        if not working:
            return self.seed_commit
        seen = self.racer.find(working)
        return None if seen is None else seen.commit

    def _follow(self, seen: AttemptView, stored: Evaluation | None) -> None:
        """Take the record's word, to be able to judge what comes after."""
        if stored is None:
            self.state = replace(self.state, attempts=seen.attempt)
            return
        slots = () if seen.decision is None else seen.decision.slots
        trial = Trial(seen.attempt, seen.strategy, stored)
        self.state = advance(self.state, trial, Status(str(seen.status)), slots)
