"""What a race's record can say: one frozen dataclass per kind of line, plain values only.

A line of the ledger is the canonical JSON of `Record`: `schema_version`, `seq` (1-based, equal to the line number),
`utc`, `kind` (the body's class in snake case), `body`, `previous` (the `digest` of the line before, 64 zeros for the
first) and `digest` (sha256 of the canonical JSON of everything else). `seq` orders; `utc` informs.

A digest named here is a sha256 in hex. Attempt 0 is the seed. `None` is "missing", never 0.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

GENESIS = "0" * 64
"""What the first line names as the line before it."""

LINEAGES = ("best", "stable", "cost_robust", "distinct")
ACCEPTED = ("keep", "search", "archive")
STATUSES = (*ACCEPTED, "discard", "gate", "invalid", "crash", "timeout", "violation")
"""Every status of a counted attempt; a test holds them equal to the oracle's."""
GRADED = "graded"
"""The one status of the graded track: the score says the rest."""


@dataclass(frozen=True)
class DataPin:
    """Which market data a race runs on: source name and the digests of manifest and panels."""

    source: str
    manifest: str
    train: str
    valid: str


@dataclass(frozen=True)
class RaceCreated:
    """The first line: everything a result of this race depends on."""

    race: str
    kind: str
    """`race`, `demo` or `tasks`."""
    protocol: str
    protected: dict[str, str]
    """Digest of each protected file by name."""
    code: str
    data: DataPin
    noise_floor: float
    noise_floor_samples: int
    noise_floor_digest: str
    secret_digest: str
    seed_strategy: str
    budget: int
    allow_source: str | None
    isolation: str
    """`sealed` or `tamper-evident`, as proved before this line; a later start may be weaker."""
    environment: dict[str, str] = field(default_factory=dict)
    """Interpreter, libraries and machine, see `autoquant.environment`; empty in records of older versions."""


@dataclass(frozen=True)
class SeedScored:
    """The seed's evaluation, which every competitor starts from."""

    evaluation_digest: str
    score: float


@dataclass(frozen=True)
class CompetitorJoined:
    """A competitor as the roster described it. `seed` is a control's own random seed."""

    competitor: str
    harness: str
    model: str | None
    effort: str | None
    colour: str
    budget: int
    seed: int | None = None
    extension: bool = False
    """Joined after the lockbox was reserved: VALID only, for ever."""
    group: str = ""
    """Roster name this is a replicate of; empty when it stands alone."""
    endpoint: str = ""
    """Model endpoint in place of the vendor's."""
    args: tuple[str, ...] = ()
    """Options added to the program's command line."""
    settings: tuple[str, ...] = ()
    """What the adapter sets so that the race is fair, in words."""
    task: str = ""
    """Of the graded track: the one task it works on; `group` is then the competitor it belongs to."""


@dataclass(frozen=True)
class ReadinessChecked:
    """What `start` found just before it ran: the checks of `arena.py doctor`, each in words (`disk: 1 GB free, …`)."""

    manifest_verified: bool
    """Panels and every archive on disk were held against the manifest, and none differed."""
    problems: tuple[str, ...] = ()
    """Of checkout, data and machine. What would spoil a race stops `start` before it comes to this."""
    warnings: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    """Competitors that could not run here and were left out of this start, with the reason."""
    isolation: str = ""
    """`sealed` or `tamper-evident`, as proved for the competitors of this start; empty on record from before levels."""
    unsealed: tuple[str, ...] = ()
    """Why it is not sealed, one reason each."""


@dataclass(frozen=True)
class ArenaStarted:
    """An arena process took the race."""

    pid: int
    host: str
    competitors: tuple[str, ...] = ()
    """Whom it runs; empty in records of older versions, which do not say."""


@dataclass(frozen=True)
class ArenaStopped:
    """The arena process left on its own will; a killed one leaves no such line."""

    reason: str


@dataclass(frozen=True)
class SessionStarted:
    """A harness session of a competitor, numbered from 1."""

    competitor: str
    session: int
    version: str = ""
    """Of the program, as it says itself."""
    resumes: str | None = None
    """The program's own id of the conversation that goes on; None for a fresh one."""


@dataclass(frozen=True)
class SessionEnded:
    """How the session ended. `exit_code` is None for one that was ended by the arena or lost."""

    competitor: str
    session: int
    reason: str
    """What happened: `exited`, or why the arena ended it."""
    exit_code: int | None
    seconds: float | None
    """None for a lost session: nobody saw its end."""
    outcome: str = ""
    """Class of the end, a value of `arena.sessions.policy.Outcome`; empty in records of older versions."""
    conversation: str | None = None
    """The program's own id of the conversation, with which it can be resumed."""
    detail: str = ""
    """What the program or its provider complained about last."""
    judging_seconds: float = 0.0
    """Part of `seconds` in which the referee judged attempts."""
    lost_seconds: float = 0.0
    """Part of `seconds` that infrastructure took: from the last sign of progress to an end that is not the agent's."""


@dataclass(frozen=True)
class UsageCounted:
    """Tokens a session spent since the last such line. A correction of what was counted before may be negative."""

    competitor: str
    session: int
    attempt: int | None
    """The attempt they led to, or were to lead to; None when no attempt was left."""
    requests: int
    input: int
    """Prompt tokens, `cached` included."""
    cached: int
    output: int
    """Generated tokens, `reasoning` included."""
    reasoning: int
    cost_usd: float | None
    """None where neither the program nor the price table knows."""
    priced_by: str = ""
    """`cli`, or the date of the price table; empty for an unknown cost."""
    model: str | None = None


@dataclass(frozen=True)
class BackedOff:
    """The arena waited before the next session for what a provider, a program or the machine did."""

    competitor: str
    seconds: float
    reason: str


@dataclass(frozen=True)
class AttemptOpened:
    """The charge: from here on the attempt counts. The strategy's bytes are stored before this line."""

    competitor: str
    attempt: int
    request: str
    strategy: str
    description: str
    parent: int
    """Attempt whose text was the working parent."""
    lineage: str | None = None
    """Archive tip the text started from, when `--from` named one."""
    final: bool = False
    """Of the graded track: the one submission that is graded on the hidden bars too."""


@dataclass(frozen=True)
class EvaluationStarted:
    """One try at evaluating the open attempt, from 1: a try without an end was cut down."""

    competitor: str
    attempt: int
    try_number: int


@dataclass(frozen=True, slots=True)
class DecisionSummary:
    """Of the decision, what tables and charts need. Δ and folds are against the working parent."""

    reason: str = ""
    delta: float | None = None
    folds_better: int | None = None
    slots: tuple[str, ...] = ()
    """Archive slots this attempt took."""
    champion: int | None = None
    """Attempt that is champion afterwards."""
    working: int | None = None
    """Attempt that is working parent afterwards."""
    archive: dict[str, int | None] = field(default_factory=dict)
    """Attempt in each archive slot afterwards."""
    drawdown: float | None = None
    turnover: float | None = None
    trades: int | None = None
    beyond_error: bool | None = None
    mask_dependent: bool | None = None
    gate: str | None = None
    """Which gate failed, for status `gate` and `invalid`."""
    timings: dict[str, float] = field(default_factory=dict)
    """Wall seconds by part."""


@dataclass(frozen=True)
class AttemptClosed:
    """The verdict. `evaluation`, `score_file` and `detail` are digests of the files written before this line."""

    competitor: str
    attempt: int
    status: str
    score: float | None
    double_cost: float | None
    evaluation: str | None
    score_file: str | None
    decision: DecisionSummary = field(default_factory=DecisionSummary)
    detail: str | None = None
    """The arena's own file: both masks, the deep check, stress. None in records of older versions."""


@dataclass(frozen=True)
class AttemptCommitted:
    """The attempt's commit in the competitor's private repository."""

    competitor: str
    attempt: int
    commit: str


@dataclass(frozen=True)
class FaultSeen:
    """An infrastructure fault: never a score, never an attempt."""

    competitor: str | None
    attempt: int | None
    kind: str
    message: str


@dataclass(frozen=True)
class ViolationFound:
    """A protected file was changed; digests before and after, empty for a missing file."""

    competitor: str
    attempt: int | None
    path: str
    before: str
    after: str
    diff: str = ""
    """Digest of the kept diff from what has to stand there; empty where there is none."""


@dataclass(frozen=True)
class IncidentSeen:
    """Something went wrong that cannot be tied to anybody."""

    message: str


@dataclass(frozen=True)
class CompetitorEnded:
    """The competitor is terminal: `done`, `stalled`, …"""

    competitor: str
    reason: str


@dataclass(frozen=True)
class LockboxEntry:
    """One strategy the lockbox judges. `competitor` is None for the seed."""

    name: str
    competitor: str | None
    attempt: int
    strategy: str


@dataclass(frozen=True)
class OpenedBy:
    """What program opened the lockbox."""

    protocol: str
    code: str
    """sha256 of `protected.sha256`, as in the race's first record."""
    environment: dict[str, str]


@dataclass(frozen=True)
class LockboxReserved:
    """The set that is judged, fixed before any sealed byte is fetched."""

    entries: tuple[LockboxEntry, ...]
    by: OpenedBy | None = None
    """None in records of older versions, which do not say."""


@dataclass(frozen=True)
class LockboxFetched:
    """What was fetched, as the market room's record says it."""

    data: dict[str, Any]
    accept_changed: bool


@dataclass(frozen=True)
class LockboxReference:
    """What is drawn beside the verdicts and has none itself, by the oracle's accounts on the same sealed panel."""

    name: str
    evaluation: str


@dataclass(frozen=True)
class LockboxScored:
    """Verdict on one entry: `confirmed`, `rejected` or `insufficient evidence`."""

    name: str
    evaluation: str
    sharpe: float | None
    verdict: str
    probability: float | None


@dataclass(frozen=True)
class LockboxClosed:
    """Every entry has its verdict."""


RecordBody = (
    RaceCreated
    | SeedScored
    | CompetitorJoined
    | ReadinessChecked
    | ArenaStarted
    | ArenaStopped
    | SessionStarted
    | SessionEnded
    | UsageCounted
    | BackedOff
    | AttemptOpened
    | EvaluationStarted
    | AttemptClosed
    | AttemptCommitted
    | FaultSeen
    | ViolationFound
    | IncidentSeen
    | CompetitorEnded
    | LockboxReserved
    | LockboxFetched
    | LockboxReference
    | LockboxScored
    | LockboxClosed
)


def kind_of(body: type) -> str:
    """The word a body's class has in the ledger.

    >>> kind_of(AttemptOpened)
    'attempt_opened'
    """
    return re.sub(r"(?<!^)(?=[A-Z])", "_", body.__name__).lower()


KINDS: dict[str, type] = {kind_of(body): body for body in RecordBody.__args__}
"""Body class by kind."""


@dataclass(frozen=True)
class Record:
    """One line of the ledger, decoded."""

    seq: int
    utc: str
    kind: str
    body: RecordBody
    previous: str
    digest: str
