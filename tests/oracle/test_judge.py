"""The oracle as one door: what each kind of strategy is told, on a whole synthetic market."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from autoquant.market import synthetic_panel
from autoquant.oracle.assemble import Accounts, evaluate_folds
from autoquant.oracle.folds import valid_windows
from autoquant.oracle.judge import Judge, Pins
from autoquant.oracle.records import Evaluation, Outcome
from autoquant.protocol import PROTOCOL

PINS = Pins("protocol", "code", "data")
QUICK = replace(PROTOCOL, limits=replace(PROTOCOL.limits, cpu_seconds=1.0))

HEADER = "import numpy as np\nimport pandas as pd\n\ndef target_weights(panel, train_end):\n"
EQUAL = "    w = panel.close.notna().astype(float)\n    w = w.div(w.sum(axis=1).clip(lower=1.0), axis=0)\n"


def strategy(body: str) -> bytes:
    return (HEADER + body).encode()


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    panel = synthetic_panel(1, days=2008, start="2020-01-01", listings=True)
    with Judge(panel, valid_windows(), pins=PINS, secret=b"s" * 32, jobs=2, protocol=QUICK) as judge:
        yield judge


@pytest.fixture(scope="module")
def seed(repository: Path) -> bytes:
    return (repository / "strategy.py").read_bytes()


def gate_names(evaluation: Evaluation) -> list[str]:
    return [gate.name for gate in evaluation.gates]


def test_accounts_are_summed_on_the_workers_however_many_ask(judge: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    """An allocator keeps memory for every thread that sums."""
    summed: list[int] = []

    def evaluated(*arguments: Any) -> Accounts:
        summed.append(threading.get_ident())
        return evaluate_folds(*arguments)

    def ask() -> int:
        judge.screen(strategy(EQUAL + "    return w * 0.0\n"), 1)
        return threading.get_ident()

    monkeypatch.setattr("autoquant.oracle.judge.evaluate_folds", evaluated)
    with ThreadPoolExecutor(3) as callers:
        asked = {caller.result() for caller in [callers.submit(ask) for _ in range(3)]}
    assert 3 == len(summed)
    assert 2 >= len(set(summed))
    assert asked.isdisjoint(summed)


def test_frames_of_a_shifted_window_are_let_go(judge: Judge) -> None:
    source = strategy(EQUAL + "    return w\n")
    with judge._parent(source) as parent:
        runs = judge._runs(source, 1, parent)
        judge._base(runs)
        assert judge._score_shifted(runs, 3) is not None
        assert set(judge.windows) == set(runs._frames)


@pytest.mark.slow
def test_the_seed_is_scored_alike_under_every_mask_and_survives_confirmation(judge: Judge, seed: bytes) -> None:
    """INV-08."""
    first, second = judge.screen(seed, 1), judge.screen(seed, 2)
    assert first.evaluation.outcome is Outcome.SCORED
    assert first.evaluation.score == pytest.approx(second.evaluation.score, abs=1e-9)
    assert ["import", "output", "causality", "leverage", "drawdown", "turnover", "trades", "exposure"] == gate_names(
        first.evaluation
    )
    assert [122] * 6 == [len(fold) for fold in first.evaluation.daily_returns]
    confirmation = judge.confirm(seed, 1, first)
    assert confirmation.causality_passed
    assert not confirmation.mask_dependent
    assert confirmation.second is not None
    assert confirmation.second.score == pytest.approx(first.evaluation.score, abs=1e-9)
    assert confirmation.stress is not None
    assert (3, 7, 14, 21) == tuple(item.days for item in confirmation.stress.shifted)
    assert all(item.score not in (None, first.evaluation.score) for item in confirmation.stress.shifted)


def test_the_same_attempt_judged_twice_gives_the_same_record(judge: Judge) -> None:
    """INV-09."""
    source = strategy(EQUAL + "    return w * 0.5\n")
    assert judge.screen(source, 7).evaluation == judge.screen(source, 7).evaluation


def test_a_leak_gets_no_score_and_no_hint_where_it_leaked(judge: Judge) -> None:
    """INV-17."""
    leak = strategy(
        "    up = (panel.close.shift(-1) > panel.close).astype(float)\n"
        "    return up.div(up.sum(axis=1).clip(lower=1.0), axis=0)\n"
    )
    judgement = judge.screen(leak, 1)
    evaluation = judgement.evaluation
    assert (Outcome.GATE, "causality") == (evaluation.outcome, evaluation.failed_gate)
    assert evaluation.score is None
    assert evaluation.fault is not None
    assert ("CausalityError", None) == (evaluation.fault.kind, evaluation.fault.message)
    assert "weights changed" in judgement.causality_detail


def test_a_crash_is_told_by_class_and_line_and_never_by_message(judge: Judge) -> None:
    """INV-17."""
    source = strategy("    secret = float(panel.close.iloc[-1, 0])\n    raise ValueError(f'price {secret}')\n")
    evaluation = judge.screen(source, 1).evaluation
    assert Outcome.CRASH is evaluation.outcome
    assert evaluation.fault is not None
    assert ("ValueError", 6, None) == (evaluation.fault.kind, evaluation.fault.line, evaluation.fault.message)


def test_outside_a_race_the_message_is_shown() -> None:
    panel = synthetic_panel(1, days=2008, start="2020-01-01", listings=True)
    with Judge(panel, valid_windows()[:1], pins=PINS, jobs=1, reveal=True) as judge:
        fault = judge.screen(strategy("    raise ValueError('told')\n"), 0).evaluation.fault
    assert fault is not None
    assert fault.message is not None
    assert "told" in fault.message


@pytest.mark.parametrize(
    ("body", "outcome", "gate"),
    [
        ("    import os\n    return panel.close * 0\n", Outcome.INVALID, "import"),
        ("    return panel.close * np.inf\n", Outcome.INVALID, "output"),
        ("    return panel.close.iloc[:-50] * 0\n", Outcome.INVALID, "output"),
        (EQUAL + "    return w * np.random.uniform()\n", Outcome.INVALID, "output"),
        (EQUAL + "    return w * 1.01\n", Outcome.GATE, "leverage"),
        ("    return panel.close * 0.0\n", Outcome.GATE, "turnover"),
        (EQUAL + "    return w * 0.05\n", Outcome.GATE, "exposure"),
        (EQUAL + "    return -w\n", Outcome.GATE, "drawdown"),
        ("    while True:\n        pass\n", Outcome.TIMEOUT, None),
        ("    return np.empty(1 << 33)\n", Outcome.CRASH, None),
    ],
)
def test_what_breaks_a_rule_is_named_by_the_rule(judge: Judge, body: str, outcome: Outcome, gate: str | None) -> None:
    evaluation = judge.screen(strategy(body), 1).evaluation
    assert (outcome, gate) == (evaluation.outcome, evaluation.failed_gate)


def test_what_is_over_the_leverage_limit_is_never_scored(judge: Judge) -> None:
    assert judge.screen(strategy(EQUAL + "    return w * 1e300\n"), 1).evaluation.score is None
