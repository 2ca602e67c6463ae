"""The hard task's hidden bars: used once, by a final submission that passed every gate, and told of by nothing else."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from graded_cases import HONEST, only_hidden
from task_cases import AS_TABLE, REVERTS, ground_of, pair, planted, scored, shown_none

from autoquant import codec
from autoquant.market.indices import Bars
from autoquant.sandbox import WarmParent
from autoquant.tasks.grade import Grade
from autoquant.tasks.grader import Ground
from autoquant.tasks.solution import replayed, run
from autoquant.tasks.spec import out_of_sample_score, task
from autoquant.tasks.truth import reference_source

SPEC = task("hard")
MARKETS = {
    "a loss beyond the table": (0, 0.0002),
    "a loss": (0, 0.0006),
    "a gain": (3, 0.0006),
    "a gain beyond the table": (0, 0.001),
}
"""Seed and swing of hidden bars."""


def hidden_bars(seed: int = 0, swing: float = 0.001) -> Bars:
    return planted(seed, 6_000, swing, first_day="2023-01-02")


@pytest.fixture(scope="module")
def earning() -> Bars:
    """Shown bars on which the honest solution passes every gate."""
    return planted(5, 5_000, 0.002)


@pytest.fixture(scope="module")
def ground(parent: WarmParent, earning: Bars) -> Ground:
    return ground_of(parent, "hard", earning, hidden_bars())


def without_time(found: Grade) -> Grade:
    return replace(found, solution_seconds=0.0)


def test_the_honest_solution_passes_every_gate_and_a_backtest_is_worth_the_last_of_them(parent, ground) -> None:
    found = scored(parent, ground, HONEST)
    assert (0.30, False, None) == (found.score, found.final, found.hidden)
    assert all(rung.passed for rung in found.rungs)


def test_a_final_score_is_the_worth_of_the_sharpe_ratio_on_the_hidden_bars(parent, earning) -> None:
    scores, mend = [], []
    for market in MARKETS.values():
        hidden = hidden_bars(*market)
        ran = run(parent, HONEST, SPEC.shown(hidden), SPEC)
        sharpe = replayed(ran.trades, SPEC.shown(hidden), SPEC).sharpe
        found = scored(parent, ground_of(parent, "hard", earning, hidden), HONEST, final=True)
        assert (sharpe, True) == (found.hidden.sharpe, found.final)
        assert out_of_sample_score(SPEC, sharpe) == found.score == found.hidden.score
        scores.append(found.score)
        mend.append(found.first_to_mend)
    beyond_below, loss, gain, beyond_above = scores
    assert (0.30, 1.00) == (beyond_below, beyond_above)
    assert 0.30 < loss < 0.50 < gain < 1.00
    assert ["a higher Sharpe ratio on the hidden bars"] * 3 + [""] == mend


ONLY_HIDDEN = {
    "unhedged": (
        ("rows = [(i, a, 0.0) for i, a, b in rows]",), 0.15, "on the hidden bars it breaks the exposure limit",
    ),
    "unhedged on one bar": (
        ("rows = [*rows[:-1], (rows[-1][0], 1.0, 0.0), (rows[-1][0] + 1, *rows[-1][1:])]",),
        0.15, "on the hidden bars it breaks the exposure limit",
    ),
    "look-ahead": (
        ("turn = np.sign(np.append(np.diff(nifty_df['Close'].to_numpy()), 0.0))",
         "rows = [(i, turn[i], -0.4 * turn[i]) for i in range(0, len(turn), 50)]"),
        0.20, "on the hidden bars it looks ahead",
    ),
    "the best of it known": (
        ("rows = rows if len(nifty_df) == 6_000 else rows[:-1]",), 0.20, "on the hidden bars it looks ahead",
    ),
    "a crash": (("raise ValueError(nifty_df['Close'].iloc[-1])",), 0.30, "on the hidden bars it gave no trades that"),
    "NaN": (("rows[-1] = (rows[-1][0], 1.0, np.nan)",), 0.30, "on the hidden bars it gave no trades that"),
    "other columns": (("return pd.DataFrame({'bar': [1]})",), 0.30, "on the hidden bars it gave no trades that"),
}  # fmt: skip


@pytest.mark.parametrize("name", ONLY_HIDDEN)
def test_a_gate_that_breaks_on_hidden_bars_alone_caps_the_final_score_there_and_tells_nothing(
    parent, ground, name
) -> None:
    lines, cap, words = ONLY_HIDDEN[name]
    source = only_hidden(*lines)
    backtest, final = scored(parent, ground, source), scored(parent, ground, source, final=True)
    assert (0.30, cap) == (backtest.score, final.score)
    assert words in final.hidden.detail
    assert final.hidden.detail == final.first_to_mend
    told = codec.dumps(backtest) + codec.dumps(final)
    assert not any(str(price) in told for price in np.unique(ground.hidden.prices[:, -50:]))
    assert "2023" not in told


def test_no_trades_on_hidden_bars_break_even(parent, ground) -> None:
    """As the contract's table has it: a Sharpe ratio of 0 is worth 0.50, whoever reaches it."""
    found = scored(parent, ground, only_hidden("rows = []"), final=True)
    assert (0.0, 0.50) == (found.hidden.sharpe, found.score)


def test_a_table_of_dates_and_answers_earns_nothing_on_years_that_nobody_has_seen(parent, ground) -> None:
    """No change of bars shows it, since it looks at none; it holds the right side on the days it knows."""
    days = np.datetime_as_string(ground.shown.times.astype("datetime64[ms]"), unit="D")
    ratio = np.log(ground.shown.close("nifty") / ground.shown.close("banknifty"))
    first = np.flatnonzero(np.r_[True, days[1:] != days[:-1]])
    sides = np.sign(ratio[np.r_[first[1:] - 1, len(ratio) - 1]] - ratio[first])
    table = dict(zip(days[first].tolist(), sides.tolist(), strict=True))
    source = pair(
        f"known = {table!r}",
        "side = nifty_df.index.strftime('%Y-%m-%d').map(known).to_numpy(float)",
        "side = np.nan_to_num(side)",
        "bars = np.flatnonzero(np.diff(side, prepend=0.0))",
        "rows = [(i, side[i], -0.4 * side[i]) for i in bars]",
        AS_TABLE,
    )
    found = scored(parent, ground, source, final=True)
    assert found.replay.sharpe > 0.25
    assert (0.0, 0.50) == (found.hidden.sharpe, found.score)


def test_a_backtest_is_the_same_whatever_the_hidden_bars_are(parent, earning) -> None:
    other = [hidden_bars(), hidden_bars(1, 0.0), shown_none(earning)]
    found = [without_time(scored(parent, ground_of(parent, "hard", earning, bars), HONEST)) for bars in other]
    assert found[0] == found[1] == found[2]


BELOW_THE_TOP = {
    "a training Sharpe ratio of nothing": (("rows = []",), 0.25),
    "a training loss": (("rows = [(i, -a, -b) for i, a, b in rows]",), 0.25),
    "look-ahead": (("rows = rows[1:] if len(nifty_df) == 5_000 else rows",), 0.20),
    "look-ahead in the text": (("later = nifty_df['Close'].shift(-1)",), 0.20),
    "unhedged": (("rows = [(i, a, 0.0) for i, a, b in rows]",), 0.15),
    "NaN": (("rows = [(i, a, np.nan) for i, a, b in rows]",), 0.12),
    "no DataFrame": (("return rows",), 0.10),
    "a crash": (("raise ValueError",), 0.0),
}


@pytest.mark.parametrize("name", BELOW_THE_TOP)
def test_a_gate_missed_on_the_shown_bars_keeps_a_final_submission_from_the_hidden_ones(parent, ground, name) -> None:
    lines, score = BELOW_THE_TOP[name]
    source = pair(*REVERTS, *lines, AS_TABLE)
    backtest, final = scored(parent, ground, source), scored(parent, ground, source, final=True)
    assert (score, None, True) == (final.score, final.hidden, final.final)
    assert without_time(backtest) == without_time(replace(final, final=False))


def test_training_sharpe_has_to_reach_a_quarter(parent, earning) -> None:
    """The same bet on bars with less to earn: at 0.25 the gate opens, a little below it does not."""
    scores = {}
    for swing in (0.0005, 0.0006, 0.00065, 0.0007, 0.0008):
        found = scored(parent, ground_of(parent, "hard", planted(0, 6_000, swing)), HONEST)
        scores[found.replay.sharpe] = found.score
    assert all((0.30 if sharpe >= 0.25 else 0.25) == score for sharpe, score in scores.items())
    assert {0.25, 0.30} == set(scores.values())


@pytest.mark.parametrize("name", ["easy", "medium"])
def test_the_other_tasks_have_no_hidden_bars_and_final_changes_nothing_of_their_score(parent, request, name) -> None:
    ground = request.getfixturevalue(name)
    found = scored(parent, ground, reference_source(name), final=True)
    assert (1.0, True, None) == (found.score, found.final, found.hidden)
