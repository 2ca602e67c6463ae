"""Whose figures a grade compares with: the published ones on the set they belong to, else our own solution's; said."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from task_cases import bars_of, ground_of, saved, scored

from autoquant import codec
from autoquant.errors import InfrastructureFault
from autoquant.market.indices import Bars, save_indices
from autoquant.protocol import Limits
from autoquant.sandbox import WarmParent
from autoquant.tasks import text
from autoquant.tasks.grader import Ground
from autoquant.tasks.ground import load_ground
from autoquant.tasks.server import Shop
from autoquant.tasks.spec import metrics, task
from autoquant.tasks.truth import is_reference_set, matches, reference_replay, reference_source, truth_of

ROWS = 737_587
GUIDE = {"trades": 16_639.0, "pnl": -20_630.75, "max_drawdown": 23_882.23, "sharpe": -1.3693}


@pytest.fixture(scope="module")
def fabricated() -> Bars:
    """As many bars as the reference set, made so that the crossover comes to its published figures on them."""
    nifty = 8_407.0 + 6.281 * np.cumsum(np.random.default_rng(8).normal(0.0, 1.0, ROWS))
    return bars_of(nifty, 2.3 * nifty)


@pytest.mark.parametrize("name", ["easy", "medium"])
def test_bars_that_prove_to_be_the_reference_set_are_graded_by_the_published_figures(parent, fabricated, name) -> None:
    truth = truth_of(parent, task(name), fabricated)
    assert ("published", task(name).published_figures) == (truth.origin, truth.figures)


@pytest.mark.parametrize("name", ["easy", "medium"])
def test_as_many_bars_as_the_reference_set_has_are_not_enough(parent, whole_synthetic, name) -> None:
    bars = whole_synthetic[0]
    assert ROWS == len(bars)
    truth = truth_of(parent, task(name), bars)
    own = metrics(reference_replay(parent, name, bars))
    assert ("reference", {metric: own[metric] for metric in task(name).tolerances}) == (truth.origin, truth.figures)


def test_the_published_figures_on_one_bar_less_are_not_enough(parent, fabricated) -> None:
    short = Bars(fabricated.times[1:], fabricated.prices[:, 1:])
    assert matches(task("easy"), metrics(reference_replay(parent, "easy", short)))
    assert "reference" == truth_of(parent, task("easy"), short).origin


@pytest.mark.parametrize("metric", GUIDE)
def test_one_figure_outside_its_tolerance_is_enough_to_be_another_set(parent, fabricated, metric) -> None:
    assert is_reference_set(parent, fabricated, GUIDE)
    assert not is_reference_set(parent, fabricated, {**GUIDE, metric: GUIDE[metric] * 1.06})


def test_a_grade_on_the_reference_set_says_that_its_truth_is_published(parent, fabricated) -> None:
    found = scored(parent, replace(ground_of(parent, "easy", fabricated), source="files"), reference_source("easy"))
    assert "published" == codec.encode(found)["truth"]
    assert 1.0 == found.score
    assert "on     737,587 bars from files; truth: the published figures of the reference data\n" in text.graded(found)


def test_a_grade_on_other_data_says_that_its_truth_is_our_own_solution(parent, easy) -> None:
    found = scored(parent, easy, reference_source("easy"))
    assert "reference" == codec.encode(found)["truth"]
    expected = "on     synthetic data: not a market result; truth: what the reference solution gives on these data\n"
    assert expected in text.graded(found)


def test_the_hard_task_has_no_truth_and_says_nothing_of_one(parent, small) -> None:
    found = scored(parent, ground_of(parent, "hard", *small), reference_source("hard"))
    assert codec.encode(found)["truth"] is None
    assert "truth" not in text.graded(found)


def test_a_reference_that_gives_no_trades_is_our_own_failure(whole_synthetic) -> None:
    told = "the reference solution of easy gave no trades"
    with (
        WarmParent(Limits(memory_bytes=64 * 1024**2)) as narrow,
        pytest.raises(InfrastructureFault, match=told) as caught,
    ):
        reference_replay(narrow, "easy", whole_synthetic[0])
    assert "more than 64 MiB" in caught.value.message


@pytest.fixture
def data(tmp_path: Path, small: tuple[Bars, Bars]) -> Path:
    return saved(tmp_path, *small, source="synthetic", seed=7)


def stored(data: Path) -> Path:
    (path,) = (data / "indices" / "synthetic").glob("truth-*.json")
    return path


def same_ground(first: Ground, second: Ground) -> bool:
    return (first.truth, first.source, first.shown.digest) == (second.truth, second.source, second.shown.digest)


def test_a_truth_is_worked_out_once_and_read_again(parent, data) -> None:
    first = load_ground(data, "easy", parent)
    path = stored(data)
    marked = path.read_text().replace('"pnl":', '"pnl": ')
    path.write_text(marked)
    assert same_ground(first, load_ground(data, "easy", parent))
    assert marked == path.read_text()


@pytest.mark.parametrize(
    "damage",
    [
        b"", b"{", b"\xff\xfe\x00", b"[]", b"null", b'{"figures":{},"origin":"reference"}',
        b'{"figures":{"pnl":1,"trades":1,"sharpe":1,"max_drawdown":1},"origin":"rumour"}',
        b'{"figures":{"pnl":NaN,"trades":1,"sharpe":1,"max_drawdown":1},"origin":"reference"}',
        b'{"figures":{"pnl":"1","trades":1,"sharpe":1,"max_drawdown":1},"origin":"reference"}',
    ],
)  # fmt: skip
def test_a_damaged_truth_is_made_again(parent, data, damage) -> None:
    first = load_ground(data, "easy", parent)
    path = stored(data)
    whole = path.read_bytes()
    path.write_bytes(damage)
    assert same_ground(first, load_ground(data, "easy", parent))
    assert whole == path.read_bytes()


def test_a_server_and_a_race_believe_no_truth_that_lies_there(parent, data) -> None:
    """An agent that may write into the data folder could put its own figures there."""
    first = load_ground(data, "easy", parent)
    path = stored(data)
    whole = path.read_text()
    path.write_text(whole.replace('"trades":', '"trades":9'))
    assert not same_ground(first, load_ground(data, "easy", parent))
    shop = Shop(data)
    shop.close()
    assert first.truth == shop.ground("easy").truth
    assert whole == path.read_text()


def test_a_truth_that_cannot_be_kept_is_worked_out_each_time(parent, data) -> None:
    first = load_ground(data, "easy", parent)
    path = stored(data)
    path.unlink()
    path.mkdir()
    (path / "in the way").touch()
    assert same_ground(first, load_ground(data, "easy", parent))


def test_other_data_have_another_truth(parent, data, small) -> None:
    first = load_ground(data, "easy", parent)
    shown = small[0]
    other = Bars(shown.times, shown.prices * 1.01)
    save_indices(data, other, source="synthetic", split="2022-12-20", seed=8)
    assert first.truth != load_ground(data, "easy", parent).truth


def test_only_the_hard_task_loads_hidden_bars(parent, data, small) -> None:
    assert [0, 0, len(small[1])] == [len(load_ground(data, name, parent).hidden) for name in ("easy", "medium", "hard")]
