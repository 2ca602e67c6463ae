"""Placebo races on other machines leave the files that this machine's leave, byte for byte."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("distributed", reason="without Dask: uv run --group proof pytest")

from cluster import cluster

from autoquant import scale
from autoquant.arena.placebo import Batch, run_missing
from autoquant.arena.placebo_elsewhere import run_missing_on
from autoquant.errors import DataError
from autoquant.ledger.placebos import PlaceboCache
from autoquant.market import save_panel
from autoquant.market.synthetic import market_panel


@pytest.mark.slow
@pytest.mark.xdist_group("dask")
def test_the_same_files_as_here_and_what_is_stored_is_not_made_again(repository: Path, tmp_path: Path) -> None:
    market = market_panel(0)
    save_panel(market, tmp_path / "data", "valid")
    cache = PlaceboCache(tmp_path / "here", "ab" * 32)
    batch = Batch(tmp_path / "data", market.digest, (repository / "strategy.py").read_bytes(), 1, 0.3, cache)
    tasks = [("flip", 1), ("real", 1)]
    run_missing(batch, tasks, jobs=1)
    elsewhere = replace(batch, cache=PlaceboCache(tmp_path / "elsewhere", "ab" * 32))
    seen: list[tuple[int, int]] = []
    with cluster(tmp_path / "cluster") as machines:
        scheduler = scale.Scheduler.parse(machines.address)
        run_missing_on(scheduler, elsewhere, tasks, on_progress=lambda done, total: seen.append((done, total)))
        assert [(0, 2), (1, 2), (2, 2)] == seen
        expected = {path.name: path.read_bytes() for path in cache.folder.iterdir()}
        assert 4 == len(expected)
        assert expected == {path.name: path.read_bytes() for path in elsewhere.cache.folder.iterdir()}
        (elsewhere.cache.folder / "flip-random-0001.json").unlink()
        stamp = (elsewhere.cache.folder / "flip-hillclimb-0001.json").stat().st_mtime_ns
        run_missing_on(scheduler, elsewhere, tasks)
        assert expected == {path.name: path.read_bytes() for path in elsewhere.cache.folder.iterdir()}
        assert stamp == (elsewhere.cache.folder / "flip-hillclimb-0001.json").stat().st_mtime_ns
        other = replace(elsewhere, data="00", cache=PlaceboCache(tmp_path / "other", "ab" * 32))
        with pytest.raises(DataError, match="differs from the manifest"):
            run_missing_on(scheduler, other, [("real", 2)])
