"""The synthetic market of the smoke test holds what it promises: a fair seed, and an edge that can be found."""

from __future__ import annotations

from pathlib import Path

import pytest

from autoquant.market import load_panel, make_synthetic
from autoquant.oracle.folds import valid_windows
from autoquant.oracle.judge import Judge, Pins
from autoquant.oracle.records import Outcome
from autoquant.protocol import PROTOCOL


@pytest.mark.slow
def test_on_the_default_seed_the_seed_strategy_passes_and_a_better_one_is_there(
    tmp_path: Path, repository: Path
) -> None:
    panel = load_panel(make_synthetic(tmp_path), "valid")
    seed = (repository / "strategy.py").read_bytes()
    better = seed.replace(b"LOOKBACK_DAYS = 60", b"LOOKBACK_DAYS = 30").replace(b"TRANCHES = 7", b"TRANCHES = 10")
    assert seed != better
    with Judge(panel, valid_windows(), pins=Pins("protocol", "code", "data"), jobs=2) as judge:
        first, second = (judge.screen(source, attempt=0).evaluation for source in (seed, better))
    assert (Outcome.SCORED, Outcome.SCORED) == (first.outcome, second.outcome)
    assert first.score is not None
    assert second.score is not None
    assert second.score - first.score > 0.6, "well beyond a noise floor of about 0.37"
    wins = sum(b > a for a, b in zip(first.fold_sharpes, second.fold_sharpes, strict=True))
    assert wins >= PROTOCOL.ratchet.official_folds
