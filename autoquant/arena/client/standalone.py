"""run.py outside a race: the same oracle and ratchets, in place, on trust.

    results.tsv, score.json           at the top of the checkout, for reading
    state/standalone/record.json      what was judged so far, in order
    state/standalone/…                texts by digest, evaluations by attempt

The first strategy that passes every gate is the baseline and counts as `keep`; later ones are held against the working
parent and champion as in a race, at the calibrated noise floor. Without a calibration nothing can become champion.
Another protocol or other data begin a new baseline; numbers go on. strategy.py is never put back here: it is yours,
and git keeps it. Masks and cuts derive from 32 zero bytes, so anybody can repeat a number.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from autoquant import codec, files
from autoquant.arena.plain_text import plain
from autoquant.arena.referee.mailbox import LINEAGES, Reply, ReplyKind
from autoquant.clock import SystemClock, utc_iso
from autoquant.errors import DataError, UserError
from autoquant.ledger.views import COLUMNS, inert
from autoquant.market import data_directory
from autoquant.oracle.command import load_calibration, open_judge, without_place
from autoquant.oracle.records import Digests, Evaluation, Outcome, Status
from autoquant.protocol import PROTOCOL, SCHEMA_VERSION
from autoquant.ratchet.decide import Decision, after_confirmation, propose, reconsider, settle
from autoquant.ratchet.feedback import Feedback, feedback
from autoquant.ratchet.score_file import ScoreFile, agent_score
from autoquant.ratchet.state import RatchetState, Trial, advance

RESULTS, SCORE, STRATEGY = "results.tsv", "score.json", "strategy.py"
_PLACE = Path("state") / "standalone"
UNCALIBRATED_FLOOR = 1e9


@dataclass(frozen=True)
class Row:
    """One judged text: what the record keeps beside its evaluation."""

    attempt: int
    strategy: str
    status: Status
    slots: tuple[str, ...]
    parent: int


@dataclass(frozen=True)
class Journal:
    """Everything judged in this checkout. Rows before `baseline` were under another protocol or on other data."""

    rows: tuple[Row, ...] = ()
    baseline: int = 1
    """Number of the first attempt that counts for the ratchets."""
    schema_version: int = SCHEMA_VERSION


def experiment(home: Path, data_root: Path, description: str, say: Callable[[str], None]) -> Reply:
    """Judge strategy.py in place, decide, append to results.tsv, write score.json.

    Raises
    ------
    UserError : no strategy.py that can be read, or no data.
    InfrastructureFault : the machine failed; nothing is recorded.
    """
    try:
        source = files.read_regular(home, STRATEGY, PROTOCOL.limits.strategy_bytes)
    except FileNotFoundError:
        raise UserError(f"{home / STRATEGY}: not found", "git checkout -- strategy.py brings the seed back") from None
    except files.NotRegularFile as error:
        hint = f"{STRATEGY} has to be one plain file of at most {PROTOCOL.limits.strategy_bytes >> 10} KiB, no link"
        raise UserError(error.message, hint) from None
    judge, _ = open_judge(data_root, "valid", jobs=None, reveal=True)
    place = home / _PLACE
    with judge, files.exclusive_lock(place / "lock", f"another run.py, process {os.getpid()}"):  # numbers go up by one
        shelf = _Shelf(home, judge.pins.of(source))
        digest = files.sha256_bytes(source)
        known = next((row for row in shelf.current if row.strategy == digest), None)
        if known is not None:
            message = f"this very file was judged as attempt {known.attempt}; nothing was added"
            return shelf.reply(ReplyKind.RECORD, message, shelf.score(known.attempt))
        number = len(shelf.journal.rows) + 1
        say(f"judging attempt {number}")
        judgement = judge.screen(source, number)
        state = shelf.state()
        trial = Trial(number, digest, judgement.evaluation)
        if state is None:
            decision, notes = _baseline(trial), None
        else:
            floor = _noise_floor(data_root, say)
            decision = propose(state, trial, noise_floor=floor)
            confirmation = None
            if decision.needs_confirmation:
                say("confirming before anything is accepted")
                confirmation = judge.confirm(source, number, judgement)
                trial, decision = reconsider(state, trial, decision, confirmation, noise_floor=floor)
            decision, _ = settle(state, trial, decision, confirmation, noise_floor=floor, budget=number)
            decision, notes = replace(decision, attempts_left=None), feedback(state, trial, decision)
    return shelf.add(source, trial, decision, notes, description)


def undecided(evaluation: Evaluation) -> ScoreFile:
    """score.json of a strategy that was scored without any ratchet (`evaluate.py`)."""
    return agent_score(evaluation, None, None, 0, str(evaluation.outcome), reveal=True)


def restore(home: Path, lineage: str) -> Reply:
    """Put an archive tip into strategy.py.

    Raises
    ------
    UserError : the archive has none, or strategy.py holds a text that is stored nowhere else.
    """
    if lineage not in LINEAGES:
        raise UserError(f"--from {lineage}: no such lineage", f"one of {', '.join(LINEAGES)}")
    shelf = _Shelf(home, None)
    state = shelf.state()
    tip = None if state is None else getattr(state.archive, lineage)
    if tip is None:
        raise UserError(f"--from {lineage}: nothing in this lineage yet", "run.py judges strategy.py and fills it")
    here = home / STRATEGY
    if here.is_file() and files.sha256_file(here) not in {row.strategy for row in shelf.journal.rows}:
        raise UserError(f"{STRATEGY}: was never judged, so --from would lose it", "run run.py first, or move it away")
    files.atomic_write(here, shelf.text(tip.strategy))
    return shelf.reply(ReplyKind.RESTORED, f"strategy.py now holds {lineage} (attempt {tip.attempt})", None)


def _baseline(trial: Trial) -> Decision:
    """The first text: kept when it passes every gate, else what its outcome says."""
    evaluation = trial.evaluation
    if evaluation.outcome is not Outcome.SCORED:
        words = {Outcome.GATE: Status.GATE, Outcome.CRASH: Status.CRASH, Outcome.TIMEOUT: Status.TIMEOUT}
        status = words.get(evaluation.outcome, Status.INVALID)
        gate = evaluation.failed_gate
        return Decision(
            status, reason=f"no baseline yet: the gate {gate} failed" if gate else "no baseline yet", gate=gate
        )
    tips = RatchetState.start(trial).archive.attempts()
    slots = tuple(name for name, number in tips.items() if number is not None)
    return Decision(
        Status.KEEP,
        reason="the baseline: the first strategy here that passes every gate",
        slots=slots,
        working=trial.attempt,
        champion=trial.attempt,
        archive=tips,
    )


def _noise_floor(data_root: Path, say: Callable[[str], None]) -> float:
    try:
        return load_calibration(data_directory(data_root)).value
    except DataError as error:
        say(f"note: {error.message}: nothing can become champion ({error.hint})")
        return UNCALIBRATED_FLOOR


class _Shelf:
    """The files of state/standalone. `digests` None takes the record as it is."""

    def __init__(self, home: Path, digests: Digests | None) -> None:
        self._home = home
        self._root = home / _PLACE
        path = self._root / "record.json"
        self.journal = codec.loads(Journal, path.read_bytes(), str(path)) if path.is_file() else Journal()
        if digests is not None and self.current:
            before = self._evaluation(self.current[-1].attempt).digests
            if (before.protocol, before.data) != (digests.protocol, digests.data):
                self.journal = replace(self.journal, baseline=len(self.journal.rows) + 1)

    @property
    def current(self) -> tuple[Row, ...]:
        """Rows of the present protocol and data."""
        return tuple(row for row in self.journal.rows if row.attempt >= self.journal.baseline)

    def state(self) -> RatchetState | None:
        """The ratchet after the last row; None before a baseline."""
        state: RatchetState | None = None
        for row in self.current:
            trial = Trial(row.attempt, row.strategy, self._evaluation(row.attempt))
            if state is not None:
                state = advance(state, trial, row.status, row.slots)
            elif row.status is Status.KEEP:
                state = replace(RatchetState.start(trial), attempts=row.attempt)
        return state

    def text(self, digest: str) -> bytes:
        """A judged text."""
        return (self._root / "strategies" / f"{digest}.py").read_bytes()

    def score(self, attempt: int) -> ScoreFile:
        """An attempt's score file."""
        path = self._root / "scores" / f"{attempt:04d}.json"
        return codec.loads(ScoreFile, path.read_bytes(), str(path))

    def add(
        self,
        source: bytes,
        trial: Trial,
        decision: Decision,
        notes: Feedback | None,
        description: str,
    ) -> Reply:
        """Store one judged text; the record comes before results.tsv, so a kill loses a line there at most."""
        number, before = trial.attempt, self.state()
        evaluation = after_confirmation(trial.evaluation, decision)
        score = agent_score(evaluation, notes, decision, number, decision.status, reveal=True)
        files.atomic_write(self._root / "strategies" / f"{trial.strategy}.py", source)
        files.atomic_write(self._root / "evaluations" / f"{number:04d}.json", codec.dumps(evaluation) + "\n")
        files.atomic_write(self._root / "scores" / f"{number:04d}.json", codec.dumps(score, indent=1) + "\n")
        parent = 0 if before is None else before.parent.attempt
        row = Row(number, trial.strategy, decision.status, decision.slots, parent)
        self.journal = replace(self.journal, rows=(*self.journal.rows, row))
        files.atomic_write(self._root / "record.json", codec.dumps(self.journal, indent=1) + "\n")
        self._append_result(row, evaluation, decision, description)
        files.atomic_write(self._home / SCORE, codec.dumps(score, indent=1) + "\n")
        return self.reply(ReplyKind.VERDICT, f"{decision.status}: {decision.reason}", score)

    def reply(self, kind: ReplyKind, message: str, score: ScoreFile | None) -> Reply:
        """An answer in the words of a race's, without a budget."""
        state = self.state()
        working, text = (0, "") if state is None else (state.parent.attempt, state.parent.strategy)
        archive = {} if state is None else state.archive.attempts()
        return Reply("", kind, message, len(self.journal.rows), None, working, text, archive, shown(score))

    def _evaluation(self, attempt: int) -> Evaluation:
        path = self._root / "evaluations" / f"{attempt:04d}.json"
        return codec.loads(Evaluation, path.read_bytes(), str(path))

    def _append_result(self, row: Row, evaluation: Evaluation, decision: Decision, description: str) -> None:
        path = self._home / RESULTS
        if not path.is_file() or not path.stat().st_size:
            files.append_line(path, "\t".join(COLUMNS))
        scored = evaluation.score is not None
        cells = (
            str(row.attempt),
            utc_iso(SystemClock().now()),
            str(row.status),
            _number(evaluation.score),
            _number(decision.delta if scored else None),
            _number(decision.folds_better if scored else None),
            _number(evaluation.max_drawdown),
            _number(evaluation.turnover),
            _number(evaluation.trades),
            row.strategy,
            "",
            str(row.parent),
            inert(plain(description, 500)),
        )
        files.append_line(path, "\t".join(cells))


def shown(score: ScoreFile | None) -> dict[str, Any] | None:
    """A score as a reply carries it: the place of a fault is said by its line, not once more in its text."""
    if score is None:
        return None
    encoded: dict[str, Any] = codec.encode(score)
    fault = encoded["fault"]
    if fault and fault["message"]:
        encoded["fault"] = {**fault, "message": without_place(fault["message"])}
    return encoded


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return str(value) if isinstance(value, int) else f"{round(value, 4) + 0.0:.4f}"
