"""`verify --scheduler`: evaluations on a scheduler's workers, which fetch each stored panel by its digest."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from autoquant import scale
from autoquant.executor import Executor
from autoquant.verify.work import Answer, PanelSource, Work, evaluate

if TYPE_CHECKING:
    from autoquant.scale.address import Scheduler
    from autoquant.scale.parcels import Stock


def pool_at(scheduler: Scheduler) -> Callable[[int], AbstractContextManager[Executor]]:
    """For `VerifyOptions.pool`: a made-up market is made again over there, a stored panel is sent for once."""

    @contextlib.contextmanager
    def pool(jobs: int) -> Iterator[Executor]:
        stocks: dict[PanelSource, Stock] = {}

        def needs(work: Work) -> tuple[Stock, ...]:
            panel = work.panel
            if panel.folder is None:
                return ()
            if panel not in stocks:
                names = (f"{panel.split}.json", f"{panel.split}.npy")
                stocks[panel] = scale.parcel_of_files(panel.digest, {name: Path(panel.folder) / name for name in names})
            return (stocks[panel],)

        with scale.open_pool(scheduler, needs) as found:
            yield found

    return pool


def evaluate_there(work: Work) -> Answer:
    """In a slot: as `evaluate`, on the panel that came."""
    if work.panel.folder is None:
        return evaluate(work)
    return evaluate(replace(work, panel=replace(work.panel, folder=str(scale.folder_of(work.panel.digest)))))
