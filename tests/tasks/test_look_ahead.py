"""Look-ahead that shows when it runs: later bars taken away or replaced, and nothing decided before may change."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from task_cases import pair

from autoquant.errors import CrashError
from autoquant.market.index_synthetic import synthetic_indices
from autoquant.market.indices import NAMES, SPLIT, Bars, split_at
from autoquant.sandbox import WarmParent
from autoquant.tasks.lookahead import DRAWN, JUMP, REMOVED, Probe, changed, difference, look_ahead, probes
from autoquant.tasks.replay import Trades
from autoquant.tasks.solution import Ran, preload, run
from autoquant.tasks.spec import task
from autoquant.tasks.truth import reference_source

BARS = 6_000
SPEC = task("hard")
KEY = b"key"


@pytest.fixture(scope="module")
def bars() -> Bars:
    return split_at(synthetic_indices(11, shown=BARS, hidden=400), SPLIT)[0]


def signalled(*lines: str, lag: int = 1) -> bytes:
    """A hedged solution that holds `signal`, which its lines make, from `lag` bars later on."""
    return pair(
        *["from scipy import signal as filters" for line in lines if "filters." in line][:1],
        "times = nifty_df.index",
        "close, bank = nifty_df['Close'], banknifty_df['Close']",
        "move = close.pct_change().fillna(0.0)",
        *lines,
        f"path = np.concatenate([np.zeros({lag}), np.asarray(signal, float)[: len(close) - {lag}]])",
        "path = np.nan_to_num(path)",
        "bars = np.flatnonzero(np.diff(path, prepend=0.0))",
        "held = path[bars]",
        "return pd.DataFrame({'bar': bars, 'nifty_position': held, 'banknifty_position': -0.4 * held})",
    )


def verdict(parent: WarmParent, bars: Bars, source: bytes) -> str:
    preload(parent, source, SPEC)
    whole = run(parent, source, SPEC.shown(bars), SPEC)
    assert whole.trades is not None, (whole.fault, whole.problem)
    assert len(whole.trades.bars) or b"flat" in source
    return look_ahead(parent, source, SPEC, bars, whole.trades, KEY)


LEAKS: dict[str, tuple[str, ...]] = {
    "a computed shift": ("signal = np.sign(close.shift(int('1') - 2) - close)",),
    "a row taken from the list behind": (
        "later = np.append(close.to_numpy()[5:], [0.0] * 5)",
        "signal = np.sign(later - close)",
    ),
    "z-score of the whole sample": ("signal = ((close - close.mean()) / close.std()).clip(-1, 1)",),
    "size by the whole sample's deviation": ("signal = (close - close.rolling(60).mean()) / close.std()",),
    "rank in the whole sample": ("signal = np.sign(close.rank(pct=True) - 0.5)",),
    "quartile of the whole sample": ("signal = pd.qcut(close, 4, labels=False) - 1.5",),
    "near the whole sample's maximum": ("signal = np.where(close > 0.99 * close.max(), 1, -1)",),
    "quantile threshold of the whole sample": (
        "signal = np.where(move.abs() > move.abs().quantile(0.9), np.sign(move), 0.0)",
    ),
    "the best of many windows": (
        "def earned(n):",
        "    return (np.sign(close - close.rolling(n).mean()).shift(1) * close.diff()).sum()",
        "best = max(range(5, 400, 7), key=earned)",
        "signal = np.sign(close - close.rolling(best).mean())",
    ),
    "the day's close under the day's first label": (
        "signal = np.sign(close.resample('1D').last().reindex(times, method='ffill') - close)",
    ),
    "an hour that is not closed": (
        "hours = close.resample('60min').last().ffill()",
        "signal = np.sign(hours.reindex(times, method='ffill') - close)",
    ),
    "a line fitted to all rows": (
        "slope, start = np.polyfit(np.arange(len(close)), close, 1)",
        "signal = np.sign(close - start - slope * np.arange(len(close)))",
    ),
    "the last row of the frame": ("signal = np.sign(close.iloc[-1] - close)",),
    "the day's mean": ("signal = np.sign(close.groupby(times.normalize()).transform('mean') - close)",),
    "seasons from all years": ("signal = np.sign(move.groupby(times.minute).transform('mean'))",),
    "dropna and values": (
        "mean = close.rolling(60).mean().dropna().to_numpy()",
        "signal = np.append(np.sign(mean - close.to_numpy()[: len(mean)]), np.zeros(59))",
    ),
    "filtered both ways": ("b, a = filters.butter(2, 0.05)", "signal = np.sign(filters.filtfilt(b, a, close) - close)"),
    "savgol, then the sign": ("signal = np.sign(np.diff(filters.savgol_filter(close, 61, 2), append=0.0))",),
    "a centred kernel": ("signal = np.sign(np.convolve(close, np.ones(21) / 21, 'same') - close)",),
    "gradient": ("signal = np.sign(np.gradient(close.to_numpy()))",),
    "Fourier low pass": (
        "waves = np.fft.rfft(close.to_numpy())",
        "waves[40:] = 0.0",
        "signal = np.sign(np.fft.irfft(waves, len(close)) - close)",
    ),
    "rolled back": ("signal = np.sign(np.roll(close, -1) - close)",),
    "rolled on, its end at the start": ("signal = np.roll(move, 1) * 1e4",),
    "sums from the end": ("signal = np.sign(np.cumsum(move.to_numpy()[::-1])[::-1])",),
    "a mean from the end": ("signal = np.sign(close - close[::-1].expanding().mean()[::-1])",),
    "long until the top": ("signal = np.where(np.arange(len(close)) < int(close.to_numpy().argmax()), 1, -1)",),
    "the length of the data": (f"signal = np.full(len(close), 1.0 if len(close) > {BARS - 200} else -1.0)",),
    "behaves where the data stop short": (
        f"step = -1 if len(close) == {BARS} else 1",
        "signal = np.sign(close.shift(step) - close)",
    ),
    "the last date of the index": ("signal = np.sign(move.rolling(60).sum()) * (1 + times[-1].day % 7)",),
    "gaps filled from behind": ("signal = np.sign(close.where(times.minute % 30 == 0).bfill() - close)",),
    "a line drawn over gaps": ("signal = np.sign(close - close.where(times.minute % 30 == 0).interpolate())",),
    "a window of later rows": (
        "ahead = pd.api.indexers.FixedForwardWindowIndexer(window_size=20)",
        "signal = np.sign(close.rolling(ahead, min_periods=1).mean() - close)",
    ),
    "a centred window": ("signal = np.sign(close.rolling(31, center=True).mean() - close)",),
    "joined to the next hour": (
        "left = pd.DataFrame({'at': times, 'now': close.to_numpy()})",
        "right = left[left['at'].dt.minute == 0].rename(columns={'now': 'next'})",
        "both = pd.merge_asof(left, right, on='at', direction='forward')",
        "signal = np.sign(both['next'] - both['now'])",
    ),
    "joined on the day": (
        "days = pd.DataFrame({'day': times.normalize(), 'close': close.to_numpy()})",
        "last = days.groupby('day', as_index=False)['close'].last()",
        "signal = np.sign(days.merge(last, on='day')['close_y'] - close.to_numpy())",
    ),
    "principal direction of all rows": (
        "both = np.column_stack([move, bank.pct_change().fillna(0.0)])",
        "signal = both @ np.linalg.svd(both, full_matrices=False)[2][1] * 1e4",
    ),
    "a stop that knows the day's low": (
        "low = nifty_df['Low'].groupby(times.normalize()).transform('min')",
        "signal = np.where(low > close * 0.998, 1, 0)",
    ),
}

SAME_BAR: dict[str, tuple[str, ...]] = {
    "a fast cross": ("signal = np.sign(close.rolling(20).mean() - close.rolling(50).mean())",),
    "a slow cross": ("signal = np.sign(close.rolling(200).mean() - close.rolling(700).mean())",),
    "relative strength": ("signal = np.sign(np.log(close / bank).diff(375).ewm(span=400).mean())",),
    "the sign of the move": ("signal = np.sign(move)",),
    "z-score of the spread": (
        "spread = close - 0.35 * bank",
        "signal = -((spread - spread.rolling(60).mean()) / spread.rolling(60).std()).clip(-2, 2).round()",
    ),
    "the level of both": ("signal = np.sign((close + 0.4 * bank).diff(900))",),
    "a breakout of the opening range": (
        "high = close.where(close.groupby(times.normalize()).cumcount() < 30).groupby(times.normalize()).cummax()",
        "signal = (close > high.groupby(times.normalize()).ffill()) * 1.0",
    ),
}

HONEST: dict[str, tuple[str, ...]] = {
    "flat": ("signal = np.zeros(len(close))  # flat",),
    "buy and hold": ("signal = np.ones(len(close))",),
    "exponential cross": ("signal = np.sign(close.ewm(span=30).mean() - close.ewm(span=120).mean())",),
    "expanding z-score": ("signal = ((close - close.expanding(60).mean()) / close.expanding(60).std()).clip(-1, 1)",),
    "rolling rank": ("signal = close.rolling(375).rank(pct=True) - 0.5",),
    "expanding quantile": ("signal = np.where(move.abs() > move.abs().expanding(60).quantile(0.9), np.sign(move), 0)",),
    "volatility target": ("signal = (0.0002 / move.rolling(120).std()).clip(0, 3).round(1)",),
    "hours and weekdays": ("signal = np.where((times.hour == 10) & (times.weekday < 3), 1, 0)",),
    "square off each afternoon": (
        "minute = times.hour * 60 + times.minute",
        "signal = np.where(minute < 915, np.sign(move.rolling(60).sum()), 0)",
    ),
    "square off when the data end": (
        "signal = np.sign(move.rolling(60).sum()).to_numpy().copy()",
        "signal[-2:] = 0.0",
    ),
    "yesterday's close": (
        "days = close.resample('1D').last().dropna().shift(1)",
        "signal = np.sign(close - days.reindex(times, method='ffill'))",
    ),
    "the last hour that is closed": (
        "hours = close.resample('60min', label='right', closed='right').last().ffill()",
        "signal = np.sign(close - hours.reindex(times, method='ffill'))",
    ),
    "seasons so far": ("signal = np.sign(move.groupby(times.hour).transform(lambda x: x.expanding().mean()))",),
    "fixed seed": ("signal = np.random.default_rng(3).integers(-1, 2, len(close)).astype(float)",),
    "ridge on what is past": (
        "signal = np.zeros(len(close))",
        "x = np.column_stack([move, move.rolling(5).mean().fillna(0), move.rolling(20).mean().fillna(0)])",
        "y = move.shift(-1).fillna(0.0).to_numpy()",
        "for at in range(1000, len(close), 500):",
        "    a, b = x[: at - 1], y[: at - 1]",
        "    weights = np.linalg.solve(a.T @ a + np.eye(3) * 1e-6, a.T @ b)",
        "    signal[at : at + 500] = np.sign(x[at : at + 500] @ weights)",
    ),
    "a product over all rows at once": (
        "x = np.column_stack([move, bank.pct_change().fillna(0.0), move.rolling(9).mean().fillna(0.0)])",
        "signal = x @ np.array([0.3, -0.2, 0.9]) * 1e4",
    ),
    "a causal convolution by Fourier": ("signal = filters.fftconvolve(move, np.ones(60))[: len(close)] * 100",),
    "one-sided filter": ("signal = np.sign(filters.lfilter([0.1], [1, -0.9], move))",),
    "joined to the hour before": (
        "left = pd.DataFrame({'at': times, 'now': close.to_numpy()})",
        "right = left[left['at'].dt.minute == 0].rename(columns={'now': 'before'})",
        "both = pd.merge_asof(left, right, on='at')",
        "signal = np.sign(both['now'] - both['before'])",
    ),
    "opening range": (
        "day = times.normalize()",
        "first = close.where(close.groupby(day).cumcount() < 30)",
        "high = first.groupby(day).cummax().groupby(day).ffill()",
        "signal = (close > high) * 1.0",
    ),
    "state machine with cooldown": (
        "z = ((close - close.rolling(60).mean()) / close.rolling(60).std()).to_numpy()",
        "signal, side, wait = np.zeros(len(close)), 0, 0",
        "for i in range(59, len(close)):",
        "    if side and abs(z[i]) < 0.5: side, wait = 0, 30",
        "    elif not side:",
        "        wait -= wait > 0",
        "        if not wait: side = -1 if z[i] > 2 else 1 if z[i] < -2 else 0",
        "    signal[i] = side",
    ),
}


@pytest.mark.parametrize("name", LEAKS)
def test_a_leak_is_found_in_the_run(parent, bars, name) -> None:
    assert verdict(parent, bars, signalled(*LEAKS[name]))


@pytest.mark.parametrize("name", SAME_BAR)
def test_a_position_on_the_bar_it_was_decided_on_is_found(parent, bars, name) -> None:
    assert "were replaced the position at bar" in verdict(parent, bars, signalled(*SAME_BAR[name], lag=0))


@pytest.mark.parametrize("name", ["a fast cross", "relative strength", "the level of both"])
def test_the_same_position_one_bar_later_is_honest(parent, bars, name) -> None:
    assert "" == verdict(parent, bars, signalled(*SAME_BAR[name], lag=1))


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_solution_passes(parent, bars, name) -> None:
    assert "" == verdict(parent, bars, signalled(*HONEST[name]))


@pytest.mark.parametrize("name", ["medium", "hard"])
def test_the_references_pass(parent, bars, name) -> None:
    assert "" == verdict(parent, bars, reference_source(name))


def test_a_solution_that_fails_on_changed_data_is_told_why_by_its_own_name(parent, bars) -> None:
    source = signalled(f"assert len(close) == {BARS}, 'short'", "signal = np.ones(len(close))")
    found = verdict(parent, bars, source)
    assert "when bars from 5,625 on were removed it gave no trades (solution line " in found
    assert "AssertionError: short" in found
    whole = run(parent, source, SPEC.shown(bars), SPEC).trades
    assert "short" not in look_ahead(parent, source, SPEC, bars, whole, KEY, reveal=False)


def test_what_is_said_names_the_bar_its_time_and_both_positions(parent, bars) -> None:
    found = verdict(parent, bars, signalled(f"signal = np.full(len(close), 1.0 if len(close) == {BARS} else 2.0)"))
    assert "when bars from 5,625 on were removed the position at bar 1 (" in found
    assert found.endswith(") became 2 instead of 1")


NONE = Trades(np.empty(0, np.int64), np.empty((0, 2)))


def test_sessions_are_removed_the_future_replaced_in_mid_session_and_at_trades(bars) -> None:
    trades = Trades(np.arange(700, 5_700, 250), np.ones((20, 2)))
    asked = probes(bars, trades, KEY)
    assert [BARS - gone for gone in REMOVED] == [one.cut for one in asked if not one.replaced]
    quiet = [one.cut for one in asked if one.replaced and not one.block]
    minutes = bars.times[quiet] // 60_000 % 1_440
    assert ([9 * 60 + 15 + 187] * 4, 4) == (minutes.tolist(), len(set(quiet)))
    up, down = JUMP, -JUMP
    jumps = {(one.cut, one.jump) for one in asked if one.block}
    assert {(1_200, (up, down)), (1_200, (down, up)), (2_450, (up, up)), (2_450, (down, down))} == jumps


def test_without_trades_there_is_no_bar_of_a_trade_to_look_at(bars) -> None:
    assert 7 == len(probes(bars, NONE, KEY))


@pytest.mark.parametrize("count", [0, 1, 749, 750, 751, 1_000, 1_126])
def test_two_sessions_stay_before_every_cut(bars, count) -> None:
    short = Bars(bars.times[:count], bars.prices[:, :count])
    every = Trades(np.arange(count), np.ones((count, 2)))
    assert all(750 <= one.cut < count for one in probes(short, every, KEY))


@pytest.mark.parametrize("cut", [750, 3_210, BARS - 1])
def test_removed_bars_are_gone_and_the_others_are_the_same(bars, cut) -> None:
    short = changed(bars, Probe(cut, replaced=False))
    assert cut == len(short)
    assert np.array_equal(bars.prices[:, :cut], short.prices)
    assert np.array_equal(bars.times[:cut], short.times)


def off_grid(prices: np.ndarray) -> float:
    """Largest distance from a grid of 0.05 points, in its steps."""
    return float(np.abs(prices * 20 - np.round(prices * 20)).max())


@pytest.mark.parametrize(("jump", "block"), [((0.0, 0.0), 0), ((JUMP, -JUMP), 10), ((-JUMP, -JUMP), 200)])
@pytest.mark.parametrize("cut", [750, 3_210, BARS - 1])
def test_replaced_bars_are_other_prices_that_could_be_prices(bars, cut, jump, block) -> None:
    other = changed(bars, Probe(cut, replaced=True, jump=jump, block=block))
    assert np.array_equal(bars.prices[:, :cut], other.prices[:, :cut])
    assert np.array_equal(bars.times, other.times)
    for name in NAMES:
        place = 4 * NAMES.index(name)
        opened, high, low, close = other.prices[place : place + 4, cut:]
        assert (low <= np.minimum(opened, close)).all()
        assert (high >= np.maximum(opened, close)).all()
        assert low.min() > 0
    assert 1e-6 > off_grid(other.prices)


def test_another_order_has_the_same_moves_in_other_places_together_in_both_indices(bars) -> None:
    cut = 3_210
    loose = Bars(bars.times, bars.prices * 1.0001)  # off the grid: nothing is rounded
    other = changed(loose, Probe(cut, replaced=True, block=30))
    moves, turned = (
        np.array([np.diff(np.log(x.close(name)[cut - 1 :])) for name in NAMES]) for x in (loose, other)
    )  # fmt: skip
    assert np.allclose(np.sort(moves), np.sort(-turned), atol=1e-12)
    assert 0.5 < np.mean(np.abs(moves[0] + turned[0]) > 1e-9)
    assert pytest.approx(np.corrcoef(moves)[0, 1]) == np.corrcoef(turned)[0, 1]
    assert np.array_equal(other.prices, changed(loose, Probe(cut, replaced=True, block=30)).prices)


def test_the_replaced_future_moves_the_other_way(bars) -> None:
    cut = 3_210
    other = changed(bars, Probe(cut, replaced=True))
    for name in NAMES:
        moves, turned = (np.diff(np.log(x.close(name)[cut - 1 :])) for x in (bars, other))
        assert -0.99 > np.corrcoef(moves, turned)[0, 1]
        assert 0.9 < np.mean(bars.close(name)[cut:] != other.close(name)[cut:])
        assert pytest.approx(moves.std(), rel=0.05) == turned.std()


def test_a_jump_lifts_one_index_and_lowers_the_other_from_the_cut_on(bars) -> None:
    cut = 3_210
    plain, other = (changed(bars, Probe(cut, replaced=True, jump=jump)) for jump in ((0.0, 0.0), (JUMP, -JUMP)))
    for name, share in zip(NAMES, (1 + JUMP, 1 - JUMP), strict=True):
        assert np.allclose(share, other.close(name)[cut:] / plain.close(name)[cut:], atol=1e-4)


def test_prices_off_the_grid_have_a_future_off_the_grid(bars) -> None:
    loose = Bars(bars.times, bars.prices * 1.0001)
    later = changed(loose, Probe(3_000, replaced=True)).prices[:, 3_000:]
    assert 1e-3 < off_grid(later)


def rows(*pairs: tuple[int, float]) -> Trades:
    table = np.array([(bar, position, -position) for bar, position in pairs])
    return Trades(table[:, 0].astype(np.int64), table[:, 1:])


def told(probe: Probe, whole: Trades, again: Trades) -> str:
    return difference(probe, whole, Ran(trades=again), 1_000, np.arange(1_000) * 60_000)


REMOVED_AT_900 = Probe(900, replaced=False)
REPLACED_AT_900 = Probe(900, replaced=True)


def test_positions_behind_the_cut_may_differ() -> None:
    whole = rows((10, 1.0), (901, -1.0))
    assert "" == told(REPLACED_AT_900, whole, rows((10, 1.0), (950, 2.0)))
    assert "" == told(REMOVED_AT_900, rows((10, 1.0), (900, -1.0)), rows((10, 1.0)))


def test_the_position_at_the_cut_itself_was_decided_before_it() -> None:
    whole = rows((10, 1.0), (900, -1.0))
    assert "bar 900 " in told(REPLACED_AT_900, whole, rows((10, 1.0)))
    assert "" == told(REPLACED_AT_900, whole, rows((10, 1.0), (900, -1.0), (901, 1.0)))


def test_to_be_flat_on_the_last_bar_there_is_is_allowed() -> None:
    whole = rows((10, 1.0))
    assert "" == told(REMOVED_AT_900, whole, rows((10, 1.0), (899, 0.0)))


@pytest.mark.parametrize(
    "again", [rows((10, 1.0), (899, 0.5)), rows((10, 1.0), (899, -1.0)), rows((10, 1.0), (898, 0.0))]
)
def test_nothing_else_on_the_last_bars_is_allowed(again) -> None:
    assert told(REMOVED_AT_900, rows((10, 1.0)), again)


def test_being_flat_is_no_excuse_where_the_data_do_not_end() -> None:
    assert told(REPLACED_AT_900, rows((10, 1.0)), rows((10, 1.0), (900, 0.0)))


def test_the_second_leg_is_looked_at_too() -> None:
    whole = Trades(np.array([10]), np.array([[1.0, -1.0]]))
    assert "bar 10 " in told(REMOVED_AT_900, whole, Trades(np.array([10]), np.array([[1.0, -0.5]])))


def test_the_last_bits_of_a_sum_are_no_look_ahead_and_a_millionth_is() -> None:
    assert "" == told(REMOVED_AT_900, rows((10, 3.0)), rows((10, 3.0 + 1e-12)))
    assert told(REMOVED_AT_900, rows((10, 3.0)), rows((10, 3.0 + 1e-6)))


def test_no_trades_on_changed_data_are_told_with_their_reason() -> None:
    fault = CrashError("strategy.py line 3: ValueError", "", kind="ValueError", line=3)
    again = SimpleNamespace(trades=None, fault=fault, problem="")
    found = difference(REMOVED_AT_900, rows((10, 1.0)), again, 1_000, np.arange(1_000))
    assert "when bars from 900 on were removed it gave no trades (solution line 3: ValueError)" == found


KNOWN_CUTS = (
    "cuts = [{T} - 375, {T} - 750, {T} - 1500]",
    "cuts += [int(share * {T}) // 375 * 375 + 187 for share in (0.31, 0.62, 0.88, 0.97)]",
    "cuts += [int(rows[int(share * len(rows))]) for share in (0.1, 0.35)]",
)
"""What anybody can work out of this module, in a solution that knows how many bars it will be shown."""


def evading(whole: int) -> bytes:
    """It knows the next bar's move, but around the cuts that everybody knows it knows nothing."""
    return pair(
        "close, bank = nifty_df['Close'].to_numpy(), banknifty_df['Close'].to_numpy()",
        "move = np.diff(np.log(close / bank), append=0.0)",
        f"bars = np.arange(760, {whole} - 2, 4)",
        "rows = np.sort(np.concatenate([bars, bars + 1]))",
        *(line.format(T=whole) for line in KNOWN_CUTS),
        "quiet = (np.abs(bars[:, None] - np.array(cuts)) < 8).any(axis=1)",
        "bars, quiet = bars[bars + 1 < len(close)], quiet[bars + 1 < len(close)]",
        "known = move[bars - 1]",
        "side = np.where(quiet | (np.abs(known) < 2e-4), 1e-7, 1.0) * np.sign(known)",
        "side[quiet] = 1e-7",
        "rows = [row for b, s in zip(bars, side) for row in ((b, s, -0.4 * s), (b + 1, 0.0, 0.0))]",
        "return pd.DataFrame(rows, columns=['bar', 'nifty_position', 'banknifty_position'])",
    )


def test_a_leak_that_behaves_around_every_cut_that_is_known_is_found_at_one_that_is_drawn(parent, bars) -> None:
    found = verdict(parent, bars, evading(BARS))
    known = {one.cut for one in probes(bars, NONE, KEY)}
    cut = int(found.split("when bars from ")[1].split(" on")[0].replace(",", ""))
    assert "on were replaced the position at bar" in found
    assert cut not in known


def test_changes_that_earned_by_luck_hide_no_others_from_the_draw(bars) -> None:
    """One change in forty knows its bar, at a hundred times the size of the others: nine draws in ten hold one."""
    rng = np.random.default_rng(3)
    at = np.arange(800, BARS - 2, 2)
    move = np.diff(np.log(bars.close("nifty") / bars.close("banknifty")), prepend=0.0)
    knows = np.arange(len(at)) % 40 == 0
    side = np.where(knows, np.sign(move[at]), 0.01 * rng.choice([-1.0, 1.0], len(at)))
    pulses = np.column_stack([at, at + 1]).ravel()
    held = np.column_stack([side, np.zeros(len(at))]).ravel()
    trades = Trades(pulses, np.column_stack([held, -0.4 * held]))
    leaks = set(at[knows].tolist())
    asked = [probes(bars, trades, bytes([key])) for key in range(100)]
    drawn = [[one.cut for one in each[-2 * DRAWN :]] for each in asked]
    assert 85 <= sum(bool(leaks & set(cuts)) for cuts in drawn)
    assert len({tuple(cuts) for cuts in drawn}) > 90


def test_what_earned_next_to_nothing_beside_a_fortune_is_drawn_without_an_error(bars) -> None:
    rise = int(np.flatnonzero(np.diff(bars.close("nifty")) > 0)[1_000]) + 1
    whole = Trades(np.arange(rise, rise + 4), np.array([[10_000.0, 0.0], [0.0, 0.0], [5e-324, 0.0], [1e-323, 0.0]]))
    assert rise in {one.cut for one in probes(bars, whole, KEY)}


def test_the_same_key_draws_the_same_cuts_and_what_earned_nothing_is_not_drawn(bars) -> None:
    falls = np.flatnonzero(np.diff(bars.close("nifty")) < 0) + 1
    falls = falls[(falls > 800) & (np.diff(falls, append=BARS) > 1)]
    long = Trades(
        np.column_stack([falls, falls + 1]).ravel(),
        np.column_stack([np.tile([1.0, 0.0], len(falls)), np.zeros(2 * len(falls))]),
    )
    first, again = probes(bars, long, KEY), probes(bars, long, KEY)
    assert first == again
    on_first_bar = first[11 : 11 + DRAWN]
    assert not {one.cut for one in on_first_bar} & set(falls.tolist())
