"""The sealed period, opened once: reserve the set, fetch, refer, judge entry by entry, close. Resumes the same set."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from autoquant import codec, files
from autoquant.arena.referee.standing import stored_strategy
from autoquant.clock import Clock, utc_iso
from autoquant.errors import LedgerError, UserError
from autoquant.ledger import records as r
from autoquant.ledger.judged import sealed_set
from autoquant.ledger.layout import RaceLayout
from autoquant.ledger.ledger import Ledger
from autoquant.ledger.views import RaceView
from autoquant.oracle.gates import lockbox_verdict
from autoquant.oracle.records import Evaluation
from autoquant.protocol import PROTOCOL
from autoquant.stats.sharpe import probabilistic_sharpe_of

if TYPE_CHECKING:
    from autoquant.market.lockbox import LockboxData


class SealedJudge(Protocol):
    """Judges one strategy on the sealed path."""

    def __call__(self, source: bytes, data: LockboxData, entry: r.LockboxEntry) -> Evaluation:
        """The evaluation of an entry, whose text is `source`."""
        ...


@dataclass(frozen=True)
class Opening:
    """What opening needs from outside.

    Parameters
    ----------
    fetch : fetches and verifies the sealed period; calling it again gives the same.
    judge : evaluates one entry on it.
    refer : what is drawn beside the entries, by name: its accounts on the same panel. Nobody judges it.
    accept_changed : whether changed archives were accepted.
    by : the program that opens it, for the record.
    on_entry : called with (verdicts so far, entries).
    """

    fetch: Callable[[], LockboxData]
    judge: SealedJudge
    refer: Mapping[str, Callable[[LockboxData], Evaluation]]
    accept_changed: bool
    by: r.OpenedBy | None = None
    on_entry: Callable[[int, int], None] = lambda done, total: None


def require_openable(view: RaceView) -> None:
    """Refuse a second opening, and a first one while somebody may still race.

    Raises
    ------
    UserError : says when it was opened, or who has not ended.
    """
    race, box = view.created.race, view.lockbox
    if box.is_closed:
        raise UserError(
            f"the lockbox of race {race} was opened on {box.reserved_utc}; it opens once",
            f"its verdicts: arena.py status --race {race}",
        )
    if box.is_reserved:
        return
    running = [name for name, racer in view.competitors.items() if racer.ended is None]
    if running or not view.competitors:
        who = f"{', '.join(running)} may still race" if running else "nobody has raced"
        raise UserError(f"the lockbox of race {race} stays shut: {who}", "arena.py start resumes the race")


def warning(view: RaceView) -> str:
    """What is about to happen, for the one who has to type the race's name."""
    entries = view.lockbox.entries or sealed_set(view)
    controls = sum(
        e.competitor is not None and view.competitors[e.competitor].joined.harness == "control" for e in entries
    )
    champions = len(entries) - controls - 1
    calendar = PROTOCOL.calendar
    return (
        f"This opens the sealed period {calendar.lockbox_start[:7]} … {_last_month(calendar.lockbox_end)} once, for "
        f"{_count(champions, 'champion')}, the seed and {_count(controls, 'control')}. It cannot be undone or repeated."
    )


def open_once(layout: RaceLayout, ledger: Ledger, opening: Opening, clock: Clock) -> RaceView:
    """Open the lockbox, or go on where an opening was cut short; returns the race with all verdicts.

    The set is in the ledger before anything is fetched; each verdict is in it before the next entry is judged.
    References come before the entries and are no part of the set; an opening that goes on makes those it still lacks.

    Raises
    ------
    UserError : it may not be opened (again).
    DataError : an archive changed, or breaks a data rule; the same command goes on after mending.
    """
    require_openable(ledger.view)

    def append(body: r.RecordBody) -> None:
        ledger.append(body, utc_iso(clock.now()))

    if not ledger.view.lockbox.is_reserved:
        append(r.LockboxReserved(sealed_set(ledger.view), opening.by))
    data = opening.fetch()
    fetched = ledger.view.lockbox.fetched
    record = codec.encode(data.record)
    if fetched is None:
        append(r.LockboxFetched(record, opening.accept_changed))
    elif fetched.data["panel"] != record["panel"]:
        raise LedgerError(f"{layout.lockbox}: holds another sealed period than the race's record names")
    for name in _missing_references(ledger.view, opening):
        accounts = codec.dumps(opening.refer[name](data)).encode()
        files.atomic_write(layout.lockbox_reference(name), accounts)
        append(r.LockboxReference(name, files.sha256_bytes(accounts)))
    entries = ledger.view.lockbox.entries or ()
    for entry in ledger.view.lockbox.pending:
        opening.on_entry(len(entries) - len(ledger.view.lockbox.pending), len(entries))
        content = _same_judged(layout, ledger.view, entry)
        if content is None:
            evaluation = opening.judge(stored_strategy(layout, entry.strategy), data, entry)
            content = codec.dumps(evaluation).encode()
        evaluation = codec.loads(Evaluation, content, entry.name)
        files.atomic_write(layout.lockbox_evaluation(entry.name), content)
        append(scored(entry.name, evaluation, files.sha256_bytes(content)))
    append(r.LockboxClosed())
    opening.on_entry(len(entries), len(entries))
    return ledger.view


def _missing_references(view: RaceView, opening: Opening) -> list[str]:
    there = {reference.name for reference in view.lockbox.references}
    return [name for name in opening.refer if name not in there]


def _same_judged(layout: RaceLayout, view: RaceView, entry: r.LockboxEntry) -> bytes | None:
    """The stored evaluation of an equal entry (same text, same mask): a control that has kept the seed, for one."""
    for name, verdict in (view.lockbox.scores or {}).items():
        other = next(e for e in view.lockbox.entries or () if e.name == name)
        if (other.strategy, other.attempt) == (entry.strategy, entry.attempt):
            try:
                content = layout.lockbox_evaluation(name).read_bytes()
            except OSError:
                return None
            return content if files.sha256_bytes(content) == verdict.evaluation else None
    return None


def scored(name: str, evaluation: Evaluation, digest: str) -> r.LockboxScored:
    """The verdict on one entry: gates first, then the sign of its Sharpe ratio, then the evidence."""
    holds = evaluation.fault is None and evaluation.failed_gate is None
    if not evaluation.folds:
        return r.LockboxScored(name, digest, None, str(lockbox_verdict(0.0, 0.0, False)), None)
    sharpe = evaluation.folds[0].sharpe
    probability = probabilistic_sharpe_of(evaluation.daily_returns[0]) if evaluation.daily_returns else 0.5
    return r.LockboxScored(name, digest, sharpe, str(lockbox_verdict(sharpe, probability, holds)), probability)


def _count(number: int, word: str) -> str:
    return f"{number} {word}" + ("" if number == 1 else "s")


def _last_month(exclusive_end: str) -> str:
    """Month of the last day before an exclusive end at the first of a month.

    >>> _last_month("2026-07-01"), _last_month("2026-01-01")
    ('2026-06', '2025-12')
    """
    year, month = int(exclusive_end[:4]), int(exclusive_end[5:7])
    return f"{year - (month == 1)}-{12 if month == 1 else month - 1:02d}"
