"""Competitors that climb by the real archive's rules, with daily returns, tips tried again and stress on record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count

import numpy as np
from race_cases import SEED_FOLDS, RaceCase, evaluation, score_of

from autoquant.oracle.records import Fault, GateResult, ShiftedScore, Status, Stress
from autoquant.protocol import PROTOCOL
from autoquant.ratchet.state import RatchetState, Trial, advance, slots_gained

FOLDS, DAYS = 6, 122
Days = np.ndarray
IDEAS = ("shorter momentum window", "inverse volatility weights", "drop the newest listing", "funding tilt",
         "volatility target 15 %", "slower rebalance, nine tranches", "trend filter on the basket")  # fmt: skip


def market(seed: int = 0) -> Days:
    """(FOLDS, DAYS) returns that all competitors share."""
    return np.random.default_rng(seed).normal(0.0, 0.008, (FOLDS, DAYS))


def with_sharpes(days: Days, sharpes: tuple[float, ...]) -> Days:
    """The same days, moved so that each fold has the given Sharpe ratio."""
    spread = days.std(axis=1, ddof=1, keepdims=True)
    return days - days.mean(axis=1, keepdims=True) + spread * np.array(sharpes)[:, None] / np.sqrt(365)


def rows(days: Days) -> tuple[tuple[float, ...], ...]:
    """Daily returns as an evaluation holds them."""
    return tuple(tuple(float(value) for value in fold) for fold in days)


def seed_days() -> Days:
    """The seed's returns."""
    noise = np.random.default_rng(99).normal(0.0, 0.004, (FOLDS, DAYS))
    return with_sharpes(market() + noise, SEED_FOLDS)


def trial_of(number: int, sharpes: tuple[float, ...], days: Days, double: float) -> Trial:
    """What the archive's rules look at."""
    return Trial(number, "", replace(evaluation(sharpes, daily=rows(days)), score_double_cost=double))


def climb(case: RaceCase, names: Sequence[str], attempts: int, seed: int = 0, *, tips: float = 0.15) -> None:
    """Believable runs side by side: mostly discards, some steps, a keep when the gain is large.

    A share of `tips` of the attempts starts from an archive tip. Gains get rarer as the score rises.
    """
    racers = [_racer(case, name, seed + place, tips) for place, name in enumerate(names)]
    for _ in range(attempts):
        for racer in racers:
            next(racer)


def _racer(case: RaceCase, name: str, seed: int, tips: float) -> Iterator[None]:
    draw = np.random.default_rng(seed)
    state = RatchetState.start(trial_of(0, SEED_FOLDS, seed_days(), score_of(SEED_FOLDS) - 0.2))
    own = draw.normal(0.0, 0.006, (FOLDS, DAYS))
    texts: dict[int, tuple[tuple[float, ...], Days]] = {0: (SEED_FOLDS, seed_days() + own)}
    for number in count(1):
        held = {slot: tip.attempt for slot, tip in state.archive.tips() if tip is not None}
        slot = str(draw.choice(sorted(held))) if draw.random() < tips and number > 8 else None
        sharpes, days = texts[held[slot] if slot else state.parent.attempt]
        step = draw.normal(-0.1 - 0.2 * (state.parent.score - 0.2), 0.22) + draw.normal(0, 0.2, FOLDS)
        trial = tuple(float(v) for v in np.array(sharpes) + step)
        more = {"description": IDEAS[int(draw.integers(len(IDEAS)))], "lineage": slot}
        kind = draw.random()
        if kind < 0.07:
            fault = Fault("ZeroDivisionError", int(draw.integers(10, 90)))
            case.attempt(name, "crash", fault=fault, archive=state.archive.attempts(), **more)
        elif kind < 0.15:
            gate = GateResult("turnover", False, 40 + 60 * float(draw.random()), 40.0, -12.0)
            case.attempt(name, "gate", trial, failed=gate, archive=state.archive.attempts(), **more)
        else:
            moved = with_sharpes(days + draw.normal(0, 0.003, (FOLDS, DAYS)), trial)
            double = score_of(trial) - float(draw.uniform(0.1, 0.4))
            made = trial_of(number, trial, moved, double)
            status, slots = _verdict(state, made, case.floor)
            state = advance(state, made, status, slots)
            texts[number] = (trial, moved)
            case.attempt(
                name, status.value, trial, slots=slots, archive=state.archive.attempts(), daily=rows(moved),
                double=double, delayed=score_of(trial) - float(draw.uniform(0.0, 0.2)),
                stress=None if status is Status.DISCARD else _stress(made, draw), **more,
            )  # fmt: skip
        yield


def _stress(made: Trial, draw: np.random.Generator) -> Stress:
    moves = [ShiftedScore(day, made.score - abs(float(draw.normal(0, 0.04 * day**0.5)))) for day in (3, 7, 14, 21)]
    return Stress(tuple(moves), 0.15, 1.1, 0.1, 2.1)


def _verdict(state: RatchetState, made: Trial, floor: float) -> tuple[Status, tuple[str, ...]]:
    slots = slots_gained(state, made)
    growth, delta = made.score - state.champion.score, made.score - state.parent.score
    better = sum(a > b for a, b in zip(made.evaluation.fold_sharpes, state.parent.evaluation.fold_sharpes, strict=True))
    if growth > 1.3 * floor and better >= PROTOCOL.ratchet.search_folds:
        return Status.KEEP, slots
    if delta > PROTOCOL.ratchet.search_delta and better >= PROTOCOL.ratchet.search_folds:
        return Status.SEARCH, slots
    return (Status.ARCHIVE, slots) if slots else (Status.DISCARD, ())
