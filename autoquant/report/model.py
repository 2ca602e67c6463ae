"""The race as the page sees it: frozen, plain numbers, None for missing. Nothing here knows of files or HTML."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from itertools import accumulate

from autoquant.ledger.views import UsageTotal


class Tone(StrEnum):
    """How a fact of the trust strip is set: plain unless something is wrong."""

    PLAIN = "plain"
    WARN = "warn"
    BAD = "bad"


@dataclass(frozen=True)
class Fact:
    """One entry of the trust strip, with a sentence for those who ask."""

    words: str
    tone: Tone = Tone.PLAIN
    why: str = ""


@dataclass(frozen=True)
class Source:
    """Where prices came from. `banner` is empty for the real archive alone."""

    name: str
    words: str
    synthetic: bool
    banner: str
    stamp: str
    """The word that every chart carries, so that a cut-out cannot pass for something else."""


@dataclass(frozen=True)
class Gate:
    """One gate of an attempt: the worst value met, its limit, the room left (negative when failed)."""

    name: str
    passed: bool
    value: float | None
    limit: float | None
    headroom: float | None
    fold: int | None
    """1-based fold of the worst value; None for the whole path."""


@dataclass(frozen=True)
class Shifted:
    """The score with all folds moved by some days; None where the strategy gave no usable answer there."""

    days: int
    score: float | None


@dataclass(frozen=True)
class Stress:
    """Shown beside an accepted score, never scored."""

    shifted: tuple[Shifted, ...]
    drawdown_at_volatility: float | None
    """Largest fall over daily closes, scaled to 20 % yearly volatility."""
    sharpe: float
    """Of the full path, per year."""
    sharpe_low: float | None
    """95 % interval."""
    sharpe_high: float | None

    @property
    def shifted_span(self) -> tuple[float, float] | None:
        """Lowest and highest score with moved folds; None without one."""
        known = [one.score for one in self.shifted if one.score is not None]
        return (min(known), max(known)) if known else None


@dataclass(frozen=True)
class Attempt:
    """One counted attempt. `status` is None while it is open."""

    number: int
    utc: str
    """Of the verdict; while there is none, of the charge."""
    opened_utc: str
    status: str | None
    score: float | None
    double_cost: float | None
    """Score at 2× costs."""
    delayed: float | None
    """Score with one bar more delay."""
    stress: Stress | None
    """None for what was not accepted."""
    gate_results: tuple[Gate, ...]
    """In the order of judging; empty when no gate was reached or the evaluation cannot be trusted."""
    delta: float | None
    """Score against the working parent."""
    folds_better: int | None
    fold_deltas: tuple[float, ...]
    """Sharpe ratio of each fold against the working parent's; empty when one of the two is missing."""
    fold_sharpes: tuple[float, ...]
    gates: str
    """In words: `all pass`, the gate that failed with value and limit, or why there are none."""
    gates_passed: bool | None
    drawdown: float | None
    turnover: float | None
    trades: int | None
    beyond_error: bool | None
    mask_dependent: bool | None
    slots: tuple[str, ...]
    description: str
    parent: int
    lineage: str | None
    strategy: str
    commit: str | None
    missing: str
    """Why there is no score; empty when there is one."""
    tokens: int | None
    """Read and written on the way to it."""
    cost: float | None
    """US dollars."""
    agent_seconds: float | None = None
    """Of the competitor's own sessions up to its opening; None outside a session."""
    reason: str = ""
    """Of the verdict: what it met or missed, by the ratchet's rules."""


@dataclass(frozen=True)
class Work:
    """What a competitor's search took."""

    usage: UsageTotal | None
    """None when nothing was told of any token."""
    priced_by: tuple[str, ...]
    """Days of the price tables that costs were taken from; `cli` for the program's own figures."""
    cost_per_keep: float | None
    sessions: int
    resumed: int
    """Sessions that went on with a conversation."""
    endings: tuple[tuple[str, int], ...]
    """Classes of the ends of sessions, most frequent first."""
    agent_seconds: float | None
    """Without judging, and without the infrastructure's; None before a session has ended."""
    infrastructure_seconds: float | None


@dataclass(frozen=True)
class Setup:
    """How a competitor's program was set, as far as the record says."""

    replicate_of: str
    versions: tuple[str, ...]
    """What the program called itself, in the order of its sessions, each once."""
    endpoint: str
    args: tuple[str, ...]
    settings: tuple[str, ...]


@dataclass(frozen=True)
class Step:
    """From this attempt on, this score stood."""

    attempt: int
    score: float


@dataclass(frozen=True)
class Verdict:
    """What the sealed year said about one strategy."""

    name: str
    competitor: str | None
    attempt: int
    words: str
    """`confirmed`, `rejected`, `insufficient evidence`; empty while not judged yet."""
    sharpe: float | None
    """Per year."""
    sharpe_low: float | None
    """95 % interval."""
    sharpe_high: float | None
    probability: float | None
    """That the true Sharpe ratio is above 0."""
    gates: str
    """In words: `all hold`, or what failed with value and limit; empty when no gate is on record."""
    gates_hold: bool | None
    daily_returns: tuple[float, ...]
    drawdown: float | None
    total_return: float | None
    missing: str
    """Why there is no equity to draw; empty when there is."""


@dataclass(frozen=True)
class Reference:
    """What the sealed year is drawn beside: accounts like an entry's, no verdict."""

    name: str
    sharpe: float | None
    """Per year."""
    sharpe_low: float | None
    """95 % interval."""
    sharpe_high: float | None
    probability: float | None
    daily_returns: tuple[float, ...]
    drawdown: float | None
    total_return: float | None
    missing: str
    """Why there is no equity to draw; empty when there is."""


@dataclass(frozen=True)
class Entrant:
    """One competitor. `index` is its place in the order of joining: colour, dash and marker hang on it."""

    name: str
    index: int
    harness: str
    model: str | None
    effort: str | None
    colour: str
    budget: int
    control: bool
    extension: bool
    attempts: tuple[Attempt, ...]
    official: tuple[Step, ...]
    """Champion's score over attempts, from the seed at attempt 0."""
    working: tuple[Step, ...]
    champion: Attempt | None
    """None while the seed stands."""
    keeps: int
    accepted: int
    """Attempts that became working parent or champion."""
    best: float | None
    ended: str | None
    faults: int
    violations: int
    verdict: Verdict | None
    work: Work | None
    """None outside a race."""
    setup: Setup | None
    archive: tuple[tuple[str, int | None], ...] = ()
    """Attempt in each lineage slot now, 0 for the seed, None for an empty slot; nothing outside a race."""
    left: str | None = None
    """The fault for which the arena starts no more sessions of it; None while it races, and when it has ended."""

    @cached_property
    def closed(self) -> int:
        """Attempts that have a verdict."""
        return sum(attempt.status is not None for attempt in self.attempts)

    @cached_property
    def last_closed(self) -> int:
        """The highest number of those; 0 when there is none."""
        return max((attempt.number for attempt in self.attempts if attempt.status is not None), default=0)

    @cached_property
    def seconds_so_far(self) -> tuple[float | None, ...]:
        """By attempt, the agent's own time up to handing it in; None outside a session."""
        return tuple(attempt.agent_seconds for attempt in self.attempts)

    @cached_property
    def tokens_so_far(self) -> tuple[float | None, ...]:
        """By attempt, tokens put down to attempts up to it; None before the first figure, which 0 would not say."""
        return _so_far([attempt.tokens for attempt in self.attempts])

    @cached_property
    def cost_so_far(self) -> tuple[float | None, ...]:
        """As `tokens_so_far`, in US dollars; None throughout when some tokens have no price."""
        if any(attempt.tokens is not None and attempt.cost is None for attempt in self.attempts):
            return (None,) * len(self.attempts)
        return _so_far([attempt.cost for attempt in self.attempts])

    @property
    def score(self) -> float | None:
        """The retained champion's score; the seed's while it stands."""
        return self.official[-1].score if self.official else None

    @property
    def working_score(self) -> float | None:
        """The working parent's score."""
        return self.working[-1].score if self.working else None


def _so_far(amounts: Sequence[float | None]) -> tuple[float | None, ...]:
    first = next((place for place, amount in enumerate(amounts) if amount is not None), len(amounts))
    sums = accumulate(amount or 0.0 for amount in amounts[first:])
    return (*(None for _ in amounts[:first]), *(float(total) for total in sums))


@dataclass(frozen=True)
class Standing:
    """A line of the leaderboard. Who cannot be told apart shares a rank."""

    rank: int | None
    shared: bool
    entrant: Entrant


class LockboxStage(StrEnum):
    """How far the sealed year is."""

    SEALED = "sealed"
    OPENING = "opening"
    OPEN = "open"


@dataclass(frozen=True)
class Lockbox:
    """The sealed year: stage, when it was opened, and the verdicts in the order of the reserved set."""

    stage: LockboxStage
    opened: str | None
    start: str
    end: str
    """Half-open."""
    verdicts: tuple[Verdict, ...]
    references: tuple[Reference, ...]
    changed_archives_accepted: bool


@dataclass(frozen=True)
class Event:
    """A fault, violation or incident, for the list under provenance."""

    utc: str
    kind: str
    competitor: str | None
    attempt: int | None
    words: str
    diff: tuple[str, ...] = ()
    """First lines of what a violation changed, inert."""


@dataclass(frozen=True)
class Reading:
    """How many evaluation files the page is made from: of a huge race not all are opened."""

    opened: int
    recorded: int
    """Evaluations of attempts that the ledger names."""
    sample: int
    """Attempts of one competitor, at most, whose daily returns the statistics are made from."""

    @property
    def partial(self) -> bool:
        """Whether some were left closed."""
        return self.opened < self.recorded


@dataclass(frozen=True)
class Readiness:
    """What doctor found before each start of the arena, as far as it is on record."""

    starts: int
    checked: int
    """Starts with doctor's checks on record."""
    unverified: int
    """Of those, how many found data that are not as the manifest pins them."""
    problems: tuple[str, ...]
    """Each once, in the order they were found."""

    @property
    def verified(self) -> bool:
        """Whether the data were held against their manifest before every start, and never differed."""
        return 0 < self.starts == self.checked and not self.unverified


@dataclass(frozen=True)
class Provenance:
    """What every number depends on."""

    protocol: str
    protocol_version: int
    current_protocol: bool
    """Whether this checkout's protocol is the race's."""
    code: str
    data_manifest: str
    data_train: str
    data_valid: str
    noise_floor_digest: str
    secret: str
    seed_strategy: str
    head: str
    records: int
    protected_files: int
    first_utc: str
    last_utc: str
    data_sealed: str = ""
    """Empty until the sealed year is fetched."""


@dataclass(frozen=True)
class Course:
    """What a chart of scores over attempts needs. Without a seed score or a noise floor there is no band."""

    entrants: tuple[Entrant, ...]
    seed_score: float | None
    noise_floor: float | None
    stamp: str


@dataclass(frozen=True)
class Race:
    """Everything a page says about one race."""

    name: str
    demo: bool
    source: Source
    allow_source: str | None
    readiness: Readiness
    isolation: str
    """`sealed`, or another level as soon as one start had it."""
    unsealed: tuple[str, ...]
    """Why it is not sealed."""
    noise_floor: float
    noise_floor_samples: int
    budget: int
    fold_count: int
    seed_score: float | None
    seed_folds: tuple[float, ...]
    entrants: tuple[Entrant, ...]
    lockbox: Lockbox
    events: tuple[Event, ...]
    untrusted: tuple[str, ...]
    """Evaluation files that do not carry the digest the ledger names: shown nowhere else."""
    provenance: Provenance
    reading: Reading

    @property
    def attempts(self) -> int:
        """Counted attempts of all competitors, open ones too."""
        return sum(len(entrant.attempts) for entrant in self.entrants)

    @property
    def course(self) -> Course:
        """The race as a chart of scores."""
        return Course(self.entrants, self.seed_score, self.noise_floor, self.source.stamp)

    @property
    def metered(self) -> bool:
        """Whether anybody told of tokens."""
        return any(entrant.work is not None and entrant.work.usage is not None for entrant in self.entrants)

    @property
    def finished(self) -> bool:
        """Whether every competitor is terminal."""
        return bool(self.entrants) and all(entrant.ended is not None for entrant in self.entrants)

    def events_of(self, kind: str) -> int:
        """How many events of a kind were seen."""
        return sum(event.kind == kind for event in self.events)


@dataclass(frozen=True)
class Journal:
    """The standalone results.tsv of a checkout: no race, no ledger, nobody's claim."""

    source: Source
    entrant: Entrant
    """The rows as one nameless competitor's."""
    digest: str
    """sha256 of the file."""
    refused: int
    """Lines that could not be read as a row."""

    @property
    def course(self) -> Course:
        """The journal as a chart of scores."""
        return Course((self.entrant,), None, None, self.source.stamp)
