"""Every known way to see the future is caught, at the depth that promises it."""

import numpy as np
import pytest
from strategy_lab import ASSETS, RULES, WINDOWS, Lab, corpus, market, window

from autoquant.oracle import causality, simulate_folds
from autoquant.oracle.draws import cut_key
from autoquant.oracle.mask import Mask
from autoquant.oracle.runs import StrategyRuns

LEAKS = corpus("leaks")
OPEN = {"best_of_two_whole_sample"}
"""A bit or two of the future in a whole run: no number of cuts is sure to see it. The documents say so."""
DEPTHS = {
    "savgol_sign": ("confirm", "lockbox"),
    "long_history": ("confirm", "lockbox"),
    "looks_real": ("confirm", "lockbox"),
    "rare_regime": (),
}
NOT_DETERMINISTIC = {"wall_clock", "unseeded_random", "unseeded_standard_random"}


def cases(depth: str) -> list[str]:
    every = ("screen", "confirm", "lockbox")
    return [name for name in LEAKS if name not in OPEN and depth in DEPTHS.get(name, every)]


@pytest.mark.parametrize("name", cases("screen"))
def test_a_leak_is_caught_at_screen(lab: Lab, name: str) -> None:
    report = lab.check(LEAKS[name], "screen")
    assert not report.passed
    assert ("determinism" == report.kind) == (name in NOT_DETERMINISTIC)


@pytest.mark.parametrize("name", cases("confirm"))
def test_a_leak_is_caught_at_confirm(lab: Lab, name: str) -> None:
    assert not lab.check(LEAKS[name], "confirm").passed


@pytest.mark.slow
@pytest.mark.parametrize("name", cases("lockbox"))
def test_a_leak_is_caught_on_the_lockbox_path(lab: Lab, name: str) -> None:
    assert not lab.check(LEAKS[name], "lockbox").passed


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "depth", "least"),
    [
        ("savgol_sign", "confirm", 1.0),
        ("best_parameter_whole_sample", "screen", 0.9),
        ("quantile_threshold_whole_sample", "screen", 0.9),
    ],
)
def test_a_subtle_leak_is_caught_under_nearly_every_secret(lab: Lab, name: str, depth: str, least: float) -> None:
    assert least <= lab.rate(LEAKS[name], depth, secrets=6)


@pytest.mark.slow
def test_a_peek_on_one_bar_in_a_hundred_earns_nothing_uncut_on_the_lockbox_path(lab: Lab) -> None:
    caught = []
    sealed = window(1, 120, fold_days=40)
    for secret in range(4):
        key = cut_key(bytes([secret]) * 32, 1, "x")
        mask = Mask.draw(bytes([secret]) * 32, 1, ASSETS, [sealed])
        runs = StrategyRuns(LEAKS["rare_regime"], market(), mask, lab.parent, lab.pool)
        report, _ = causality.lockbox(
            runs, sealed, lambda run: simulate_folds(market(), [run.on_panel(len(market()))], [sealed])[0][0], key
        )
        caught.append(not report.passed)
    assert [True] * 4 == caught


def test_a_choice_of_a_bit_per_asset_is_open_and_a_report_says_so_by_passing(lab: Lab) -> None:
    rate = lab.rate(LEAKS["best_of_two_whole_sample"], "screen", secrets=6)
    assert rate < 1.0


def test_a_detail_names_fold_cut_and_first_changed_row(lab: Lab) -> None:
    detail = lab.check(LEAKS["shift_minus_one"], "screen").detail
    assert detail.startswith("fold ")
    assert "history cut after 20" in detail
    assert "earlier weights changed, first at 20" in detail


REMEMBERED = b"""
import pandas as pd

def target_weights(panel, train_end):
    weights = panel.close * 0.0
    table = {("%s", "2023-04-16"): 0.5, ("%s", "2023-04-17"): -0.5}
    for (coin, day), weight in table.items():
        if coin in weights.columns:
            weights.loc[weights.index.strftime("%%Y-%%m-%%d") == day, coin] = weight
    return weights
"""


def test_a_table_of_coins_and_dates_states_nothing_under_the_mask(lab: Lab) -> None:
    source = REMEMBERED % (ASSETS[0].encode(), ASSETS[1].encode())
    run = lab.runs(source, WINDOWS, bytes(32)).fold(WINDOWS[0])
    assert 0.0 == np.nanmax(np.abs(run.values))


def test_a_fold_key_misses_under_every_secret(lab: Lab) -> None:
    source = (
        b"import pandas as pd\n\ndef target_weights(panel, train_end):\n"
        b"    known = {pd.Timestamp(%d, unit='ms', tz='UTC'), pd.Timestamp(%d, unit='ms', tz='UTC')}\n"
        b"    return panel.close.notna() * (0.1 if train_end in known else 0.0)\n"
    ) % tuple(w.train_end_ms for w in WINDOWS)
    for secret in range(5):
        runs = lab.runs(source, WINDOWS, bytes([secret]) * 32)
        assert 0.0 == sum(np.nanmax(np.abs(runs.fold(w).values)) for w in WINDOWS)


def test_a_leak_report_does_not_depend_on_the_number_of_workers(lab: Lab) -> None:
    class OneByOne:
        def map(self, function, items, *, on_result=None):
            return [function(item) for item in items]

    source = LEAKS["zscore_whole_sample"]
    runs = lab.runs(source, WINDOWS, bytes(32))
    base, results = lab.base(runs)
    key = cut_key(bytes(32), 1, "x")
    one = causality.screen(runs, base, results, WINDOWS, key, rules=RULES)
    runs.executor = OneByOne()
    other = causality.screen(runs, base, results, WINDOWS, key, rules=RULES)
    assert (one.kind, one.detail, one.calls) == (other.kind, other.detail, other.calls)
