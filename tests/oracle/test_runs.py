"""What each call is shown: its history, and not a bar more."""

import numpy as np
import pytest
from strategy_lab import ASSETS, WINDOWS, market

from autoquant.errors import OutputError
from autoquant.executor import LocalPool
from autoquant.oracle.draws import Draws
from autoquant.oracle.folds import DAY_MS
from autoquant.oracle.mask import Mask
from autoquant.oracle.runs import StrategyRuns
from autoquant.sandbox import Answer, CallFrames, WarmParent

MASK = Mask.draw(bytes(32), 1, ASSETS, WINDOWS)
PANEL = market()


class Recorder:
    """Stands where the warm parent stands: keeps what it was given, answers the closes or what it is told."""

    def __init__(self, absent: int = 0) -> None:
        self.seen: list[tuple[CallFrames, int]] = []
        self.absent = absent

    def call(self, source: bytes, frames: CallFrames, train_end_ms: int, reveal: bool = False) -> Answer:
        self.seen.append((frames, train_end_ms))
        present = np.ones(len(frames.times), dtype=bool)
        if self.absent:
            present[-self.absent :] = False
        return Answer(frames.cube[3], present, 0.0, 0.0)


def runs(parent) -> StrategyRuns:
    return StrategyRuns(b"", PANEL, MASK, parent, LocalPool("threads", 1))


@pytest.mark.parametrize("window", WINDOWS)
def test_a_fold_sees_its_history_up_to_its_end(window) -> None:
    recorder = Recorder()
    run = runs(recorder).fold(window)
    frames, train_end = recorder.seen[0]
    shift = MASK.shift_ms(window)
    assert window.history_ms == frames.times[0] - shift
    assert window.end_ms == frames.times[-1] - shift + PANEL.bar_ms
    assert window.train_end_ms == train_end - shift
    assert PANEL.row(window.history_ms) == run.first_row


def test_every_fold_has_the_same_length() -> None:
    recorder = Recorder()
    for window in WINDOWS:
        runs(recorder).fold(window)
    assert 1 == len({len(frames.times) for frames, _ in recorder.seen})


def test_a_cut_ends_with_its_last_bar() -> None:
    recorder, window = Recorder(), WINDOWS[0]
    run = runs(recorder).cut(window, 100, 301)
    frames, _ = recorder.seen[0]
    assert np.array_equal(PANEL.times[100:301] + MASK.shift_ms(window), frames.times)
    assert (100, 301) == (run.first_row, run.stop_row)


def test_values_come_back_on_real_assets_and_rows() -> None:
    run = runs(Recorder()).cut(WINDOWS[0], 100, 301)
    ratio = run.values / PANEL.close[100:301]
    assert np.array_equal(np.isnan(PANEL.close[100:301]), np.isnan(run.values))
    scales = np.ldexp(1.0, np.array(MASK.exponents))
    assert np.array_equal(np.broadcast_to(scales, ratio.shape)[np.isfinite(ratio)], ratio[np.isfinite(ratio)])
    whole = run.on_panel(len(PANEL))
    assert np.isnan(whole[:100]).all()
    assert np.array_equal(run.values, whole[100:301], equal_nan=True)


def test_a_future_has_the_folds_length_and_its_past() -> None:
    recorder, window = Recorder(), WINDOWS[0]
    lab = runs(recorder)
    base, cut = lab.fold(window), lab.span(window).start + 20
    other = lab.future(window, cut, Draws(b"k"))
    same = cut + 1 - base.first_row
    assert base.values.shape == other.values.shape
    assert np.array_equal(base.values[:same], other.values[:same], equal_nan=True)
    assert not np.array_equal(base.values[same:], other.values[same:], equal_nan=True)


def test_the_row_behind_the_last_decision_may_be_missing_but_no_other() -> None:
    runs(Recorder(absent=1)).fold(WINDOWS[0])
    with pytest.raises(OutputError, match="1 of 180 decision rows of fold 1"):
        runs(Recorder(absent=2)).fold(WINDOWS[0])


def test_a_real_child_finds_the_end_of_the_world_at_the_end_of_its_file() -> None:
    """INV-07."""
    source = (
        b"def target_weights(panel, train_end):\n    raise ValueError((panel.close.shape, panel.close.index[-1]))\n"
    )
    with WarmParent() as parent, LocalPool("threads", 1) as pool:
        lab = StrategyRuns(source, PANEL, MASK, parent, pool, reveal=True)
        with pytest.raises(Exception, match=r"\(\(201, 8\)") as caught:
            lab.cut(WINDOWS[0], 100, 301)
    shown = (PANEL.times[300] + MASK.shift_ms(WINDOWS[0])) // DAY_MS
    assert str(np.datetime64(int(shown), "D")) in str(caught.value)
