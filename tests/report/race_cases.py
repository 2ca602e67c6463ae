"""Real races for the report's tests: ledgers from the ledger room, evaluations from the codec, digests that hold."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from autoquant import codec, files
from autoquant.ledger import records as r
from autoquant.ledger.layout import RaceLayout
from autoquant.ledger.ledger import Ledger
from autoquant.oracle.records import Confirmation, Digests, Evaluation, Fault, FoldScore, GateResult, Outcome, Stress
from autoquant.protocol import PROTOCOL
from autoquant.stats.sharpe import probabilistic_sharpe_of

SEED_FOLDS = (0.9, -0.2, 0.7, 0.1, 0.6, 0.3)
DIGEST = "ab" * 32


def score_of(sharpes: tuple[float, ...]) -> float:
    """Mean minus half the population standard deviation."""
    return float(np.mean(sharpes) - 0.5 * np.std(sharpes))


def evaluation(
    sharpes: tuple[float, ...] = (),
    *,
    failed: GateResult | None = None,
    fault: Fault | None = None,
    daily: tuple[tuple[float, ...], ...] = (),
    delayed: float | None = None,
) -> Evaluation:
    """An oracle's answer with the given fold Sharpe ratios, or a fault."""
    folds = tuple(
        FoldScore("2023-01-22T00:00:00Z", "2023-05-24T00:00:00Z", s, 0.1, 31.0, 40, 0.8, 0.2, s * 0.06, 0.01, 0.01,
                  0.002, -0.003, s * 0.06 + 0.025, False)
        for s in sharpes
    )  # fmt: skip
    outcome = Outcome.CRASH if fault else Outcome.GATE if failed else Outcome.SCORED
    return Evaluation(
        outcome=outcome,
        digests=Digests(PROTOCOL.digest, DIGEST, DIGEST, DIGEST),
        score=score_of(sharpes) if sharpes else None,
        folds=folds,
        gates=(GateResult("drawdown", True, 0.12, 0.25, 0.13), *((failed,) if failed else ())),
        max_drawdown=0.12 if sharpes else None,
        daily_returns=daily,
        score_delayed=delayed,
        fault=fault,
    )


def sealed_evaluation(daily: tuple[float, ...]) -> Evaluation:
    """An oracle's answer on the sealed year whose figures fit these daily returns."""
    equity = np.concatenate([[1.0], np.cumprod(1.0 + np.asarray(daily))])
    fall = float(np.max(1.0 - equity / np.maximum.accumulate(equity)))
    sharpe = float(np.mean(daily) / np.std(daily, ddof=1) * np.sqrt(365))
    gate = GateResult("drawdown", fall <= 0.25, fall, 0.25, 0.25 - fall)
    answer = evaluation((sharpe,), daily=(daily,))
    fold = replace(answer.folds[0], total_return=float(equity[-1]) - 1.0, max_drawdown=fall)
    return replace(answer, folds=(fold,), gates=(gate,), max_drawdown=fall)


@dataclass
class RaceCase:
    """A race being written below `state`."""

    state: Path
    name: str = "autumn"
    source: str = "binance-archive"
    kind: str = "race"
    samples: int = 1000
    floor: float = 0.312
    seeded: bool = True
    created: str = "2026-11-01T08:00:00Z"
    seed_daily: tuple[tuple[float, ...], ...] = ()
    seed_text: str | None = None
    """The seed strategy's text; None for one that is not on disk."""
    ledger: Ledger = field(init=False)
    layout: RaceLayout = field(init=False)

    def __post_init__(self) -> None:
        self.layout = RaceLayout(self.state, self.name)
        self.layout.root.mkdir(parents=True)
        self.ledger = Ledger.open(self.layout.ledger)
        self._now = dt.datetime.fromisoformat(self.created)
        self._folds: dict[tuple[str, int], tuple[float, ...]] = {}
        self._counts: dict[str, int] = {}
        self._working: dict[str, int] = {}
        pin = r.DataPin(self.source, "11" * 32, "22" * 32, "33" * 32)
        self.add(
            r.RaceCreated(
                race=self.name,
                kind=self.kind,
                protocol=PROTOCOL.digest,
                protected={"run.py": DIGEST, "evaluate.py": DIGEST},
                code="44" * 32,
                data=pin,
                noise_floor=self.floor,
                noise_floor_samples=self.samples,
                noise_floor_digest="55" * 32,
                secret_digest="66" * 32,
                seed_strategy="77" * 32 if self.seed_text is None else self.blob(self.seed_text),
                budget=PROTOCOL.budget,
                allow_source=None,
                isolation="tamper-evident",
            )
        )
        if self.seeded:
            digest = self.store(self.layout.evaluation("seed", 0), evaluation(SEED_FOLDS, daily=self.seed_daily))
            self.add(r.SeedScored(digest, score_of(SEED_FOLDS)))

    def add(self, body: r.RecordBody) -> None:
        """Append a record a minute later."""
        self._now += dt.timedelta(minutes=1)
        self.ledger.append(body, self._now.strftime("%Y-%m-%dT%H:%M:%SZ"))

    def store(self, path: Path, answer: Evaluation) -> str:
        """Write an evaluation; its digest."""
        data = codec.dumps(answer).encode()
        files.atomic_write(path, data)
        return files.sha256_bytes(data)

    def blob(self, text: str) -> str:
        """Store a strategy's text; its digest."""
        digest = files.sha256_bytes(text.encode())
        files.atomic_write(self.layout.blob(digest), text, durable=False)
        return digest

    def join(self, name: str, harness: str = "command", *, colour: str = "#1D9BF0", budget: int = 50,
             extension: bool = False, model: str | None = "gpt-5.6-sol", **more: Any) -> None:  # fmt: skip
        """A competitor joins."""
        self._counts[name] = 0
        self._working[name] = 0
        self._folds[name, 0] = SEED_FOLDS
        self.add(r.CompetitorJoined(name, harness, model, "high", colour, budget, extension=extension, **more))

    def attempt(
        self,
        name: str,
        status: str,
        sharpes: tuple[float, ...] = (),
        *,
        description: str = "rank by funding-adjusted momentum",
        failed: GateResult | None = None,
        fault: Fault | None = None,
        store: bool = True,
        lineage: str | None = None,
        slots: tuple[str, ...] = (),
        archive: dict[str, int | None] | None = None,
        daily: tuple[tuple[float, ...], ...] = (),
        double: float | None = None,
        delayed: float | None = None,
        stress: Stress | None = None,
        text: str | None = None,
        reason: str = "",
    ) -> None:
        """One attempt, opened and closed; with a stress it has details, with a text its strategy is on disk."""
        self._counts[name] += 1
        number, parent = self._counts[name], self._working[name]
        answer = evaluation(sharpes, failed=failed, fault=fault, daily=daily, delayed=delayed)
        base = self._folds[name, parent]
        strategy = f"{number:064x}" if text is None else self.blob(text)
        self.add(r.AttemptOpened(name, number, f"r{number}", strategy, description, parent, lineage))
        path = self.layout.evaluation(name, number)
        digest = self.store(path, answer) if store else None
        delta = answer.score - score_of(base) if answer.score is not None else None
        better = sum(bool(a > b) for a, b in zip(sharpes, base, strict=True)) if sharpes else None
        decision = r.DecisionSummary(
            delta=delta, folds_better=better, drawdown=answer.max_drawdown, turnover=31.4 if sharpes else None,
            trades=240 if sharpes else None, gate=failed.name if failed else None,
            beyond_error=True if status == "keep" else None, slots=slots, archive=archive or {}, reason=reason,
        )  # fmt: skip
        if double is None and answer.score is not None:
            double = answer.score - 0.21
        detail = self.details(name, number, stress) if stress else None
        self.add(r.AttemptClosed(name, number, status, answer.score, double, digest, None, decision, detail))
        self._folds[name, number] = sharpes
        if status in ("keep", "search"):
            self._working[name] = number
        if status in ("keep", "search", "archive"):
            self.add(r.AttemptCommitted(name, number, f"{number:040x}"))

    def details(self, name: str, number: int, stress: Stress) -> str:
        """Write the details of an attempt whose deep check passed; their digest."""
        confirmation = Confirmation(causality_passed=True, second=None, mask_gap=None, stress=stress)
        data = codec.dumps({"confirmation": confirmation}).encode()
        files.atomic_write(self.layout.detail(name, number), data)
        return files.sha256_bytes(data)

    def session(
        self, name: str, outcome: str = "early stop", *, seconds: float = 3_600.0, judging: float = 600.0,
        lost: float = 0.0, version: str = "codex 0.171.0", resumes: str | None = None,
    ) -> int:  # fmt: skip
        """A whole session; its number."""
        number = 1 + len(self.ledger.view.competitors[name].sessions)
        self.add(r.SessionStarted(name, number, version, resumes))
        end = r.SessionEnded(name, number, "exited", 0, seconds, outcome, judging_seconds=judging, lost_seconds=lost)
        self.add(end)
        return number

    def spend(
        self, name: str, attempt: int | None, read: int, written: int, cost: float | None, *,
        priced_by: str = "2026-11-30", session: int = 1,
    ) -> None:  # fmt: skip
        """Tokens of a session that has started, put down to an attempt."""
        cached, reasoning = read * 8 // 10, written // 2
        by = "" if cost is None else priced_by
        self.add(r.UsageCounted(name, session, attempt, 3, read, cached, written, reasoning, cost, by, "paper-1"))

    def end(self, *names: str, reason: str = "done") -> None:
        """Competitors end."""
        for name in names:
            self.add(r.CompetitorEnded(name, reason))

    def check(self, *problems: str, verified: bool = True) -> None:
        """An arena starts after doctor's checks."""
        self.add(r.ReadinessChecked(verified, problems))
        self.add(r.ArenaStarted(4711, "host", tuple(self._counts)))

    def open_lockbox(
        self, entries: dict[str, tuple[str | None, int, str, float]], days: int = 365, market: float | None = 0.0005
    ) -> None:
        """Judge the reserved set: entry name to competitor, attempt, verdict, daily drift; `market` is buy and hold's.

        Without a market the race is one of an older version.
        """
        reserved = tuple(r.LockboxEntry(name, c, n, f"{n:064x}") for name, (c, n, _, _) in entries.items())
        self.add(r.LockboxReserved(reserved))
        self.add(r.LockboxFetched({"archives": 12}, accept_changed=False))
        if market is not None:
            noise = np.random.Generator(np.random.PCG64(99)).normal(0, 0.025, days)
            daily = tuple(float(value) for value in noise - noise.mean() + market)
            digest = self.store(self.layout.lockbox_reference("buy-and-hold"), sealed_evaluation(daily))
            self.add(r.LockboxReference("buy-and-hold", digest))
        for place, (name, (_, _, verdict, drift)) in enumerate(entries.items()):
            noise = np.random.Generator(np.random.PCG64(place)).normal(0, 0.012, days)
            daily = tuple(float(value) for value in noise - noise.mean() + drift)
            answer = sealed_evaluation(daily)
            digest = self.store(self.layout.lockbox_evaluation(name), answer)
            probability = probabilistic_sharpe_of(daily)
            self.add(r.LockboxScored(name, digest, answer.folds[0].sharpe, verdict, probability))
        self.add(r.LockboxClosed())


def shifted(folds: tuple[float, ...], step: float) -> tuple[float, ...]:
    """Every fold moved by `step`."""
    return tuple(value + step for value in folds)


def searched(case: RaceCase, name: str, attempts: int, seed: int, gain: float = 0.09) -> None:
    """A believable run of `attempts`: mostly discards, some steps, a keep when the gain is large."""
    draw = np.random.Generator(np.random.PCG64(seed))
    words = ("shorter momentum window", "inverse volatility weights", "drop the newest listing", "funding tilt",
             "volatility target 15 %", "slower rebalance, nine tranches", "trend filter on the basket")  # fmt: skip
    champion = working = SEED_FOLDS
    for number in range(attempts):
        kind = draw.random()
        text = words[int(draw.integers(len(words)))]
        if kind < 0.05:
            case.attempt(name, "crash", fault=Fault("ZeroDivisionError", int(draw.integers(10, 90))), description=text)
        elif kind < 0.08:
            case.attempt(name, "timeout", fault=Fault("LimitError"), description=text)
        elif kind < 0.17:
            gate = GateResult("turnover", False, 40 + 60 * float(draw.random()), 40.0, -12.0)
            trial = tuple(float(v) for v in np.array(working) - 0.3 + draw.normal(0, 0.2, 6))
            case.attempt(name, "gate", trial, failed=gate, description=text)
        else:
            trial = tuple(
                float(v) for v in np.array(working) + draw.normal(-0.16 + gain, 0.22) + draw.normal(0, 0.16, 6)
            )
            delta = score_of(trial) - score_of(working)
            better = sum(a > b for a, b in zip(trial, working, strict=True))
            growth = score_of(trial) - score_of(champion)
            if growth > 1.3 * case.floor and sum(a > b for a, b in zip(trial, champion, strict=True)) >= 5:
                case.attempt(name, "keep", trial, description=text)
                champion = working = trial
            elif delta > 0.02 and better >= 4:
                case.attempt(name, "search", trial, description=text)
                working = trial
            else:
                case.attempt(name, "archive" if number % 9 == 4 else "discard", trial, description=text)
