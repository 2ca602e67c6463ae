"""Strategies of our own, judged in this process."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from autoquant.errors import OutputError
from autoquant.harness.family import MEMORY_DAYS, SEED_LIKE, SPACE, draw, render
from autoquant.harness.searchers import stream
from autoquant.market.synthetic import market_panel
from autoquant.oracle.folds import valid_windows
from autoquant.oracle.plain import PlainJudge
from autoquant.oracle.records import Digests, Outcome

DIGESTS = Digests("p", "c", "d", "")


@pytest.fixture(scope="module")
def judge() -> PlainJudge:
    return PlainJudge(market_panel(0), valid_windows(), digests=DIGESTS)


def slowest() -> dict[str, object]:
    """The member with the longest windows of all."""
    return {name: max(values) for name, values in SPACE.items()} | {"second_share": 0.5, "weighting": "zscore"}


MEMBERS = {
    "the slowest": slowest(),
    "two equal horizons": SEED_LIKE | {"second_share": 0.5, "inverse_volatility": 1},
    "a tilt of the seed's": SEED_LIKE | {"second_share": 0.5, "funding_tilt": 0.5, "skip_days": 1},
    **{f"draw {number}": draw(stream(5, number)) for number in range(3)},
}


@pytest.mark.parametrize("name", MEMBERS)
def test_one_call_for_all_folds_says_what_one_call_for_each_says(judge: PlainJudge, name: str):
    source = render(MEMBERS[name]).encode()  # type: ignore[arg-type]
    apart, at_once = judge.by_fold(source), judge.at_once(source, MEMORY_DAYS)
    assert apart.outcome is at_once.outcome
    np.testing.assert_allclose(apart.fold_sharpes, at_once.fold_sharpes, atol=1e-9)
    np.testing.assert_allclose(apart.daily_returns, at_once.daily_returns, atol=1e-12)


@pytest.mark.parametrize("name", MEMBERS)
def test_no_member_hangs_on_the_order_of_assets_or_the_size_of_prices(judge: PlainJudge, name: str):
    """What a mask changes: so masks may be left out where members alone are judged."""
    order = np.random.default_rng(1).permutation(len(judge.panel.assets))
    cube = judge.panel.cube[:, :, order].copy()
    cube[:4] *= 2.0 ** np.arange(-10, 10)
    cube[4] /= 2.0 ** np.arange(-10, 10)
    names, tiers, last = (np.array(judge.panel.assets)[order], judge.panel.tier[order], judge.panel.last_bar[order])
    masked = PlainJudge(
        replace(judge.panel, cube=cube, assets=tuple(names), tier=tiers, last_bar=last),
        valid_windows(),
        digests=DIGESTS,
    )
    source = render(MEMBERS[name]).encode()  # type: ignore[arg-type]
    one, other = judge.at_once(source, MEMORY_DAYS), masked.at_once(source, MEMORY_DAYS)
    np.testing.assert_allclose(one.fold_sharpes, other.fold_sharpes, atol=1e-9)


def test_the_family_remembers_less_than_it_is_given():
    longest = {name: max(values) for name, values in SPACE.items() if name.endswith("_days") or name == "tranches"}
    look = longest["skip_days"] + max(longest["lookback_days"], longest["second_lookback_days"])  # type: ignore[type-var, operator]
    assert look + longest["tranches"] + longest["target_days"] + 2 <= MEMORY_DAYS  # type: ignore[operator]


def test_too_much_leverage_leaves_no_score_as_in_a_race(judge: PlainJudge):
    evaluation = judge.by_fold(b"def target_weights(panel, train_end):\n    return panel.close.notna() * 1.0\n")
    assert (Outcome.GATE, "leverage", None) == (evaluation.outcome, evaluation.failed_gate, evaluation.score)


@pytest.mark.parametrize(
    ("body", "what"), [("return 1", "returned a int"), ("return panel.close.iloc[:9] * 0", "decision rows of fold 1")]
)
def test_an_answer_without_its_rows_is_refused(judge: PlainJudge, body: str, what: str):
    with pytest.raises(OutputError, match=what):
        judge.by_fold(f"def target_weights(panel, train_end):\n    {body}\n".encode())


def test_the_seed_is_a_strategy_like_any_other(judge: PlainJudge, repository: Path):
    evaluation = judge.by_fold((repository / "strategy.py").read_bytes())
    assert evaluation.score is not None
    assert ["import", "output", "causality"] == [gate.name for gate in evaluation.gates[:3]]
