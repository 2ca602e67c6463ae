"""The contest, to the digit: every constant in one frozen record.

Nothing here is a command-line option of a real race. The digest of the record is part of every result.
Times are UTC; date ranges are half-open [start, end).
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from functools import cached_property

SCHEMA_VERSION = 1


@dataclass(frozen=True)
class Calendar:
    """Splits and folds. Dates are ISO days at 00:00 UTC; ends are exclusive."""

    bar_hours: int = 4
    train_start: str = "2019-09-01"
    archive_start: str = "2020-01-01"
    valid_start: str = "2023-01-01"
    lockbox_start: str = "2025-07-01"
    lockbox_end: str = "2026-07-01"
    folds: int = 6
    embargo_days: int = 21
    fold_days: int = 122
    history_days: int = 1080
    train_folds: int = 4
    year_days: int = 365

    @property
    def bars_per_day(self) -> int:
        """Bars in one UTC day."""
        return 24 // self.bar_hours

    @property
    def bars_per_year(self) -> int:
        """Bars in a 365-day year."""
        return self.bars_per_day * self.year_days

    @property
    def block_days(self) -> int:
        """Days of an embargo and the fold behind it."""
        return self.embargo_days + self.fold_days


@dataclass(frozen=True)
class Costs:
    """Fees, spread and impact. `impact_y` 0 switches impact off, `participation_cap` None the volume cap.

    cost = |Δ|·(taker + half-spread) + |Δ|·prefactor·Y·σ_day·√(|Δ| / V_day), |Δ| in USDT.
    """

    taker_bp: float = 5.0
    half_spread_tier1_bp: float = 1.5
    half_spread_tier2_bp: float = 5.0
    impact_y: float = 1.0
    impact_prefactor: float = 2.0 / 3.0
    participation_cap: float | None = 0.05
    history_rule: bool = True
    window_days: int = 30
    minimum_days: int = 5


@dataclass(frozen=True)
class Gates:
    """Limits a scored strategy has to keep."""

    leverage: float = 1.0
    leverage_tolerance: float = 1e-9
    mean_gross_maximum: float = 1.1
    drawdown_maximum: float = 0.25
    turnover_maximum: float = 40.0
    trades_minimum: int = 20
    trades_per_fold_minimum: int = 1
    trade_minimum_fraction: float = 1e-3
    mean_gross_minimum: float = 0.10
    volatility_minimum: float = 0.05


@dataclass(frozen=True)
class Ratchet:
    """What the two ratchets and the archive ask for."""

    search_delta: float = 0.02
    search_folds: int = 4
    official_folds: int = 5
    alpha: float = 0.05
    distinct_correlation: float = 0.7
    standard_error_samples: int = 1000


@dataclass(frozen=True)
class Calibration:
    """The noise floor's bootstrap."""

    samples: int = 1000
    jitter_sd: float = 0.2
    jitter_block_days: int = 30
    bootstrap_block_days: float = 10.0
    quantile: float = 0.95


@dataclass(frozen=True)
class Causality:
    """How many cuts each depth makes, and how close two runs have to be."""

    tolerance: float = 1e-9
    screen_last_days: int = 10
    screen_windows: int = 8
    window_days_minimum: int = 75
    window_days_maximum: int = 150
    """History of a differential window before `train_end`, drawn between the two; grows when it says nothing."""
    window_horizon_days: int = 20
    future_days_minimum: int = 5
    """Least future that a perturbation leaves to shuffle."""
    confirm_truncations: int = 64
    confirm_futures_per_fold: int = 2
    mask_tolerance: float = 1e-6
    lockbox_cuts: int = 64


@dataclass(frozen=True)
class Limits:
    """What one strategy call may use. CPU time, so that a busy machine harms nobody."""

    cpu_seconds: float = 10.0
    memory_bytes: int = 2 * 1024**3
    wall_backstop_seconds: float = 120.0
    strategy_lines: int = 600
    strategy_bytes: int = 256 * 1024
    confirm_budget_cpu_seconds: float = 900.0
    screen_budget_cpu_seconds: float = 300.0
    evaluation_kills: int = 3


@dataclass(frozen=True)
class Protocol:
    """The whole contest. Frozen; `digest` names it."""

    version: int = 2
    universe: tuple[str, ...] = (
        "BTCUSDT", "ETHUSDT", "BNBUSDT", "XRPUSDT", "LTCUSDT", "BCHUSDT", "EOSUSDT", "ADAUSDT", "TRXUSDT", "ETCUSDT",
        "LINKUSDT", "XLMUSDT", "ATOMUSDT", "NEOUSDT", "DOGEUSDT", "MATICUSDT", "ALGOUSDT", "LUNAUSDT", "FTTUSDT",
        "SRMUSDT",
    )  # fmt: skip
    tier1: tuple[str, ...] = ("BTCUSDT", "ETHUSDT")
    capital_usdt: float = 1_000_000.0
    budget: int = 50
    score_std_weight: float = 0.5
    calendar: Calendar = field(default_factory=Calendar)
    costs: Costs = field(default_factory=Costs)
    gates: Gates = field(default_factory=Gates)
    ratchet: Ratchet = field(default_factory=Ratchet)
    calibration: Calibration = field(default_factory=Calibration)
    causality: Causality = field(default_factory=Causality)
    limits: Limits = field(default_factory=Limits)
    stress_cost_multiplier: float = 2.0
    stress_delay_bars: int = 1
    shift_days: tuple[int, ...] = (3, 7, 14, 21)
    confirmed_probability: float = 0.95
    placebo_runs: int = 39

    @cached_property
    def digest(self) -> str:
        """sha256 of the record as canonical JSON."""
        text = json.dumps(asdict(self), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    def tier(self, symbol: str) -> int:
        """1 for the two most liquid contracts, 2 for the rest."""
        return 1 if symbol in self.tier1 else 2


STRESS_VOLATILITY = 0.20
"""Yearly volatility that drawdowns are compared at. Shown beside a score, never part of it or of the digest."""

PROTOCOL = Protocol()
