"""What a race's record adds up to, frozen, and the table that is derived from it.

Made by `autoquant.ledger.replay`, read by arena and report.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from autoquant.ledger.records import (
    ACCEPTED,
    LINEAGES,
    ArenaStarted,
    BackedOff,
    CompetitorJoined,
    DecisionSummary,
    FaultSeen,
    IncidentSeen,
    LockboxEntry,
    LockboxFetched,
    LockboxReference,
    LockboxScored,
    RaceCreated,
    ReadinessChecked,
    SeedScored,
    UsageCounted,
    ViolationFound,
)


@dataclass(frozen=True, slots=True)
class AttemptView:
    """One counted attempt. Fields from `closed_utc` on are None while it is open."""

    competitor: str
    attempt: int
    request: str
    strategy: str
    description: str
    parent: int
    lineage: str | None
    opened_utc: str
    tries: int = 0
    """Evaluations started; more than one means that some were cut down."""
    closed_utc: str | None = None
    status: str | None = None
    score: float | None = None
    double_cost: float | None = None
    evaluation: str | None = None
    score_file: str | None = None
    decision: DecisionSummary | None = None
    detail: str | None = None
    commit: str | None = None
    final: bool = False

    @property
    def is_open(self) -> bool:
        """Charged, but without a verdict yet."""
        return self.status is None

    @property
    def accepted(self) -> bool:
        """Kept in some way: official, search or archive."""
        return self.status in ACCEPTED


@dataclass(frozen=True)
class SessionView:
    """One harness session; `reason` and later fields are None while it runs, or if the arena was killed in it."""

    number: int
    started_utc: str
    ended_utc: str | None = None
    reason: str | None = None
    exit_code: int | None = None
    seconds: float | None = None
    version: str = ""
    resumes: str | None = None
    outcome: str = ""
    conversation: str | None = None
    detail: str = ""
    judging_seconds: float = 0.0
    lost_seconds: float = 0.0


@dataclass(frozen=True)
class UsageTotal:
    """Tokens added up. `cost_usd` is None when the cost of any part is unknown, and for no part at all."""

    requests: int = 0
    input: int = 0
    cached: int = 0
    output: int = 0
    reasoning: int = 0
    cost_usd: float | None = None

    @property
    def tokens(self) -> int:
        """Read and written."""
        return self.input + self.output

    @classmethod
    def of(cls, parts: Iterable[UsageCounted]) -> UsageTotal:
        """The sum of `parts`."""
        parts = tuple(parts)
        costs = [part.cost_usd for part in parts]
        known = [cost for cost in costs if cost is not None]
        return cls(
            requests=sum(part.requests for part in parts),
            input=sum(part.input for part in parts),
            cached=sum(part.cached for part in parts),
            output=sum(part.output for part in parts),
            reasoning=sum(part.reasoning for part in parts),
            cost_usd=sum(known) if known and len(known) == len(costs) else None,
        )


@dataclass(frozen=True)
class CompetitorView:
    """One competitor's race. `ended` is the reason of its end, None while it may go on."""

    joined: CompetitorJoined
    joined_utc: str
    attempts: tuple[AttemptView, ...] = ()
    ended: str | None = None
    ended_utc: str | None = None
    faults: tuple[FaultSeen, ...] = ()
    violations: tuple[ViolationFound, ...] = ()
    sessions: tuple[SessionView, ...] = ()
    spent: tuple[UsageCounted, ...] = ()
    waits: tuple[BackedOff, ...] = ()

    @property
    def name(self) -> str:
        """The competitor's name."""
        return self.joined.competitor

    @property
    def open_attempt(self) -> AttemptView | None:
        """The attempt that is charged and not closed."""
        return self.attempts[-1] if self.attempts and self.attempts[-1].is_open else None

    @property
    def closed(self) -> tuple[AttemptView, ...]:
        """Attempts with a verdict."""
        return self.attempts[:-1] if self.open_attempt else self.attempts

    @property
    def left(self) -> int:
        """Attempts not charged yet; none behind a final submission."""
        if self.attempts and self.attempts[-1].final:
            return 0
        return self.joined.budget - len(self.attempts)

    @property
    def champion(self) -> int:
        """Attempt that is official champion; 0 is the seed."""
        return next((a.attempt for a in reversed(self.closed) if a.status == "keep"), 0)

    @property
    def working(self) -> int:
        """Attempt that is the working parent; 0 is the seed."""
        return next((a.attempt for a in reversed(self.closed) if a.status in ("keep", "search")), 0)

    @property
    def archive(self) -> dict[str, int | None]:
        """Attempt in each lineage slot, as the last decision recorded them; before any, what the seed fills."""
        for attempt in reversed(self.closed):
            if attempt.decision is not None and attempt.decision.archive:
                return dict(attempt.decision.archive)
        return {name: None if name == "distinct" else 0 for name in LINEAGES}

    @cached_property
    def usage(self) -> UsageTotal:
        """Tokens and cost so far. A known cost after a stretch of unknown cost covers that stretch too, see `Meter`."""
        total = UsageTotal.of(self.spent)
        known = [part.cost_usd for part in self.spent if part.cost_usd is not None]
        covered = bool(self.spent) and self.spent[-1].cost_usd is not None
        return replace(total, cost_usd=sum(known)) if covered else total

    @property
    def cost_per_keep_usd(self) -> float | None:
        """What an official keep cost on average; None without one, or when the cost is not known."""
        keeps, cost = sum(attempt.status == "keep" for attempt in self.attempts), self.usage.cost_usd
        return None if cost is None or not keeps else cost / keeps

    def usage_of_attempt(self, attempt: int) -> UsageTotal:
        """What led to one attempt."""
        return UsageTotal.of(part for part in self.spent if part.attempt == attempt)

    def usage_of_session(self, session: int) -> UsageTotal:
        """What one session spent."""
        return UsageTotal.of(part for part in self.spent if part.session == session)

    @property
    def agent_seconds(self) -> float:
        """Time the agent had: its sessions without judging and without what infrastructure took."""
        return sum((s.seconds or 0.0) - s.judging_seconds - s.lost_seconds for s in self.sessions)

    @property
    def infrastructure_seconds(self) -> float:
        """Time that providers, programs and the arena's own pauses between sessions took."""
        return sum(s.lost_seconds for s in self.sessions) + sum(wait.seconds for wait in self.waits)

    def find(self, attempt: int) -> AttemptView | None:
        """The attempt of that number; None for 0 (the seed) and for numbers not charged."""
        return self.attempts[attempt - 1] if 1 <= attempt <= len(self.attempts) else None


@dataclass(frozen=True)
class LockboxView:
    """The sealed evaluation; `entries` is None until the set is reserved."""

    entries: tuple[LockboxEntry, ...] | None = None
    reserved_utc: str | None = None
    fetched: LockboxFetched | None = None
    fetched_utc: str | None = None
    scores: Mapping[str, LockboxScored] | None = None
    closed_utc: str | None = None
    references: tuple[LockboxReference, ...] = ()
    """Drawn beside the entries, never judged; none in races opened by older versions."""

    @property
    def is_reserved(self) -> bool:
        """The one shot is taken, whether or not it has ended."""
        return self.entries is not None

    @property
    def is_closed(self) -> bool:
        """Every entry has its verdict."""
        return self.closed_utc is not None

    @property
    def pending(self) -> tuple[LockboxEntry, ...]:
        """Reserved entries without a verdict."""
        scores = self.scores or {}
        return tuple(entry for entry in self.entries or () if entry.name not in scores)


@dataclass(frozen=True)
class RaceView:
    """The whole race as its record tells it. `head` and `length` name the record it was read to."""

    created: RaceCreated
    created_utc: str
    competitors: Mapping[str, CompetitorView]
    seed: SeedScored | None = None
    lockbox: LockboxView = LockboxView()
    faults: tuple[FaultSeen, ...] = ()
    """Faults that belong to no competitor."""
    incidents: tuple[IncidentSeen, ...] = ()
    starts: tuple[ArenaStarted, ...] = ()
    readiness: tuple[ReadinessChecked | None, ...] = ()
    """What was checked before each of `starts`; None where the record does not say."""
    stopped: str | None = None
    """Reason of the last clean stop; None while an arena runs, or if it was killed."""
    last_utc: str = ""
    head: str = ""
    length: int = 0

    @property
    def is_terminal(self) -> bool:
        """Every competitor has ended, and there is at least one."""
        return bool(self.competitors) and all(c.ended is not None for c in self.competitors.values())

    @property
    def isolation(self) -> str:
        """The weakest level of its creation and of every start: `sealed` only when the record says so of each."""
        starts = ("" if checked is None else checked.isolation for checked in self.readiness)
        if self.created.isolation == "sealed" and any(level != "sealed" for level in starts):
            return "tamper-evident"
        return self.created.isolation

    @property
    def unsealed(self) -> tuple[str, ...]:
        """Why it is not sealed, as its starts recorded it, each reason once."""
        return tuple(dict.fromkeys(reason for checked in self.readiness if checked for reason in checked.unsealed))


COLUMNS = (
    "attempt", "utc", "status", "score", "delta", "folds_better", "drawdown", "turnover", "trades", "strategy",
    "commit", "parent", "description",
)  # fmt: skip
_DESCRIPTION_LIMIT = 500
_GUARDED = ("=", "+", "-", "@", "'", '"')


def results_tsv(view: RaceView, competitor: str) -> str:
    """results.tsv of one competitor: a header, then one row per attempt with a verdict; missing is empty.

    Numbers have at most four decimals. Text is made inert: one line without control or direction characters, and a
    leading character that a spreadsheet would run or a parser would take for a quote gets an apostrophe before it.

    Raises
    ------
    KeyError : no such competitor.
    """
    rows = [COLUMNS, *(_row(attempt) for attempt in view.competitors[competitor].closed)]
    return "".join("\t".join(row) + "\n" for row in rows)


def inert(text: str) -> str:
    """`text` as one harmless cell.

    >>> inert("=HYPERLINK(1)\\tred \\x1b[31m\\nnext")
    "'=HYPERLINK(1) red [31m next"
    """
    visible = "".join(" " if unicodedata.category(c)[0] in "CZ" else c for c in text[: 4 * _DESCRIPTION_LIMIT])
    line = " ".join(visible.split())
    if len(line) > _DESCRIPTION_LIMIT:
        line = line[: _DESCRIPTION_LIMIT - 1] + "…"
    return f"'{line}" if line.startswith(_GUARDED) else line


def _row(attempt: AttemptView) -> tuple[str, ...]:
    decision = attempt.decision or DecisionSummary()
    return (
        str(attempt.attempt),
        attempt.closed_utc or "",
        inert(attempt.status or ""),
        _number(attempt.score),
        _number(decision.delta),
        _number(decision.folds_better),
        _number(decision.drawdown),
        _number(decision.turnover),
        _number(decision.trades),
        inert(attempt.strategy),
        inert(attempt.commit or ""),
        str(attempt.parent),
        inert(attempt.description),
    )


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return str(value) if isinstance(value, int) else f"{round(value, 4) + 0.0:.4f}"
