"""The two ratchets: what an attempt is worth. Pure functions over trials.

    state = RatchetState.start(seed)
    proposal = propose(state, trial, noise_floor=floor)                  # what the scores alone would earn
    if proposal.needs_confirmation: ...                                  # the oracle's deep check
    decision, state = settle(state, trial, proposal, confirmation, noise_floor=floor, budget=50)

Official beats search beats archive. Thresholds use unrounded numbers, and better means greater by more than the dust
that a change of mask leaves in the last digits (`state.NOISE`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from scipy.special import ndtri

from autoquant.oracle.records import Confirmation, Evaluation, GateResult, Outcome, Status
from autoquant.protocol import PROTOCOL
from autoquant.ratchet.bootstrap import standard_error
from autoquant.ratchet.state import NOISE, RatchetState, Trial, advance, slots_gained

CAUSALITY = "causality"
_NEED_CONFIRMATION = (Status.KEEP, Status.SEARCH, Status.ARCHIVE)
_PASSED_ON = {
    Outcome.GATE: Status.GATE,
    Outcome.INVALID: Status.INVALID,
    Outcome.CRASH: Status.CRASH,
    Outcome.TIMEOUT: Status.TIMEOUT,
}


@dataclass(frozen=True)
class Rule:
    """One condition of a ratchet: what it asks for, what the trial has, by which comparison (`>` or `>=`)."""

    name: str
    required: float
    got: float | None
    passed: bool
    comparison: str = ">"

    @property
    def lacking(self) -> float:
        """How far `got` falls short of `required`; 0 when passed."""
        return 0.0 if self.passed or self.got is None else self.required - self.got


@dataclass(frozen=True)
class Decision:
    """The verdict on one attempt. Δ and folds are against the working parent before it; None without a score."""

    status: Status
    rules: tuple[Rule, ...] = ()
    reason: str = ""
    slots: tuple[str, ...] = ()
    """Archive slots taken."""
    delta: float | None = None
    folds_better: int | None = None
    beyond_error: bool | None = None
    """For a keep: Δscore against the champion exceeds its standard error times Φ⁻¹(1 − α/n). Decides nothing."""
    gate: str | None = None
    """Which gate failed."""
    mask_dependent: bool | None = None
    """Another mask moves a fold; None when no second mask was tried."""
    working: int | None = None
    """Attempt the next mutation starts from, once settled."""
    champion: int | None = None
    """Attempt that is champion, once settled."""
    archive: dict[str, int | None] | None = None
    """Attempt in each archive slot, once settled."""
    attempts_left: int | None = None
    """Budget after this attempt, once settled."""

    @property
    def needs_confirmation(self) -> bool:
        """Nothing is accepted before the deep check."""
        return self.status in _NEED_CONFIRMATION


def correction(attempts: int) -> float:
    """How much the bar rises with the number of attempts: z(n) = Φ⁻¹(1 − α/n) / Φ⁻¹(1 − α), with α = 0.05.

    Parameters
    ----------
    attempts : the competitor's attempts so far, this one included; at least 1.

    >>> [round(correction(n), 4) for n in (1, 2, 50)]
    [1.0, 1.1916, 1.8787]
    """
    return quantile(attempts) / quantile(1)


def quantile(attempts: int) -> float:
    """Φ⁻¹(1 − α/n), Bonferroni's one-sided bar for the n-th look; in standard errors."""
    return float(-ndtri(PROTOCOL.ratchet.alpha / attempts))  # by symmetry; keeps the digits of a small tail


def official_rules(champion: Trial, evaluation: Evaluation, *, attempt: int, noise_floor: float) -> tuple[Rule, ...]:
    """Against the champion: Δscore above the corrected noise floor, better in enough folds."""
    return (
        _delta_rule("official.score", champion, evaluation, noise_floor * correction(attempt)),
        _folds_rule("official.folds", champion, evaluation, PROTOCOL.ratchet.official_folds),
    )


def search_rules(parent: Trial, evaluation: Evaluation) -> tuple[Rule, ...]:
    """Against the working parent: a material Δscore, better in enough folds, and better at the cost stress."""
    before, after = parent.evaluation.score_double_cost, evaluation.score_double_cost
    stressed = None if before is None or after is None else after - before
    return (
        _delta_rule("search.score", parent, evaluation, PROTOCOL.ratchet.search_delta),
        _folds_rule("search.folds", parent, evaluation, PROTOCOL.ratchet.search_folds),
        Rule("search.double_cost", 0.0, stressed, stressed is not None and stressed > NOISE),
    )


def propose(state: RatchetState, trial: Trial, *, noise_floor: float) -> Decision:
    """The status that the scores alone would earn; a keep, search or archive still has to be confirmed.

    Raises
    ------
    ValueError : `trial` is not the attempt that comes after `state`.
    """
    if trial.attempt <= state.attempts:
        raise ValueError(f"attempt {trial.attempt} after attempt {state.attempts}")
    evaluation = trial.evaluation
    if evaluation.outcome is not Outcome.SCORED or evaluation.score is None:
        return _passed_on(state, evaluation)
    claim = _Claim.of(state, trial, noise_floor)
    status = claim.status
    return Decision(
        status=status,
        rules=claim.rules,
        reason=_reason(status, claim),
        slots=claim.slots,
        delta=evaluation.score - state.parent.score,
        folds_better=folds_better(evaluation, state.parent.evaluation),
        beyond_error=_beyond_error(state, trial) if status is Status.KEEP else None,
    )


def reconsider(
    state: RatchetState, trial: Trial, proposal: Decision, confirmation: Confirmation | None, *, noise_floor: float
) -> tuple[Trial, Decision]:
    """Trial and proposal after the deep check: a strategy that broke a limit there is what it came to there.

    A call that ran out of time is slow, not dishonest; only a difference between runs is a leak.
    """
    if confirmation is None or confirmation.failure is None:
        return trial, proposal
    failed = replace(trial, evaluation=confirmation.failure)
    return failed, propose(state, failed, noise_floor=noise_floor)


def settle(
    state: RatchetState,
    trial: Trial,
    proposal: Decision,
    confirmation: Confirmation | None,
    *,
    noise_floor: float,
    budget: int,
) -> tuple[Decision, RatchetState]:
    """The final verdict and the state after it.

    A failed deep causality check makes the attempt a `gate` one. Otherwise the same rules are applied to the
    evaluation under the second mask, and the attempt earns the best of keep, search, archive that both evaluations
    earn (the archive: with the slots both would take), else discard. A second evaluation without a score earns
    nothing.

    Raises
    ------
    ValueError : the proposal needs a confirmation and there is none.
    """
    decision = proposal
    if proposal.needs_confirmation:
        if confirmation is None:
            raise ValueError(f"attempt {trial.attempt} is accepted only after its confirmation")
        decision = _confirmed(state, trial, proposal, confirmation, noise_floor)
    after = advance(state, trial, decision.status, decision.slots)
    return _with_outlook(decision, after, budget), after


def violation(state: RatchetState, attempt: int, path: str, *, budget: int) -> tuple[Decision, RatchetState]:
    """The verdict on an attempt during which a protected file was changed: it counts and earns nothing."""
    decision = Decision(Status.VIOLATION, reason=f"the protected file {path} was changed")
    after = replace(state, attempts=attempt)
    return _with_outlook(decision, after, budget), after


def after_confirmation(evaluation: Evaluation, decision: Decision) -> Evaluation:
    """What of `evaluation` may stand once `decision` is made: a leak found late leaves no number behind."""
    if decision.gate != CAUSALITY or evaluation.outcome is not Outcome.SCORED:
        return evaluation
    gates = (
        *(GateResult(gate.name, gate.passed) for gate in evaluation.gates if gate.name != CAUSALITY),
        GateResult(CAUSALITY, passed=False),
    )
    return Evaluation(
        Outcome.GATE, evaluation.digests, gates=gates, split=evaluation.split, schema_version=evaluation.schema_version
    )


def folds_better(evaluation: Evaluation, other: Evaluation) -> int:
    """Folds in which `evaluation` has the greater Sharpe ratio, by more than a change of mask alone can make."""
    return sum(a - b > NOISE for a, b in zip(evaluation.fold_sharpes, other.fold_sharpes, strict=True))


@dataclass(frozen=True)
class _Claim:
    """What one evaluation earns by itself."""

    official: tuple[Rule, ...]
    search: tuple[Rule, ...]
    slots: tuple[str, ...]

    @classmethod
    def of(cls, state: RatchetState, trial: Trial, noise_floor: float) -> _Claim:
        return cls(
            official_rules(state.champion, trial.evaluation, attempt=trial.attempt, noise_floor=noise_floor),
            search_rules(state.parent, trial.evaluation),
            slots_gained(state, trial),
        )

    @property
    def rules(self) -> tuple[Rule, ...]:
        return self.official + self.search

    @property
    def status(self) -> Status:
        if all(rule.passed for rule in self.official):
            return Status.KEEP
        if all(rule.passed for rule in self.search):
            return Status.SEARCH
        return Status.ARCHIVE if self.slots else Status.DISCARD

    def both(self, other: _Claim) -> _Claim:
        """What this and `other` earn alike; a rule that only `other` fails is listed under a name of its own."""
        return _Claim(
            self.official + _failed_elsewhere(self.official, other.official),
            self.search + _failed_elsewhere(self.search, other.search),
            tuple(slot for slot in self.slots if slot in other.slots),
        )


def _failed_elsewhere(here: tuple[Rule, ...], there: tuple[Rule, ...]) -> tuple[Rule, ...]:
    pairs = zip(here, there, strict=True)
    return tuple(replace(b, name=f"{b.name} (second mask)") for a, b in pairs if a.passed and not b.passed)


def _confirmed(
    state: RatchetState, trial: Trial, proposal: Decision, confirmation: Confirmation, noise_floor: float
) -> Decision:
    if not confirmation.causality_passed:
        return Decision(
            Status.GATE, reason="the deep causality check found a decision that used a later bar", gate=CAUSALITY
        )
    second = confirmation.second
    if second is None or second.outcome is not Outcome.SCORED or second.score is None:
        what = "no answer" if second is None else second.failed_gate or second.outcome.value
        return replace(
            proposal,
            status=Status.DISCARD,
            slots=(),
            beyond_error=None,
            reason=f"it does not hold under a second mask ({what})",
            mask_dependent=True,
        )
    claim = _Claim.of(state, trial, noise_floor)
    joint = claim.both(_Claim.of(state, replace(trial, evaluation=second), noise_floor))
    reason = _reason(joint.status, joint)
    if joint.status is not proposal.status:
        reason += f"; {proposal.status} does not hold under a second mask"
    return replace(
        proposal,
        status=joint.status,
        rules=joint.rules,
        reason=reason,
        slots=joint.slots,
        beyond_error=proposal.beyond_error if joint.status is Status.KEEP else None,
        mask_dependent=confirmation.mask_dependent,
    )


def _passed_on(state: RatchetState, evaluation: Evaluation) -> Decision:
    status = _PASSED_ON[evaluation.outcome]
    gate = evaluation.failed_gate
    fault = evaluation.fault
    if status is Status.GATE:
        reason = f"the gate {gate} failed"
    elif fault is not None:
        reason = fault.kind if fault.line is None else f"{fault.kind} at line {fault.line} of strategy.py"
    else:
        reason = f"no score: {evaluation.outcome}"
    scored = evaluation.score is not None and len(evaluation.folds) == len(state.parent.evaluation.folds)
    return Decision(
        status,
        reason=reason,
        gate=gate,
        delta=None if evaluation.score is None else evaluation.score - state.parent.score,
        folds_better=folds_better(evaluation, state.parent.evaluation) if scored else None,
    )


def _with_outlook(decision: Decision, after: RatchetState, budget: int) -> Decision:
    return replace(
        decision,
        working=after.parent.attempt,
        champion=after.champion.attempt,
        archive=after.archive.attempts(),
        attempts_left=max(0, budget - after.attempts),
    )


def _beyond_error(state: RatchetState, trial: Trial) -> bool | None:
    error = standard_error(trial, state.champion)
    if error is None:
        return None
    return trial.score - state.champion.score > error * quantile(trial.attempt)


def _delta_rule(name: str, other: Trial, evaluation: Evaluation, required: float) -> Rule:
    got = None if evaluation.score is None else evaluation.score - other.score
    return Rule(name, required, got, got is not None and got > required)


def _folds_rule(name: str, other: Trial, evaluation: Evaluation, required: int) -> Rule:
    got = folds_better(evaluation, other.evaluation)
    return Rule(name, float(required), float(got), got >= required, ">=")


def _reason(status: Status, claim: _Claim) -> str:
    official, search = claim.official, claim.search
    if status is Status.KEEP:
        return f"beats the champion: {_held(official)}"
    if status is Status.SEARCH:
        return f"beats the working parent: {_held(search)}"
    if status is Status.ARCHIVE:
        return f"takes the archive's {' and '.join(claim.slots)}; not search, which asks for {_missed(search)}"
    return f"search asks for {_missed(search)}"


def _held(rules: tuple[Rule, ...]) -> str:
    return ", ".join(_words(rule) for rule in rules)


def _missed(rules: tuple[Rule, ...]) -> str:
    return ", ".join(_words(rule) for rule in rules if not rule.passed)


def _words(rule: Rule) -> str:
    label = rule.name.partition(".")[2]
    if label.startswith("folds"):
        got = "none" if rule.got is None else f"{rule.got:.0f}"
        return f"{label.replace('folds', 'better folds')} ≥ {rule.required:.0f} (got {got})"
    subject = label.replace("score", "Δscore").replace("double_cost", "Δscore at 2× costs")
    got = "none" if rule.got is None else f"{rule.got:+.4f}"
    return f"{subject} > {rule.required:.4f} (got {got})"
