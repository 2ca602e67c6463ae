"""Record bodies and a small race, shared by the ledger's tests."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from autoquant.ledger import records as r
from autoquant.ledger.ledger import Ledger

UTC = "2026-11-30T12:00:00Z"


def created(**changes: object) -> r.RaceCreated:
    fields: dict[str, object] = {
        "race": "autumn",
        "kind": "race",
        "protocol": "aa" * 32,
        "protected": {"run.py": "bb" * 32},
        "code": "cc" * 32,
        "data": r.DataPin("binance-archive", "01" * 32, "02" * 32, "03" * 32),
        "noise_floor": 0.312,
        "noise_floor_samples": 1000,
        "noise_floor_digest": "04" * 32,
        "secret_digest": "05" * 32,
        "seed_strategy": "06" * 32,
        "budget": 3,
        "allow_source": None,
        "isolation": "sealed",
    }
    return r.RaceCreated(**(fields | changes))  # type: ignore[arg-type]


def joined(name: str = "random", budget: int = 3, extension: bool = False) -> r.CompetitorJoined:
    return r.CompetitorJoined(name, "control", None, None, "#888888", budget, seed=7, extension=extension)


def opened(attempt: int, name: str = "random", parent: int = 0, description: str = "an idea") -> r.AttemptOpened:
    return r.AttemptOpened(name, attempt, f"request-{attempt}", f"{attempt:064x}", description, parent)


def closed(attempt: int, status: str = "discard", name: str = "random", score: float | None = 0.5) -> r.AttemptClosed:
    decision = r.DecisionSummary(
        reason="search asks for more",
        delta=None if score is None else score - 0.4,
        folds_better=None if score is None else 3,
        slots=("best",) if status == "archive" else (),
        champion=0,
        working=0,
        archive={"best": 0, "stable": 0, "cost_robust": 0, "distinct": None},
        drawdown=0.123456,
        turnover=31.5,
        trades=412,
        timings={"total": 1.5},
    )
    return r.AttemptClosed(name, attempt, status, score, score, "0a" * 32, "0b" * 32, decision)


def older_race() -> list[r.RecordBody]:
    """One competitor's race from creation to a closed lockbox, and an extension, as versions before usage wrote it."""
    entries = (r.LockboxEntry("seed", None, 0, "06" * 32), r.LockboxEntry("random", "random", 2, f"{2:064x}"))
    return [
        created(),
        r.SeedScored("0c" * 32, 0.4),
        joined(),
        r.ArenaStarted(4711, "host"),
        r.SessionStarted("random", 1),
        opened(1),
        r.EvaluationStarted("random", 1, 1),
        r.EvaluationStarted("random", 1, 2),
        closed(1),
        r.AttemptCommitted("random", 1, "c0" * 20),
        r.FaultSeen("random", None, "RateLimited", "429 twice"),
        opened(2),
        r.EvaluationStarted("random", 2, 1),
        closed(2, "keep", score=0.9),
        r.AttemptCommitted("random", 2, "c1" * 20),
        opened(3, parent=2),
        r.ViolationFound("random", 3, "run.py", "bb" * 32, "ff" * 32),
        closed(3, "violation", score=None),
        r.SessionEnded("random", 1, "exit", 0, 12.5),
        r.CompetitorEnded("random", "done"),
        r.IncidentSeen("somebody touched a file of nobody"),
        r.LockboxReserved(entries),
        r.LockboxFetched({"archives": 240, "changed": []}, accept_changed=False),
        r.LockboxScored("seed", "0d" * 32, 0.2, "insufficient evidence", 0.6),
        r.LockboxScored("random", "0e" * 32, None, "rejected", None),
        r.LockboxClosed(),
        joined("late", budget=1, extension=True),
        opened(1, "late"),
        closed(1, "timeout", "late", None),
        r.CompetitorEnded("late", "done"),
        r.ArenaStopped("all terminal"),
    ]


def counted(
    name: str = "random", session: int = 1, attempt: int | None = 1, tokens: int = 1_000, cost: float | None = 0.25
) -> r.UsageCounted:
    priced_by = "" if cost is None else "2026-11-30"
    return r.UsageCounted(name, session, attempt, 2, tokens, tokens // 2, 90, 40, cost, priced_by, "paper-1")


ENVIRONMENT = {"python": "3.11.9", "numpy": "2.3.4"}


def todays_race() -> list[r.RecordBody]:
    """The same race with everything that today's records can say."""
    bodies: list[r.RecordBody] = []
    for body in referenced_race():
        match body:
            case r.RaceCreated():
                body = replace(body, environment=ENVIRONMENT)
            case r.LockboxReserved():
                body = replace(body, by=r.OpenedBy("aa" * 32, "cc" * 32, ENVIRONMENT))
        bodies.append(body)
    return bodies


def referenced_race() -> list[r.RecordBody]:
    """The same race with what records could say before they named the program that opened the lockbox."""
    bodies: list[r.RecordBody] = []
    for body in whole_race():
        if isinstance(body, r.ArenaStarted):
            checked = r.ReadinessChecked(False, ("data: x differs",), ("source: a mirror",), ("sol: codex not found",))
            bodies += [checked, replace(body, competitors=("random",))]
            continue
        bodies.append(body)
        if isinstance(body, r.LockboxFetched):
            bodies.append(REFERENCE)
    return bodies


REFERENCE = r.LockboxReference("buy-and-hold", "0f" * 32)


def whole_race() -> list[r.RecordBody]:
    """The same race with what records could say before readiness and references."""
    bodies: list[r.RecordBody] = []
    for body in older_race():
        if isinstance(body, r.SessionEnded):
            correction = r.UsageCounted("random", 1, None, 0, 0, 0, 0, 0, -0.125, "cli")
            bodies += [counted(attempt=None, tokens=300), correction]
        bodies.append(_as_today(body))
        if body == closed(1):
            bodies += [counted(), counted(attempt=2, tokens=500)]
        if isinstance(body, r.SessionEnded):
            bodies.append(r.BackedOff("random", 60.0, "rate limit"))
    return bodies


def _as_today(body: r.RecordBody) -> r.RecordBody:
    match body:
        case r.CompetitorJoined(competitor="random"):
            settings = ("no web search",)
            return replace(body, group="rand", endpoint="http://127.0.0.1:9", args=("--a", "b c"), settings=settings)
        case r.SessionStarted():
            return replace(body, version="paper 1.0", resumes="c-0")
        case r.SessionEnded():
            times = {"judging_seconds": 4.5, "lost_seconds": 2.0}
            return replace(body, outcome="rate limit", conversation="c-1", detail="429 twice", **times)
        case _:
            return body


def write(path: Path, bodies: list[r.RecordBody]) -> Ledger:
    ledger = Ledger.open(path)
    for body in bodies:
        ledger.append(body, UTC)
    return ledger
