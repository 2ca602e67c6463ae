"""Causal strategies pass at every depth: no false alarm is tolerated."""

import pytest
from strategy_lab import Lab, corpus

HONEST = corpus("honest")


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_strategy_passes_screen_under_any_secret(lab: Lab, name: str) -> None:
    assert [""] * 2 == [lab.check(HONEST[name], "screen", bytes([secret]) * 32).detail for secret in range(2)]


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_strategy_passes_confirm(lab: Lab, name: str) -> None:
    assert "" == lab.check(HONEST[name], "confirm").detail


@pytest.mark.slow
@pytest.mark.parametrize("name", HONEST)
def test_an_honest_strategy_passes_the_lockbox_path(lab: Lab, name: str) -> None:
    assert "" == lab.check(HONEST[name], "lockbox").detail


def test_the_seed_passes_every_depth(lab: Lab, repository) -> None:
    seed = (repository / "strategy.py").read_bytes()
    assert ["", "", ""] == [lab.check(seed, depth).detail for depth in ("screen", "confirm", "lockbox")]


@pytest.mark.parametrize("name", ["long_lookback", "needs_history", "all_cash"])
def test_a_silent_or_failing_window_grows_until_it_speaks_or_reaches_the_start(lab: Lab, name: str) -> None:
    report = lab.check(HONEST[name], "screen")
    assert report.passed
    assert report.grown > 0
    assert 8 == len(report.window_bars)
