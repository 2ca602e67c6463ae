"""The noise floor: how far two scores lie apart when nothing truly differs.

For each sample the seed's weights are jittered and traded; the seed's and the jittered daily returns are then resampled
together, and what the resampling adds to their difference is noted. In detail, for sample k:

1. `numpy` PCG64 seeded with `SeedSequence(seed, spawn_key=(k,))`: a sample depends on its number alone, so neither
   chunks nor workers change it.
2. Jitter: the factor exp(0.2·z), z standard normal, one per (fold, 30-day block, asset). Blocks count from the fold's
   first day; a decision belongs to the block of the bar it fills.
3. Row cap: where a row's gross (NaN counting as the jittered weight stated last) exceeds 1, its weights are divided
   by it.
4. The engine trades the jittered weights at plain costs; the score difference Δ = score(jittered) − score(seed).
5. Per fold one stationary bootstrap index draw (mean block 10 days, circular), applied to both daily return series;
   Δ* = the score difference of the resampled folds.
6. The sample is |Δ* − Δ|; the floor is its 95 % quantile, linearly interpolated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from autoquant import codec, files
from autoquant.errors import DataError
from autoquant.executor import Executor
from autoquant.oracle.engine import equity_paths
from autoquant.oracle.folds import DAY_MS, Window
from autoquant.oracle.metrics import daily_returns, daily_rows, scores, sharpe_ratios
from autoquant.oracle.orders import Scenario, place_orders, sample_orders
from autoquant.oracle.records import Digests
from autoquant.oracle.simulation import decision_rows
from autoquant.oracle.tape import Tape, build_tape
from autoquant.protocol import PROTOCOL, SCHEMA_VERSION, Calibration, Protocol
from autoquant.stats.bootstrap import stationary_days

if TYPE_CHECKING:
    from autoquant.market.panel import Panel

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

CALIBRATION_SEED = 20190901
"""Of every stored floor: a free choice among seeds would be a choice among floors."""
CHUNK = 20
"""Samples traded at once: small enough that a bar's arrays stay in the cache."""


@dataclass(frozen=True)
class NoiseFloor:
    """The calibrated floor and what it depends on."""

    value: float
    samples: int
    seed: int
    quantile: float
    seed_score: float
    mean_correlation: float
    """Of seed and jittered daily returns over all folds, averaged over samples."""
    digests: Digests
    schema_version: int = SCHEMA_VERSION

    @property
    def digest(self) -> str:
        """sha256 of the record as canonical JSON."""
        return files.sha256_bytes(codec.dumps(self).encode())


def calibrate(
    panel: Panel,
    windows: Sequence[Window],
    weights: Sequence[Floats],
    *,
    samples: int,
    seed: int,
    digests: Digests,
    executor: Executor,
    on_progress: Callable[[int, int], None] | None = None,
    protocol: Protocol = PROTOCOL,
) -> NoiseFloor:
    """Calibrate the floor with the seed strategy's weights.

    Parameters
    ----------
    panel : as for `simulate_folds`.
    windows : folds of one length.
    weights : per fold the seed's (T, A) weights on the panel's rows, NaN holds.
    samples : at least 1; a race asks for 1,000.
    seed : of the random numbers.
    digests : what the answer is to be tied to.
    executor : threads or processes; any number of workers gives the same answer.
    on_progress : called with (samples done, samples).

    Raises
    ------
    DataError : no sample asked for, or folds of different lengths.
    """
    if samples < 1:
        raise DataError(f"calibration needs at least one sample, not {samples}")
    tape = build_tape(panel, windows, costs=protocol.costs, capital=protocol.capital_usdt)
    decisions = np.stack(
        [decision_rows(panel, window, array) for window, array in zip(windows, weights, strict=True)], axis=-1
    )
    rows = np.stack([daily_rows(times, tape.bar_ms) for times in tape.times])
    plain = equity_paths(tape, place_orders(list(np.moveaxis(decisions, -1, 0)), [Scenario()]))
    base = _returns(plain, rows)[:, :, 0]
    work = partial(_chunk, tape, decisions, rows, base, seed, protocol)
    chunks = [range(start, min(start + CHUNK, samples)) for start in range(0, samples, CHUNK)]

    def report(done: int, _: int) -> None:
        if on_progress is not None:
            on_progress(min(done * CHUNK, samples), samples)

    parts = executor.map(work, chunks, on_result=report)
    gaps = np.concatenate([gap for gap, _ in parts])
    correlations = np.concatenate([correlation for _, correlation in parts])
    quantile = protocol.calibration.quantile
    return NoiseFloor(
        value=float(np.quantile(np.abs(gaps), quantile, method="linear")),
        samples=samples,
        seed=seed,
        quantile=quantile,
        seed_score=float(scores(sharpe_ratios(base), protocol.score_std_weight)),
        mean_correlation=float(correlations.mean()),
        digests=digests,
    )


def stationary_indices(generator: np.random.Generator, folds: int, length: int, mean_block: float) -> Ints:
    """One stationary bootstrap draw per fold, circular: see `stationary_days`.

    Returns
    -------
    (length, folds) indices.
    """
    starts = generator.integers(length, size=(length, folds))
    return stationary_days(starts, generator.random((length, folds)) < 1.0 / mean_block, axis=0)


def jitter(decisions: Floats, factors: Floats) -> Floats:
    """Scale weights and cap each row's gross at 1.

    Parameters
    ----------
    decisions : (n, A, F), NaN holds.
    factors : (n, A, F, S), what each weight is multiplied by.

    Returns
    -------
    (n, A, F, S).
    """
    moved = decisions[..., None] * factors
    stated = np.where(np.isnan(decisions), -1, np.arange(len(decisions))[:, None, None])
    np.maximum.accumulate(stated, axis=0, out=stated)
    if (stated == np.arange(len(decisions))[:, None, None]).all():
        gross = np.abs(moved).sum(axis=1, keepdims=True)
    else:
        last = np.take_along_axis(moved, np.maximum(stated, 0)[..., None], axis=0)
        gross = np.abs(np.where(stated[..., None] >= 0, last, 0.0)).sum(axis=1, keepdims=True)
    return np.asarray(moved / np.maximum(gross, 1.0))


def _chunk(
    tape: Tape, decisions: Floats, rows: Ints, base: Floats, seed: int, protocol: Protocol, numbers: range
) -> tuple[Floats, Floats]:
    """Centred differences and return correlations of some samples, (S,) each."""
    plan = protocol.calibration
    factors, picks = [], []
    for number in numbers:
        generator = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(number,))))
        factors.append(_factors(generator, tape, decisions.shape[1], plan))
        picks.append(stationary_indices(generator, len(rows), len(base), plan.bootstrap_block_days))
    target = jitter(decisions, np.stack(factors, axis=-1))
    moved = _returns(equity_paths(tape, sample_orders(target)), rows)
    index = np.stack(picks, axis=-1)
    seeds = np.broadcast_to(base[..., None], moved.shape)
    weight = protocol.score_std_weight
    delta = _score(moved, weight) - _score(seeds, weight)
    resampled = _score(np.take_along_axis(moved, index, axis=0), weight) - _score(
        np.take_along_axis(seeds, index, axis=0), weight
    )
    return resampled - delta, _correlation(moved, seeds)


def _factors(generator: np.random.Generator, tape: Tape, assets: int, plan: Calibration) -> Floats:
    """(n, A, F) factors of one sample."""
    first_day = tape.times[:, :1] // DAY_MS
    block = (tape.times // DAY_MS - first_day) // plan.jitter_block_days
    draws = np.exp(plan.jitter_sd * generator.standard_normal((len(tape.times), int(block.max()) + 1, assets)))
    return np.stack([draws[fold, block[fold]] for fold in range(len(tape.times))], axis=-1)


def _returns(equity: Floats, rows: Ints) -> Floats:
    """(n, F, S) equity to (d, F, S) daily returns."""
    return np.asarray(np.stack([daily_returns(equity[:, fold], rows[fold]) for fold in range(len(rows))], axis=1))


def _score(returns: Floats, std_weight: float) -> Floats:
    """(d, F, S) daily returns to (S,) scores."""
    return scores(sharpe_ratios(returns), std_weight)


def _correlation(left: Floats, right: Floats) -> Floats:
    """Correlation over days and folds of (d, F, S) returns, (S,); 0 where one side never moves."""
    a = left - left.mean(axis=(0, 1))
    b = right - right.mean(axis=(0, 1))
    scale = np.sqrt((a * a).sum(axis=(0, 1)) * (b * b).sum(axis=(0, 1)))
    answer: Floats = np.zeros_like(scale)
    np.divide((a * b).sum(axis=(0, 1)), scale, out=answer, where=scale > 0)
    return answer
