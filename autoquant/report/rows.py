"""The rows of the attempt tables: which are shown, what each says, and what of it there is room for.

A page of five competitors with 150 attempts each stays under 1.5 MB, one of fifty with a thousand under 8 MB. So rows
are bounded in number, and what takes room and can be had by a command (diff, gate table, reason, the large bars) is
given to accepted attempts first and then to the newest, until the share of the tables is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from autoquant.ledger.records import ACCEPTED
from autoquant.report import commands, reading
from autoquant.report.diffs import Allowance, Change, Texts, compare
from autoquant.report.glyphs import fold_bars
from autoquant.report.judged import gate_figure
from autoquant.report.model import Attempt, Entrant, Gate, Race
from autoquant.report.text import fixed

SHARE, FURTHER, SHARED = 1_170, 970, 750
"""Bytes of the page that the tables may take for each of the first `SHARED` attempts, and for each further one."""
ROW_BYTES, STRESS_BYTES = 790, 110
"""About what an attempt takes that is told in short, without its description; with stress on record so much more."""
COMMAND_BYTES = 120
"""The same for the command that shows a diff."""
FULL_BYTES = 250
"""What its gates and bars add where it is told in full."""
_SMALL = 200
"""With less room than this no diff is written out."""
LEVERAGE = "leverage"
"""The gate that a strategy meets by setting it: told only where it fails."""


@dataclass(frozen=True)
class GateRow:
    """A gate with numbers, in its own unit."""

    name: str
    value: str
    limit: str
    """With the sign that says which side holds."""
    room: str
    passed: bool


@dataclass(frozen=True)
class Row:
    """One attempt as the table shows it."""

    attempt: Attempt
    id: str
    """Empty where numbers may repeat, in a journal."""
    folds: str
    """Folds better, of how many; empty when not compared."""
    bars: Markup
    nearest: str
    """The gate with the least room, in words; empty when none has a number."""
    gates: tuple[GateRow, ...]
    full: bool
    """Told in full: gates as a table, large bars, the reason."""
    shifted: str
    """Range of the score over moved folds; empty where it was not measured."""
    change: Change | None
    """None where no text is on record, in a journal."""
    again: str
    """The command that scores it again; empty where there is no text."""
    compare: str
    """The command that shows its diff; empty where the page shows all of it."""


def choose(entrants: Sequence[Entrant]) -> list[list[Attempt]]:
    """The attempts of each entrant that are shown, oldest first: all, or accepted ones and then the newest."""
    statuses = [[attempt.status for attempt in entrant.attempts] for entrant in entrants]
    numbers = reading.shown(statuses, reading.rows_of(sum(map(len, statuses))))
    return [[entrant.attempts[n - 1] for n in some] for entrant, some in zip(entrants, numbers, strict=True)]


def race_rows(race: Race, entrants: Sequence[Entrant], texts: Texts) -> list[list[Row]]:
    """Rows of each entrant's table, with what there is room for."""
    chosen = choose(entrants)
    wanted = sorted(
        ((entrant, attempt) for entrant, attempts in zip(entrants, chosen, strict=True) for attempt in attempts),
        key=lambda pair: (pair[1].status not in ACCEPTED, -pair[1].number, pair[0].index),
    )
    share = SHARE * SHARED + FURTHER * max(0, len(wanted) - SHARED)
    room = _Room(share - sum(_least(attempt) for _, attempt in wanted))
    work = Allowance()
    told: dict[tuple[int, int], Row] = {}
    for entrant, attempt in wanted:
        change = compare(texts, _parent(race, entrant, attempt), attempt.strategy, work, lines=room.left > _SMALL)
        full = room.takes(FULL_BYTES + _size(attempt.reason))
        shown = change if room.takes(max(0, change.size - COMMAND_BYTES)) else change.counts
        told[entrant.index, attempt.number] = _row(entrant, attempt, full, shown, race)
    return [
        [told[entrant.index, attempt.number] for attempt in attempts]
        for entrant, attempts in zip(entrants, chosen, strict=True)
    ]


def journal_rows(entrant: Entrant) -> list[Row]:
    """Rows of a standalone journal: no texts, no gates, and numbers that may repeat."""
    return [_row(entrant, attempt, False, None, None) for attempt in entrant.attempts[-reading.ROWS :]]


@dataclass
class _Room:
    """Bytes that are left."""

    left: int

    def takes(self, size: int) -> bool:
        """Whether so many fit; then they are gone."""
        if size > self.left:
            return False
        self.left -= size
        return True


def _row(entrant: Entrant, attempt: Attempt, full: bool, change: Change | None, race: Race | None) -> Row:
    gates = [gate for gate in attempt.gate_results if gate.value is not None and gate.limit is not None]
    folds = "" if attempt.folds_better is None else str(attempt.folds_better)
    return Row(
        attempt=attempt,
        id=f"attempt-{entrant.index}-{attempt.number}" if race else "",
        folds=f"{folds}/{len(attempt.fold_sharpes)}" if folds and attempt.fold_sharpes else folds,
        bars=fold_bars(attempt.fold_deltas),
        nearest=_nearest(gates) if attempt.gates_passed else "",
        gates=tuple(_gate_row(gate) for gate in gates if gate.name != LEVERAGE or not gate.passed),
        full=full,
        shifted=_shifted(attempt),
        change=change,
        again=commands.score_again(race, attempt.strategy, whole=False) if race else "",
        compare=_compare(race, change),
    )


def _compare(race: Race | None, change: Change | None) -> str:
    """Where the page does not show all of a change."""
    if race is None or change is None or change.whole:
        return ""
    return commands.compare_texts(race, change.before, change.after)


def _parent(race: Race, entrant: Entrant, attempt: Attempt) -> str:
    """Digest of the working parent's text."""
    if 0 < attempt.parent <= len(entrant.attempts):
        return entrant.attempts[attempt.parent - 1].strategy
    return race.provenance.seed_strategy


def _gate_row(gate: Gate) -> GateRow:
    value, limit, room = gate.value or 0.0, gate.limit or 0.0, gate.headroom
    sign = "≥" if _is_floor(gate) else "≤"
    return GateRow(
        name=gate.name,
        value=gate_figure(gate.name, value),
        limit=f"{sign} {gate_figure(gate.name, limit)}",
        room="" if room is None else gate_figure(gate.name, room),
        passed=gate.passed,
    )


def _is_floor(gate: Gate) -> bool:
    """Whether values above the limit hold: the headroom then grows with the value."""
    value, limit, room = gate.value or 0.0, gate.limit or 0.0, gate.headroom or 0.0
    return abs(value - limit - room) < abs(limit - value - room)


def _nearest(gates: Sequence[Gate]) -> str:
    """The gate with the least room beside its limit."""
    rooms = [
        (gate.headroom / abs(gate.limit), gate)
        for gate in gates
        if gate.headroom is not None and gate.limit and gate.name != LEVERAGE
    ]
    if not rooms:
        return ""
    _, gate = min(rooms, key=lambda pair: (pair[0], pair[1].name))
    return f"{gate.name} {gate_figure(gate.name, gate.headroom or 0.0)} left"


def _shifted(attempt: Attempt) -> str:
    span = attempt.stress.shifted_span if attempt.stress else None
    return f"{fixed(span[0])} to {fixed(span[1])}" if span else ""


def _least(attempt: Attempt) -> int:
    """Bytes of an attempt that is told in short."""
    stress = STRESS_BYTES if attempt.stress else 0
    return ROW_BYTES + stress + COMMAND_BYTES + _size(attempt.description)


def _size(words: str) -> int:
    return len(escape(words).encode())
