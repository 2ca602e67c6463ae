"""Placebo races on other machines. Their results are stored here, by the head alone, as each market comes back.

Apart from `arena.placebo`, since that file's bytes are part of what names a stored race: where it ran is none of them.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from autoquant import scale
from autoquant.arena import placebo
from autoquant.arena.placebo import Batch
from autoquant.ledger.placebos import PlaceboCache, PlaceboRun


@dataclass(frozen=True)
class Market:
    """One market, and who has not raced on it yet."""

    reference: str
    run: int
    searchers: tuple[str, ...]


def run_missing_on(
    scheduler: scale.Scheduler,
    batch: Batch,
    tasks: list[tuple[str, int]],
    *,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
) -> None:
    """As `placebo.run_missing`, on a scheduler's workers, which fetch the panel by its digest.

    Interrupted, the markets that came back are kept.

    Raises
    ------
    UserError : see `scale.open_pool`. DataError : the panel here is not the one the plan names.
    """
    missing = [market for market in (_missing(batch, *task) for task in tasks) if market.searchers]
    before = len(tasks) - len(missing)
    on_progress(before, len(tasks))
    if not missing:
        return
    batch.cache.sweep()
    panel = scale.parcel_of_files(batch.data, {name: batch.data_dir / name for name in ("valid.json", "valid.npy")})
    with scale.open_pool(scheduler, needs=lambda market: (panel,)) as pool:
        pool.map(
            partial(races_on, replace(batch, data_dir=Path(), cache=PlaceboCache(Path(), batch.cache.plan))),
            missing,
            on_answer=lambda market, runs: _store(batch, runs),
            on_result=lambda done, _: on_progress(before + done, len(tasks)),
        )


def races_on(batch: Batch, market: Market) -> tuple[PlaceboRun, ...]:
    """In a slot: the races on one market, by the code that runs them at home, in a folder that is gone afterwards.

    Raises
    ------
    DataError : the panel that came is not the one the plan names.
    """
    with tempfile.TemporaryDirectory(prefix="autoquant-placebo-") as folder:
        cache = PlaceboCache(Path(folder), batch.cache.plan)
        here = replace(batch, data_dir=scale.folder_of(batch.data), cache=cache, searchers=market.searchers)
        placebo.race_on(here, (market.reference, market.run))
        found = [cache.read(market.reference, name, market.run) for name in market.searchers]
        return tuple(run for run in found if run is not None)


def _missing(batch: Batch, reference: str, run: int) -> Market:
    names = tuple(name for name in batch.searchers if batch.cache.read(reference, name, run) is None)
    return Market(reference, run, names)


def _store(batch: Batch, runs: tuple[PlaceboRun, ...]) -> None:
    for run in runs:
        batch.cache.write(run)
