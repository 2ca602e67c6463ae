"""How runs are compared, how the depths spend their calls, and what they do when something fails."""

import numpy as np
import pytest
from strategy_lab import ASSETS, RULES, SEALED, SEALED_DAYS, WINDOWS, Lab, market, open_lab

from autoquant.errors import CrashError, InfrastructureFault, LimitError
from autoquant.oracle import causality
from autoquant.oracle.folds import DAY_MS
from autoquant.oracle.mask import Mask
from autoquant.oracle.runs import StrategyRuns
from autoquant.sandbox import Answer, CallFrames

MASK = Mask.draw(bytes(32), 1, ASSETS, (*WINDOWS, SEALED))


class Here:
    """Runs a plain function in place of a child: the comparison is under test, not the sandbox."""

    def __init__(self, function, cpu_seconds: float = 0.0) -> None:
        self.function, self.cpu_seconds, self.lengths = function, cpu_seconds, []

    def call(self, source: bytes, frames: CallFrames, train_end_ms: int, reveal: bool = False) -> Answer:
        self.lengths.append(len(frames.times))
        values = self.function(frames)
        return Answer(values, np.ones(len(values), dtype=bool), self.cpu_seconds, 0.0)


class InOrder:
    def map(self, function, items, *, on_result=None):
        return [function(item) for item in items]


class Flat:
    """A result without profits: cuts fall evenly."""

    def __init__(self, bars: int) -> None:
        self.bars = type("Bars", (), {"price_pnl": np.zeros(bars), "funding": np.zeros(bars)})


def check(here: Here, depth=causality.screen, rules=RULES) -> causality.CausalityReport:
    runs = StrategyRuns(b"", market(), MASK, here, InOrder())
    base = [runs.fold(window) for window in WINDOWS]
    here.lengths.clear()
    return depth(runs, base, [Flat(180) for _ in WINDOWS], WINDOWS, b"key", rules=rules)


def causal(frames: CallFrames) -> np.ndarray:
    close = np.nan_to_num(frames.cube[3], nan=1.0)
    return np.vstack([np.zeros((1, close.shape[1])), np.sign(close[1:] - close[:-1])]) / 8


def test_a_causal_function_passes_every_depth() -> None:
    assert check(Here(causal)).passed
    assert check(Here(causal), causality.confirm).passed


def test_screen_makes_fifteen_calls_for_two_folds() -> None:
    report = check(Here(causal))
    assert 1 + 2 * 2 + 8 + 2 == report.calls  # repetition, two T per fold, a run per W and a longer one per fold
    assert 8 == len(report.window_bars)
    assert 0 == report.grown


def test_a_difference_below_the_tolerance_is_rounding_and_above_it_a_leak() -> None:
    def nudged(size: float):
        return lambda frames: causal(frames) + size * len(frames.times)

    assert check(Here(nudged(1e-14))).passed
    assert "truncation" == check(Here(nudged(1e-9))).kind


def test_a_change_of_the_nan_pattern_alone_is_a_leak() -> None:
    def holds(frames: CallFrames) -> np.ndarray:
        values = causal(frames)
        values[5, 0] = np.nan if len(frames.times) % 2 else values[5, 0]
        return values

    report = check(Here(holds))
    assert not report.passed
    assert "NaN or missing" in report.detail


def test_a_change_in_the_very_first_row_is_seen() -> None:
    def wraps(frames: CallFrames) -> np.ndarray:
        return np.roll(np.nan_to_num(frames.cube[3]), 1, axis=0) / 1e9

    assert not check(Here(wraps)).passed


def test_an_unequal_repetition_is_not_called_a_leak() -> None:
    luck = np.random.default_rng(1)
    report = check(Here(lambda frames: luck.standard_normal(frames.cube[3].shape)))
    assert "determinism" == report.kind


def test_a_window_of_zeros_grows_until_it_speaks() -> None:
    def late(frames: CallFrames) -> np.ndarray:
        values = causal(frames)
        values[:420] = 0.0
        return values

    report = check(Here(late))
    assert report.passed
    assert report.grown > 0
    assert min(report.window_bars) > 420


def test_a_strategy_that_fails_on_short_history_is_asked_with_a_longer_one() -> None:
    def demanding(frames: CallFrames) -> np.ndarray:
        if len(frames.times) < 500:
            raise CrashError("too short", kind="ValueError")
        return causal(frames)

    report = check(Here(demanding))
    assert report.passed
    assert report.grown > 0


def test_a_strategy_that_fails_only_on_cut_history_is_a_leak() -> None:
    def only_whole(frames: CallFrames) -> np.ndarray:
        if len(frames.times) < 810:
            raise CrashError("cut", kind="KeyError")
        return causal(frames)

    report = check(Here(only_whole))
    assert "truncation" == report.kind
    assert "the run failed (KeyError)" in report.detail


@pytest.mark.parametrize("error", [LimitError("cpu"), InfrastructureFault("killed")])
def test_limits_and_faults_pass_through(error: Exception) -> None:
    def fails(frames: CallFrames) -> np.ndarray:
        if len(frames.times) < 800:
            raise error
        return causal(frames)

    with pytest.raises(type(error)):
        check(Here(fails))


def test_a_depth_has_a_cpu_budget() -> None:
    with pytest.raises(LimitError, match="300 s of CPU in the causality check"):
        check(Here(causal, cpu_seconds=30.0))


@pytest.fixture(scope="module")
def lab():
    with open_lab() as lab:
        yield lab


def test_the_lockbox_path_is_decided_day_by_day(lab: Lab) -> None:
    here = Here(causal)
    runs = StrategyRuns(b"", market(), MASK, here, InOrder())
    report, path = causality.lockbox(runs, SEALED, lambda run: lab.sealed_result(runs, run), b"key", rules=RULES)
    span = runs.span(SEALED)
    days = SEALED_DAYS + 1  # the bar before the first belongs to the day before
    ends = [span.first + length for length in here.lengths[2 : 2 + days]]
    assert report.passed
    assert 2 + days + RULES.lockbox_cuts == report.calls == len(here.lengths)
    assert [0] * days == [int(market().times[end - 1] + market().bar_ms) % DAY_MS for end in ends]
    assert list(range(span.start, span.stop + 1, 6)) == ends
    assert np.array_equal(runs.fold(SEALED).values, path.values, equal_nan=True)


def test_the_lockbox_path_never_had_a_later_day_even_when_it_leaks(lab: Lab) -> None:
    def peeks(frames: CallFrames) -> np.ndarray:
        close = np.nan_to_num(frames.cube[3], nan=1.0)
        return np.vstack([np.sign(close[1:] - close[:-1]), np.zeros((1, close.shape[1]))]) / 8

    runs = StrategyRuns(b"", market(), MASK, Here(peeks), InOrder())
    report, path = causality.lockbox(runs, SEALED, lambda run: lab.sealed_result(runs, run), b"key", rules=RULES)
    span = runs.span(SEALED)
    last_of_day = path.values[span.start - 1 - path.first_row : span.stop - 1 - path.first_row : 6]
    assert "truncation" == report.kind
    assert 0.0 == np.abs(last_of_day).max()
