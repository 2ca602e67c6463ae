"""Races with planted truth: daily returns of known skill, replicates, and placebo races written by hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from race_cases import RaceCase

from autoquant.ledger.placebos import REFERENCES, PlaceboRun, Plan, cache_of
from autoquant.oracle.records import Fault, ShiftedScore, Stress
from autoquant.protocol import PROTOCOL

Days = NDArray[np.float64]
FOLDS, DAYS = 6, 122
SEARCHERS = ("random", "hillclimb")


def market(seed: int = 1) -> Days:
    """(6, 122) shocks that every competitor shares."""
    return np.random.default_rng(seed).normal(0.0, 0.006, (FOLDS, DAYS))


def path(seed: int, sharpe: float, shared: Days | None = None, own: float = 0.006) -> Days:
    """(6, 122) daily returns whose yearly Sharpe ratio in each fold is `sharpe`, give or take nothing."""
    days = np.random.default_rng([2, seed]).normal(0.0, own, (FOLDS, DAYS)) + (0.0 if shared is None else shared)
    days = days - days.mean(axis=1, keepdims=True)
    spread = days.std(axis=1, ddof=1, keepdims=True)
    return days + sharpe * spread / np.sqrt(365)


def sharpes(days: Days) -> tuple[float, ...]:
    """Yearly Sharpe ratio of each fold."""
    return tuple(float(v) for v in days.mean(axis=1) / days.std(axis=1, ddof=1) * np.sqrt(365))


def daily(days: Days) -> tuple[tuple[float, ...], ...]:
    """As an evaluation stores them."""
    return tuple(tuple(float(value) for value in fold) for fold in days)


def seeded_case(state: Path, *, sharpe: float = 0.2, shared: Days | None = None, **more: object) -> RaceCase:
    """A race whose seed has daily returns."""
    return RaceCase(state, seed_daily=daily(path(0, sharpe, shared)), **more)  # type: ignore[arg-type]


def tried(case: RaceCase, name: str, days: Days, status: str = "discard", *, stress: bool = False) -> None:
    """One attempt with these daily returns."""
    found = sharpes(days)
    score = float(np.mean(found) - 0.5 * np.std(found))
    detail = None
    if stress:
        shifted = (*(ShiftedScore(d, score - d / 100) for d in PROTOCOL.shift_days[:-1]), ShiftedScore(21, None))
        detail = Stress(shifted, 0.08, float(np.mean(found)), 0.0, 1.0)
    case.attempt(name, status, found, daily=daily(days), stress=detail)


def crashed(case: RaceCase, name: str, times: int = 1) -> None:
    """Attempts that count and have no returns."""
    for _ in range(times):
        case.attempt(name, "crash", fault=Fault("ZeroDivisionError", 12))


def champions(
    state: Path, skills: dict[str, float], *, shared: bool = True, groups: dict[str, str] | None = None, tries: int = 0
) -> RaceCase:
    """A race in which each competitor keeps one champion of the given yearly Sharpe ratio; `tries` discards before."""
    common = market() if shared else None
    case = seeded_case(state, shared=common)
    for place, (name, skill) in enumerate(skills.items(), start=1):
        case.join(name, group=(groups or {}).get(name, ""))
        for number in range(tries):
            tried(case, name, path(100 * place + number, skill - 0.8, common))
        tried(case, name, path(place, skill, common), "keep", stress=True)
    return case


def plan_of(case: RaceCase, budget: int = PROTOCOL.budget, code: str = "code") -> Plan:
    """The plan that a race of these cases is held against."""
    seed = case.ledger.view.created.seed_strategy
    return Plan(PROTOCOL.digest, code, "33" * 32, seed, case.floor, budget)


def placebos(
    case: RaceCase,
    reached: Sequence[float],
    *,
    lift: dict[tuple[str, str], float] | None = None,
    budget: int = PROTOCOL.budget,
    code: str = "code",
) -> Plan:
    """Placebo races on disk: run k keeps the k-th of `reached`, plus the lift of its market and searcher."""
    plan = plan_of(case, budget, code)
    cache = cache_of(case.state, plan)
    cache.describe(plan, SEARCHERS)
    for reference in REFERENCES:
        for searcher in SEARCHERS:
            for run, figure in enumerate(reached, start=1):
                kept = figure + (lift or {}).get((reference, searcher), 0.0)
                cache.write(
                    PlaceboRun(
                        plan.digest, reference, searcher, run, 0.2, kept, kept + 0.1, ("keep", "crash"), (kept, None)
                    )
                )
    return plan
