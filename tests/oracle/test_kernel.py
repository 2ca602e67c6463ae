"""The compiled loop: the digits of numpy's, or none of it; and nobody pays for it who does not ask."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields
from functools import partial
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from engine_markets import random_market, random_weights
from hypothesis import given, settings
from hypothesis import strategies as st

from autoquant.oracle import Scenario, blocks, kernel, kernel_loop, simulate_folds
from autoquant.oracle.blocks import Block
from autoquant.oracle.book import Book
from autoquant.oracle.engine import Compiled
from autoquant.oracle.folds import DAY_MS, Window
from autoquant.oracle.kernel_loop import MOST_ASSETS
from autoquant.oracle.result import BarFlows, FoldResult
from autoquant.protocol import PROTOCOL, Costs

COSTS = (
    PROTOCOL.costs,
    Costs(participation_cap=None, history_rule=False, impact_y=3.0),
    Costs(participation_cap=None, history_rule=False, impact_y=0.0),
)
LEVELS = tuple(Scenario(level) for level in (0.0, 1.0, 2.0, 3.0))
SCENARIOS = (LEVELS, (Scenario(), Scenario(2.0), Scenario(1.0, 1)), (Scenario(1.5),))


def numbers(results: tuple[tuple[FoldResult, ...], ...]) -> Iterator[tuple[str, np.ndarray]]:
    for result in (fold for lane in results for fold in lane):
        for field in fields(FoldResult):
            if field.name != "bars":
                yield field.name, np.asarray(getattr(result, field.name))
        for field in fields(BarFlows):
            yield f"bars.{field.name}", getattr(result.bars, field.name)


@pytest.fixture(scope="module")
def compiled() -> Compiled:
    pytest.importorskip("numba", reason="no numba: uv run --group proof pytest")
    found = kernel.load()
    assert found.compiled is not None, found.words
    return found.compiled


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    assets=st.sampled_from([1, 2, 7, 8, 9, 17, 20]),
    folds=st.sampled_from([1, 3]),
    costs=st.sampled_from(COSTS),
    scenarios=st.sampled_from(SCENARIOS),
    gross=st.sampled_from([0.5, 1.0, 5.0]),
    wild=st.sampled_from([0.01, 0.15]),
    block=st.sampled_from([5, 256]),
)
def test_every_number_is_numpy_s_to_the_last_bit(compiled, seed, assets, folds, costs, scenarios, gross, wild, block):
    """Ruin, caps, settlements, missing and dead bars, funding at and inside bars, held units, impact, cost levels."""
    panel = random_market(seed, assets=assets, days=14, wild=wild)
    starts = [int(panel.times[0]) + day * DAY_MS for day in (6, 2, 0)[:folds]]
    windows = [Window(n, start, start, start, start + 8 * DAY_MS) for n, start in enumerate(starts, start=1)]
    weights = [random_weights(seed + fold, panel, gross=gross) for fold in range(folds)]
    with patch.multiple(blocks, LEAST=block, MOST=block):  # sums are compiled where a block closes nothing by force
        both = [simulate_folds(panel, weights, windows, scenarios, costs=costs, compiled=way) for way in (False, True)]
    for (name, expected), (_, got) in zip(*map(numbers, both), strict=True):
        np.testing.assert_array_equal(got, expected, name)


def test_the_markets_above_meet_ruin_settlement_and_caps():
    met = {"ruined": 0, "settled": 0, "capped": 0}
    for seed in range(6):
        panel = random_market(seed, assets=7, days=14, wild=0.15)
        start = int(panel.times[0]) + 6 * DAY_MS
        window = Window(1, start, start, start, start + 8 * DAY_MS)
        weights = random_weights(seed, panel, gross=5.0)
        free, bound = (
            simulate_folds(panel, [weights], [window], LEVELS, costs=costs, capital=1e8)
            for costs in (Costs(participation_cap=None), PROTOCOL.costs)
        )
        met["ruined"] += sum(fold.ruined for lane in free for fold in lane)
        met["settled"] += int(((panel.last_bar >= start) & (panel.last_bar < panel.times[-1])).sum())
        met["capped"] += free[0][0].turnover_sum > bound[0][0].turnover_sum
    assert all(met.values()), met


def test_a_lone_path_of_very_many_contracts_is_left_to_numpy(compiled):
    panel = random_market(1, assets=MOST_ASSETS + 4, days=8)
    start = int(panel.times[6])
    window, weights = Window(1, start, start, start, start + 3 * DAY_MS), random_weights(2, panel)
    with patch.multiple(blocks, LEAST=2, MOST=2):  # a block that closes nothing has its sums compiled
        both = [simulate_folds(panel, [weights], [window], costs=COSTS[1], compiled=way) for way in (False, True)]
    for (name, expected), (_, got) in zip(*map(numbers, both), strict=True):
        np.testing.assert_array_equal(got, expected, name)


def test_a_kernel_that_differs_by_one_bit_is_not_taken():
    def off_by_a_bit(book: Book, block: Block, start: int, stop: int) -> None:
        from autoquant.oracle.rows import run_rows

        run_rows(book, block, start, stop, careful=False)
        block.ending[stop - 1] = np.nextafter(block.ending[stop - 1], 9.0)

    found = kernel.judged(Compiled(off_by_a_bit, kernel_loop.tally_block), "a compiler 1.0")
    assert (None, "a compiler 1.0 comes to other digits than numpy here") == (found.compiled, found.words)


def test_sums_that_differ_by_one_bit_are_not_taken():
    def off_by_a_bit(*arguments):
        kernel_loop.tally_block(*arguments)
        gross = arguments[15]
        gross[-1] = np.nextafter(gross[-1], 9.0)

    found = kernel.judged(Compiled(partial(kernel.run_block, kernel_loop.run_block), off_by_a_bit), "a compiler 1.0")
    assert found.compiled is None


def test_what_is_compiled_is_right_as_it_stands():
    """Without a compiler the same text runs, slowly: nobody needs numba to check it."""
    found = kernel.judged(Compiled(partial(kernel.run_block, kernel_loop.run_block), kernel_loop.tally_block), "python")
    assert found.compiled is not None, found.words


def test_what_cannot_compile_says_so_in_one_line(repository: Path):
    pytest.importorskip("numba", reason="no numba: uv run --group proof pytest")
    code = "from autoquant.oracle import kernel; k = kernel.load(); print(k.compiled, k.words)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=repository, env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert ["None numba cannot compile the accounts here (NUMBA_DISABLE_JIT is set)"] == done.stdout.splitlines()
    assert "" == done.stderr


def test_without_the_extra_numpy_does_it_and_the_reason_is_one_line(monkeypatch):
    monkeypatch.setattr(kernel, "find_spec", lambda name: None)
    found = kernel.load.__wrapped__()
    assert (None, "numba is not installed: uv sync --extra fast") == (found.compiled, found.words)


def test_nothing_compiled_is_kept_on_disk(compiled, repository: Path):
    """Numba's cache, which lies beside the source, is loaded unseen by whoever asks next."""
    assert [] == list((repository / "autoquant").rglob("*.nb[ic]"))


def test_no_judge_and_no_run_of_an_agent_imports_numba(repository: Path):
    """The import budget: run.py, evaluate.py and the judge of a race work as if the extra were not there."""
    code = (
        "import contextlib, sys, run, evaluate, arena\n"
        "import autoquant.oracle.judge, autoquant.oracle.sealed, autoquant.oracle.command, autoquant.oracle.plain\n"
        "import autoquant.arena.placebo_answer, autoquant.arena.client.standalone\n"
        "print(sorted({'numba', 'llvmlite'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=repository, capture_output=True, text=True, check=True)
    assert "[]" == done.stdout.splitlines()[-1]
