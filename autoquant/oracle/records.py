"""What the oracle says about one strategy. Frozen, JSON-able through `autoquant.codec`, versioned."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from autoquant.protocol import PROTOCOL, SCHEMA_VERSION


class Outcome(StrEnum):
    """How far an evaluation came. What the ratchet makes of it is a `Status`."""

    SCORED = "scored"
    GATE = "gate"
    INVALID = "invalid"
    CRASH = "crash"
    TIMEOUT = "timeout"


class Status(StrEnum):
    """What an attempt was worth. Each counts toward the budget."""

    KEEP = "keep"
    SEARCH = "search"
    ARCHIVE = "archive"
    DISCARD = "discard"
    GATE = "gate"
    INVALID = "invalid"
    CRASH = "crash"
    TIMEOUT = "timeout"
    VIOLATION = "violation"


@dataclass(frozen=True)
class FoldScore:
    """One out-of-sample path. Money as fractions of starting capital; start and end ISO UTC, half-open."""

    start: str
    end: str
    sharpe: float
    max_drawdown: float
    """Largest fall from a running peak over bar closes, 0 … 1."""
    turnover: float
    """Two-sided, per year."""
    trades: int
    mean_gross: float
    volatility: float
    """Annualised standard deviation of daily returns."""
    total_return: float
    fee: float
    spread: float
    impact: float
    funding: float
    """Funding received; negative when paid."""
    price_pnl: float
    ruined: bool


@dataclass(frozen=True)
class GateResult:
    """One gate: the worst value met, its limit, the room left (negative when failed)."""

    name: str
    passed: bool
    value: float | None = None
    limit: float | None = None
    headroom: float | None = None
    fold: int | None = None
    """1-based fold of the worst value; None for the whole path."""
    detail: str = ""


@dataclass(frozen=True)
class Fault:
    """Why a strategy did not get a score: exception class and line in its own file; message only outside a race."""

    kind: str
    line: int | None = None
    message: str | None = None


@dataclass(frozen=True)
class Digests:
    """What a number depends on, as sha256."""

    protocol: str
    code: str
    data: str
    strategy: str


@dataclass(frozen=True)
class Evaluation:
    """The oracle's whole answer for one strategy on one split under one mask.

    `daily_returns` (folds × days) stays with the arena: it would tell an agent the market. Economic gates that fail
    leave `score` filled; import, output and causality failures leave it None.
    """

    outcome: Outcome
    digests: Digests
    score: float | None = None
    folds: tuple[FoldScore, ...] = ()
    gates: tuple[GateResult, ...] = ()
    score_double_cost: float | None = None
    folds_double_cost: tuple[float, ...] = ()
    score_delayed: float | None = None
    folds_delayed: tuple[float, ...] = ()
    max_drawdown: float | None = None
    """On the chained path."""
    turnover: float | None = None
    """Chained, two-sided, per year."""
    turnover_per_gross: float | None = None
    trades: int | None = None
    daily_returns: tuple[tuple[float, ...], ...] = ()
    fault: Fault | None = None
    split: str = "valid"
    schema_version: int = SCHEMA_VERSION

    @property
    def failed_gate(self) -> str | None:
        """Name of the first gate that failed."""
        return next((gate.name for gate in self.gates if not gate.passed), None)

    @property
    def fold_sharpes(self) -> tuple[float, ...]:
        """Sharpe ratio of each fold."""
        return tuple(fold.sharpe for fold in self.folds)


@dataclass(frozen=True)
class Timings:
    """Wall seconds of one evaluation, by part, waits for a free worker included. Never part of a digest."""

    strategy: float = 0.0
    causality: float = 0.0
    accounting: float = 0.0
    total: float = 0.0


@dataclass(frozen=True)
class Judgement:
    """One screen-depth evaluation: what is scored, and what stays with the arena."""

    evaluation: Evaluation
    timings: Timings
    causality_detail: str = ""
    """Which cut, which bar: for the arena's file and for use outside a race, never for an agent in one."""


@dataclass(frozen=True)
class ShiftedScore:
    """The score with all folds moved by some days; None where the strategy gave no usable answer there."""

    days: int
    score: float | None


@dataclass(frozen=True)
class Stress:
    """Reported beside an accepted score, never scored. All at plain costs, over the folds' days in a row."""

    shifted: tuple[ShiftedScore, ...]
    drawdown_at_volatility: float | None
    """Largest fall over daily closes, scaled to 20 % yearly volatility; None where nothing moves."""
    sharpe: float
    """Of the full path, per year."""
    sharpe_low: float | None
    """95 % interval of the true ratio; None where nothing moves."""
    sharpe_high: float | None


@dataclass(frozen=True)
class Confirmation:
    """The deep check before anything is accepted.

    `second` is the evaluation under another mask (None when causality failed first); the acceptance rule must hold
    under both. `mask_gap` is the largest difference of a fold Sharpe between the masks.
    """

    causality_passed: bool
    second: Evaluation | None
    mask_gap: float | None
    causality_detail: str = ""
    seconds: float = 0.0
    stress: Stress | None = None
    """None when causality failed."""
    failure: Evaluation | None = None
    """What it came to when the strategy broke a limit during the check: then nothing is known of its causality."""

    @property
    def mask_dependent(self) -> bool:
        """True when another mask moves a fold's Sharpe ratio by more than 1e-6: shown, never a leak by itself."""
        return self.mask_gap is not None and self.mask_gap > PROTOCOL.causality.mask_tolerance


@dataclass(frozen=True)
class StoredDetail:
    """Beside an evaluation, for the arena only: which cut, which bar, how long, what the second mask said."""

    judgement: Judgement | None
    confirmation: Confirmation | None
    schema_version: int = SCHEMA_VERSION
