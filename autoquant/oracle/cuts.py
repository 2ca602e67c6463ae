"""Where to look for a leak: cuts drawn from a key the strategy could not know, where a leak would have earned.

A peek at bar t+1 pays on bar t+1, so a cut after bar t is drawn in proportion to what the decision earned on the bar
behind it (`merit`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from autoquant.oracle.draws import Draws
from autoquant.oracle.runs import Span
from autoquant.protocol import Causality

Merits = Sequence[NDArray[np.float64]]
"""Per fold (n,) what the base run's decisions earned on each scored bar."""


@dataclass(frozen=True)
class Truncation:
    """T: the fold's history cut after panel row `cut`."""

    fold: int
    """Index into the windows."""
    cut: int


@dataclass(frozen=True)
class Differential:
    """W: pairs of runs from a later start, one to each of `cuts`, one on to `end`, which all pairs of a fold share."""

    fold: int
    cuts: tuple[int, ...]
    history: int
    """Bars before train_end it starts with."""
    end: int
    """Panel row behind the longer run."""


@dataclass(frozen=True)
class Perturbation:
    """P: the fold's whole length, with another future behind `cut`. `draws` makes that future."""

    fold: int
    cut: int
    draws: Draws


@dataclass(frozen=True)
class Repetition:
    """The scored run once more: same inputs, same answer."""

    fold: int


Probe = Truncation | Differential | Perturbation | Repetition


def screen_probes(key: bytes, spans: Sequence[Span], paid: Merits, bars_per_day: int, rules: Causality) -> list[Probe]:
    """Every attempt: per fold a T in the last days and a T at a profitable bar, W over the folds, one repetition."""
    draws = Draws(key, "screen")
    probes: list[Probe] = [Repetition(draws.below(len(spans)))]
    for fold, span in enumerate(spans):
        earliest = max(span.start - 1, span.stop - 1 - rules.screen_last_days * bars_per_day)
        probes.append(Truncation(fold, draws.between(earliest, span.stop - 2)))
        probes += [Truncation(fold, cut) for _, cut in profitable(draws, [span], [paid[fold]], 1)]
    chosen = profitable(draws, spans, paid, rules.screen_windows)
    for fold, span in enumerate(spans):
        cuts = tuple(sorted(cut for of, cut in chosen if of == fold))
        if cuts:
            history = draws.between(rules.window_days_minimum * bars_per_day, rules.window_days_maximum * bars_per_day)
            horizon = draws.between(1, rules.window_horizon_days * bars_per_day)
            probes.append(Differential(fold, cuts, history, min(cuts[-1] + 1 + horizon, span.stop)))
    return probes


def confirm_probes(key: bytes, spans: Sequence[Span], paid: Merits, bars_per_day: int, rules: Causality) -> list[Probe]:
    """Before an acceptance: profit-weighted T over all folds, and two other futures per fold."""
    draws = Draws(key, "confirm")
    probes: list[Probe] = []
    least = rules.future_days_minimum * bars_per_day
    for fold, span in enumerate(spans):
        shorter = Span(span.first, span.train_end, span.start, max(span.start + 1, span.stop - least))
        known = paid[fold][: shorter.stop - span.start]
        for number, (_, cut) in enumerate(profitable(draws, [shorter], [known], rules.confirm_futures_per_fold)):
            probes.append(Perturbation(fold, cut, Draws(key, "future", fold, number)))
    cuts = profitable(draws, spans, paid, rules.confirm_truncations)
    return probes + [Truncation(fold, cut) for fold, cut in cuts]


def profitable(
    draws: Draws, spans: Sequence[Span], paid: Merits, count: int, skip: frozenset[int] = frozenset()
) -> list[tuple[int, int]]:
    """(index into spans, panel row) of `count` different cuts, drawn by what the bar behind each earned.

    `skip` names rows that may not be drawn. Where nothing was earned, cuts are even.
    """
    folds, rows, weights = [], [], []
    for fold, (span, merit) in enumerate(zip(spans, paid, strict=True)):
        cuts = np.arange(span.start - 1, span.stop - 1)
        allowed = ~np.isin(cuts, list(skip))
        folds.append(np.full(int(allowed.sum()), fold))
        rows.append(cuts[allowed])
        weights.append(np.maximum(merit[allowed], 0.0))
    chosen = draws.weighted(np.concatenate(weights), count)
    fold_of, row_of = np.concatenate(folds), np.concatenate(rows)
    return [(int(fold_of[i]), int(row_of[i])) for i in chosen]
