"""Evaluations on other machines are those of this one, to the last digit."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("distributed", reason="without Dask: uv run --group proof pytest")

from cluster import cluster

from autoquant import scale
from autoquant.market import save_panel
from autoquant.market.synthetic import market_panel
from autoquant.verify.elsewhere import evaluate_there, pool_at
from autoquant.verify.work import Depth, PanelSource, Work, evaluate


@pytest.mark.slow
@pytest.mark.xdist_group("dask")
def test_an_evaluation_and_its_detail_are_the_same_from_a_panel_that_was_sent_for(
    repository: Path, tmp_path: Path
) -> None:
    market, seed = market_panel(0), (repository / "strategy.py").read_bytes()
    save_panel(market, tmp_path / "data", "valid")
    stored = PanelSource(market.digest, folder=str(tmp_path / "data"))
    wrong = PanelSource("00" * 32, seed=0)
    works = [
        Work("seed", Depth.SCREEN, panel, "c0de", b"s" * 32, seed, attempt)
        for panel, attempt in ((stored, 1), (wrong, 2))
    ]
    with (
        cluster(tmp_path / "cluster", workers=1) as machines,
        pool_at(scale.Scheduler.parse(machines.address))(1) as pool,
    ):
        there = pool.map(evaluate_there, works)
    assert [evaluate(work) for work in works] == there
    assert [False, True] == [bool(answer.fault) for answer in there]
    assert there[0].evaluation is not None
    assert there[0].evaluation.score is not None
