"""A race as its ledger stands, in one record: what `status --json` prints and every table is made from. Reads only."""

from __future__ import annotations

import fcntl
import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from autoquant import bulk
from autoquant.arena.show.climb import climb_of
from autoquant.arena.show.trouble import (
    FaultStatus,
    Pause,
    ViolationStatus,
    newest_faults,
    newest_violations,
    pauses,
)
from autoquant.errors import UserError
from autoquant.ledger.layout import RaceLayout
from autoquant.ledger.ledger import read_records
from autoquant.ledger.races import race_names
from autoquant.ledger.records import Record
from autoquant.ledger.replay import replay
from autoquant.ledger.views import AttemptView, CompetitorView, RaceView, UsageTotal
from autoquant.protocol import SCHEMA_VERSION
from autoquant.stats.recursion import RecursionMetrics


@dataclass(frozen=True)
class Tip:
    """An attempt that stands for something: champion or working parent. Attempt 0 is the seed."""

    attempt: int
    score: float | None
    gain: float | None
    """Score minus the seed's."""


@dataclass(frozen=True)
class Last:
    """The newest attempt with a verdict."""

    attempt: int
    status: str
    score: float | None
    delta: float | None
    folds_better: int | None
    gate: str | None = None
    """Which gate it fell at."""


@dataclass(frozen=True)
class CompetitorStatus:
    """One row."""

    name: str
    harness: str
    model: str | None
    effort: str | None
    colour: str
    extension: bool
    group: str
    """Roster name it is a replicate of; empty when it stands alone."""
    state: str
    """`racing`, `left` (no session of it is started any more, until a start that runs it), or the reason of its end."""
    attempts: int
    budget: int
    evaluating: int | None
    """The attempt that is being judged."""
    champion: Tip
    working: Tip
    last: Last | None
    sessions: int
    faults: int
    violations: int
    climb: RecursionMetrics | None
    """Promotions, steps and areas so far."""
    usage: UsageTotal | None
    """Tokens and cost; None when nothing was told of any, as by a control."""
    cost_per_keep_usd: float | None
    """Cost by official keeps; None without a keep or a known cost."""
    agent_seconds: float
    """Time it had in sessions that ended, without judging and without what infrastructure took."""
    infrastructure_seconds: float
    """Time that providers, programs and pauses between sessions took."""
    last_outcome: str | None
    """How its newest session that is over ended."""
    endings: dict[str, int]
    """How many of its sessions ended in which way, the most frequent first."""
    pause: Pause | None
    """Why it has no session now, while it races; None while it has one, and when nothing is known."""


@dataclass(frozen=True)
class VerdictStatus:
    """One lockbox entry."""

    name: str
    sharpe: float | None
    verdict: str | None
    probability: float | None


@dataclass(frozen=True)
class RaceStatus:
    """The whole race."""

    race: str
    kind: str
    state: str
    """`running`, `paused`, `interrupted` (killed), `terminal`, `opening the lockbox` or `lockbox open`."""
    arena: str | None
    """Who holds the race now."""
    source: str
    allow_source: str | None
    isolation: str
    """`sealed`, or `tamper-evident` as soon as one start was."""
    unsealed: tuple[str, ...]
    """Why it is not sealed."""
    noise_floor: float
    seed_score: float | None
    budget: int
    competitors: tuple[CompetitorStatus, ...]
    lockbox: tuple[VerdictStatus, ...] | None
    faults: int
    violations: int
    incidents: int
    newest_faults: tuple[FaultStatus, ...]
    """The last few of `faults`, oldest first."""
    newest_violations: tuple[ViolationStatus, ...]
    """The last few of `violations`, oldest first."""
    updated: str
    ledger_records: int
    schema_version: int = SCHEMA_VERSION


def find_race(state: Path, name: str | None) -> RaceLayout:
    """The named race, or the newest one.

    Raises
    ------
    UserError : there is none.
    """
    names = race_names(state)
    if name is not None and name not in names:
        known = f"races: {', '.join(names)}" if names else "start one: arena.py start --competitors …"
        raise UserError(f"there is no race {name!r} in {state}", known)
    if not names:
        raise UserError(f"there is no race in {state}", "start one: arena.py start --competitors …")
    return RaceLayout(state, name or names[-1])


def read_view(layout: RaceLayout) -> RaceView | None:
    """The race as recorded, also while an arena writes it; None when not one whole record is there."""
    records = read_records(layout.ledger)
    return replay(records, str(layout.ledger)) if records else None


def holder(layout: RaceLayout) -> str | None:
    """Who runs this race now, in the words of its lock; None when nobody does."""
    try:
        descriptor = os.open(layout.lock, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return os.pread(descriptor, 400, 0).decode(errors="replace").strip() or "another process"
        return None
    finally:
        os.close(descriptor)


def race_status(layout: RaceLayout) -> RaceStatus:
    """Status of a race on disk.

    Raises
    ------
    UserError : the race has no record yet.
    """
    return race_now(layout)[0]


def race_now(layout: RaceLayout) -> tuple[RaceStatus, str]:
    """Status of a race on disk, and the digest of the last record it was made from.

    Raises
    ------
    UserError : the race has no record yet.
    """
    with bulk.uncollected():
        records = race_records(layout)
        view = replay(records, str(layout.ledger))
        return status_of(view, holder(layout), records), view.head


def race_records(layout: RaceLayout) -> tuple[Record, ...]:
    """The records of a race on disk, at least one.

    Raises
    ------
    UserError : the race has no record yet.
    """
    records = read_records(layout.ledger)
    if not records:
        raise UserError(f"race {layout.race} has no record yet", "start it again")
    return records


def race_view(layout: RaceLayout) -> RaceView:
    """A race on disk.

    Raises
    ------
    UserError : the race has no record yet.
    """
    return replay(race_records(layout), str(layout.ledger))


def status_of(
    view: RaceView,
    arena: str | None,
    records: Sequence[Record] = (),
    competitor: Callable[[CompetitorView, RaceView, Pause | None], CompetitorStatus] | None = None,
) -> RaceStatus:
    """Status of a race.

    Parameters
    ----------
    view : the race.
    arena : who runs it; None for nobody.
    records : what the view was made from, or the course of it. The view keeps no times of faults: without records
        no fault is named, only counted, and nobody is said to wait.
    competitor : `competitor_of`, or what comes to the same.
    """
    paused, look = pauses(records), competitor or competitor_of
    competitors = tuple(look(racer, view, paused.get(racer.name)) for racer in view.competitors.values())
    created = view.created
    return RaceStatus(
        race=created.race,
        kind=created.kind,
        state=_state(view, arena),
        arena=arena,
        source=created.data.source,
        allow_source=created.allow_source,
        isolation=view.isolation,
        unsealed=view.unsealed,
        noise_floor=created.noise_floor,
        seed_score=view.seed.score if view.seed else None,
        budget=created.budget,
        competitors=competitors,
        lockbox=_verdicts(view),
        faults=len(view.faults) + sum(c.faults for c in competitors),
        violations=sum(c.violations for c in competitors),
        incidents=len(view.incidents),
        newest_faults=newest_faults(records),
        newest_violations=newest_violations(records),
        updated=view.last_utc,
        ledger_records=view.length,
    )


def _state(view: RaceView, arena: str | None) -> str:
    if view.is_terminal:
        if view.lockbox.is_closed:
            return "lockbox open"
        return "opening the lockbox" if view.lockbox.is_reserved and arena is not None else "terminal"
    if arena is not None:
        return "running"
    return "paused" if view.stopped is not None or not view.starts else "interrupted"


def competitor_of(racer: CompetitorView, view: RaceView, pause: Pause | None) -> CompetitorStatus:
    """Status of one competitor of a race, which waits or was left for `pause`."""
    last = racer.closed[-1] if racer.closed else None
    ended = [session.outcome or session.reason for session in racer.sessions if session.reason is not None]
    return CompetitorStatus(
        name=racer.name,
        harness=racer.joined.harness,
        model=racer.joined.model,
        effort=racer.joined.effort,
        colour=racer.joined.colour,
        extension=racer.joined.extension,
        group=racer.joined.group,
        state=racer.ended or ("left" if pause and pause.left else "racing"),
        attempts=len(racer.attempts),
        budget=racer.joined.budget,
        evaluating=racer.open_attempt.attempt if racer.open_attempt else None,
        champion=_tip(racer, racer.champion, view),
        working=_tip(racer, racer.working, view),
        last=_last(last) if last else None,
        sessions=len(racer.sessions),
        faults=len(racer.faults),
        violations=len(racer.violations),
        climb=climb_of(view, racer),
        usage=racer.usage if racer.spent else None,
        cost_per_keep_usd=racer.cost_per_keep_usd,
        agent_seconds=racer.agent_seconds,
        infrastructure_seconds=racer.infrastructure_seconds,
        last_outcome=ended[-1] if ended else None,
        endings=dict(Counter(how for how in ended if how).most_common()),
        pause=pause,
    )


def _tip(racer: CompetitorView, attempt: int, view: RaceView) -> Tip:
    seed = view.seed.score if view.seed else None
    found = racer.find(attempt)
    score = seed if found is None else found.score
    return Tip(attempt, score, None if score is None or seed is None else score - seed)


def _last(attempt: AttemptView) -> Last:
    decision = attempt.decision
    return Last(
        attempt=attempt.attempt,
        status=attempt.status or "",
        score=attempt.score,
        delta=decision.delta if decision else None,
        folds_better=decision.folds_better if decision else None,
        gate=decision.gate if decision else None,
    )


def _verdicts(view: RaceView) -> tuple[VerdictStatus, ...] | None:
    if view.lockbox.entries is None:
        return None
    scores = view.lockbox.scores or {}
    rows = []
    for entry in view.lockbox.entries:
        score = scores.get(entry.name)
        rows.append(
            VerdictStatus(entry.name, score.sharpe, score.verdict, score.probability)
            if score
            else VerdictStatus(entry.name, None, None, None)
        )
    return tuple(rows)


def number(value: float | None) -> str:
    """Two decimals, a dash when missing."""
    return "–" if value is None else f"{value:.2f}".replace("-", "−")
