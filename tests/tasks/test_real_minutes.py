"""The whole track on the 58,127 real minutes of both indices, January to August 2024."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from task_cases import EARLY, LATE, ground_of, scored

from autoquant.market.index_files import merge
from autoquant.market.indices import NAMES, Bars, split_at, wall_clock
from autoquant.sandbox import WarmParent
from autoquant.tasks.grade import Grade
from autoquant.tasks.grader import Ground
from autoquant.tasks.truth import reference_source

pytestmark = pytest.mark.shared
SPLIT = "2024-07-01"


@dataclass(frozen=True)
class Graded:
    """The three references on all the minutes, and their grounds."""

    grounds: dict[str, Ground]
    grades: dict[str, Grade]


@pytest.fixture(scope="module")
def graded(parent: WarmParent, real_minutes: Bars) -> Graded:
    grounds = {name: ground_of(parent, name, real_minutes) for name in ("easy", "medium", "hard")}
    return Graded(grounds, {name: scored(parent, g, reference_source(name)) for name, g in grounds.items()})


def test_every_row_of_the_two_files_is_good_and_has_its_match(shared: Path, real_minutes: Bars) -> None:
    _, notes = merge({name: shared / "data" / f"{name}_1min_2024.parquet" for name in NAMES})
    assert [(58_127, 0, 0, 0)] * 2 == [(one.rows, one.bad, one.duplicates, one.unmatched) for one in notes]
    assert ("2024-01-01T09:15", "2024-08-23T15:29") == tuple(wall_clock(real_minutes.times[k]) for k in (0, -1))


def test_the_references_reach_the_top_and_the_simple_hedge_its_gate(graded: Graded) -> None:
    assert {"easy": 1.0, "medium": 1.0, "hard": 0.25} == {name: one.score for name, one in graded.grades.items()}
    assert "the Sharpe ratio is -1.3111" in graded.grades["hard"].first_to_mend


@pytest.mark.parametrize(
    ("name", "trades", "entries", "pnl", "drawdown", "sharpe", "violations"),
    [
        ("easy", 1_332, 0, -2_895.41, 3_123.67, -1.5371, 0),
        ("medium", 1_404, 702, -7_508.78, 7_667.36, -3.3985, 0),
        ("hard", 9, 1, -1_655.81, 3_406.94, -1.3111, 0),
    ],
)
def test_what_the_references_come_to(graded, name, trades, entries, pnl, drawdown, sharpe, violations) -> None:
    found = graded.grades[name].replay
    assert (trades, entries, violations) == (found.trades, found.entries, found.violations)
    assert (pnl, drawdown, sharpe) == (round(found.pnl, 2), round(found.max_drawdown, 2), round(found.sharpe, 4))


def test_the_pairs_rule_enters_about_once_in_84_bars(graded: Graded) -> None:
    assert pytest.approx(84, abs=2) == 58_127 / graded.grades["medium"].replay.entries


def test_a_cooldown_that_counts_the_exit_bar_scores_085_for_its_sharpe(parent, graded: Graded) -> None:
    found = scored(parent, graded.grounds["medium"], EARLY)
    assert 0.85 == found.score
    *_, sharpe = found.rungs[-1].comparisons
    assert "sharpe" == sharpe.metric
    assert 0.05 < abs(sharpe.value - sharpe.target) < 0.5


def test_a_cooldown_that_waits_one_bar_longer_misses_its_pnl_as_well(parent, graded: Graded) -> None:
    found = scored(parent, graded.grounds["medium"], LATE)
    assert 0.70 == found.score
    assert 1_376 == found.replay.trades


def test_the_hard_reference_looks_at_nothing_ahead_and_is_hedged_on_every_bar(graded: Graded) -> None:
    by_score = {rung.score: rung.passed for rung in graded.grades["hard"].rungs}
    assert (True, True, False) == (by_score[0.20], by_score[0.25], by_score[0.30])


def test_split_in_two_the_references_still_score_the_same(parent, real_minutes: Bars) -> None:
    shown, hidden = split_at(real_minutes, SPLIT)
    assert (44_252, 13_875) == (len(shown), len(hidden))
    for name, score in (("easy", 1.0), ("medium", 1.0), ("hard", 0.25)):
        found = scored(parent, ground_of(parent, name, shown, hidden), reference_source(name), final=True)
        assert score == found.score
