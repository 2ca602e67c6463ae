"""Each rung of each ladder: a solution that ends there, and the words that say why it gets no further."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from task_cases import changed, failing, ground_of, pair, scored, single

from autoquant.errors import InfrastructureFault
from autoquant.market.indices import Bars
from autoquant.protocol import Limits
from autoquant.sandbox import WarmParent
from autoquant.tasks.grader import Ground, grade
from autoquant.tasks.replay import Replay
from autoquant.tasks.spec import task
from autoquant.tasks.truth import Truth, reference_source

T = 9_000
ONE = "pd.DataFrame({{'bar': {bar}, 'position': {position}}})"
TWO = "pd.DataFrame({{'bar': {bar}, 'nifty_position': {nifty}, 'banknifty_position': {bank}}})"


def one(bar: str = "[5, 9]", position: str = "[1, -1]") -> bytes:
    return single(f"return {ONE.format(bar=bar, position=position)}")


def two(bar: str = "[5, 9]", nifty: str = "[-1, 1]", bank: str = "[0.4, -0.4]", first: str = "pass") -> bytes:
    return pair(first, f"return {TWO.format(bar=bar, nifty=nifty, bank=bank)}")


NO_PYTHON = {
    "syntax error": (b"def generate_trades(df)\n    return df\n", "solution line 1: expected ':'"),
    "null byte": (b"def generate_trades(df):\n    return '\x00'\n", "null byte"),
    "not UTF-8": (b"# \xff\xfe\ndef generate_trades(df):\n    return df\n", "solution line 1: not UTF-8"),
    "huge": (b"def generate_trades(df):\n    return df\n" + b"#" * 300_000, "300039 bytes, at most 262144"),
    "too many lines": (b"def generate_trades(df):\n    return df\n" + b"#\n" * 700, "702 lines, at most 600"),
    "nested too deeply": (b"x = " + b"(" * 5_000 + b")" * 5_000, "nested"),
}
"""What is no Python, or too much of it; and what is said of it."""

UNDEFINED = {
    "empty": (b"", "defines no generate_trades({})"),
    "another name": (b"def trades({}):\n    return None\n", "defines no generate_trades({})"),
    "inside a class": (b"class A:\n    def generate_trades({}):\n        pass\n", "defines no generate_trades({})"),
    "a value": (b"generate_trades = 3\n", "defines no generate_trades({})"),
    "asynchronous": (b"async def generate_trades({}):\n    pass\n", "defines no generate_trades({})"),
    "a forbidden import alone": (b"import os\n", "defines no generate_trades({})"),
    "no argument": (b"def generate_trades():\n    pass\n", "takes other arguments than generate_trades({})"),
    "one too many": (b"def generate_trades({}, more):\n    pass\n", "takes other arguments than"),
    "keywords": (b"def generate_trades({}, *, more):\n    pass\n", "takes other arguments than"),
}

DEFINED = ["({})", "({}, more=1)", "(*frames)", "({}, **options)", "({}, /)", "({}, *, more=1)"]

CRASHES = {
    "it raises": ("raise ValueError('my own words')", "solution line 6: ValueError: my own words"),
    "a name that is not there": ("return clos", "solution line 6: NameError"),
    "a column that is not there": ("return nifty_df['Last'] if 'nifty_df' in locals() else df['Last']", "KeyError"),
    "it leaves": ("raise SystemExit(0)", "SystemExit"),
    "endless recursion": ("return (lambda f: f(f))(lambda f: f(f))", "RecursionError"),
    "a forbidden import": ("import os", "solution line 6: imports os, which is not allowed"),
    "the network": ("import urllib.request", "imports urllib"),
    "a file": ("return pd.read_csv('/etc/hostname')", "solution line 6: PermissionError"),
    "another program's text": ("return eval('1')", "solution line 6: calls eval()"),
    "too much memory": ("return np.ones(1 << 33)", "solution used more than 2048 MiB in one call"),
}

NO_FRAME = {
    "nothing": ("return None", "generate_trades returned a NoneType"),
    "a list": ("return [(1, 1)]", "generate_trades returned a list"),
    "a series": ("return pd.Series([1, 2])", "generate_trades returned a Series"),
    "an array": ("return np.ones((3, 3))", "generate_trades returned a ndarray"),
}

NO_REPLAY_EASY = {
    "NaN": (one(position="[1, np.nan]"), "a position is missing or infinite (row 2, bar 9)"),
    "infinite": (one(position="[1, -np.inf]"), "a position is missing or infinite (row 2, bar 9)"),
    "beyond 10,000 units": (one(position="[1, 10_001]"), "a position of 10,001 units is beyond 10,000"),
    "texts": (one(position="['long', 'short']"), "a column holds something that is not a number"),
    "None": (one(position="np.array([1, None])"), "not a number"),
    "complex": (one(position="[1j, 2j]"), "a column holds something that is not a number"),
    "times for bars": (one(bar="df.index[[5, 9]]"), "a column holds something that is not a number"),
    "bars that are true or false": (one(bar="[False, True]"), "bar holds true and false"),
    "half bars": (one(bar="[5, 9.5]"), "bar holds something that is not a whole number"),
    "missing bars": (one(bar="[5, np.nan]"), "bar holds something that is not a whole number"),
    "unsorted": (one(bar="[9, 5]"), "bar 5 comes after a later one"),
    "twice the same bar": (one(bar="[5, 5]"), "bar 5 appears twice"),
    "a bar too far": (one(bar=f"[5, {T}]"), f"bar {T} does not exist: bars run from 0 to {T - 1}"),
    "a bar before the first": (one(bar="[-1, 5]"), "bar -1 does not exist"),
    "random": (one(position="np.random.default_rng().normal(size=2)"), "two runs on the same data gave different"),
    "random now and then": (
        single("k = np.random.randint(5, 8_000)", f"return {ONE.format(bar='[k]', position='[1]')}"),
        "two runs on the same data gave different trades",
    ),
    "one row too many": (one(bar="range(len(df) + 1)", position="1"), f"bar {T} does not exist"),
    "a bar of 300 digits": (one(bar="[5, 1e300]"), "bar 1e+300 does not exist"),
    "a claim of 4,000 digits": (
        single(
            "import warnings",
            "sys, frame = warnings.sys, warnings.sys._getframe()",
            "while 'output' not in frame.f_locals: frame = frame.f_back",
            "output, wire = frame.f_locals['output'], sys.modules['autoquant.sandbox.wire']",
            'note = b\'{"columns":["bar","position"],"count":2,"kinds":[],"rows":\' + b\'9\' * 4000 + b\'}\'',
            "output[wire.VALUES_AT : wire.VALUES_AT + len(note)] = note",
            "output[: wire.VALUES_AT] = wire.pack_verdict(wire.ANSWERED)",
            "sys.modules['os']._exit(0)",
        ),
        "1,000,000,000,000 rows of trades for 9,000 bars",
    ),
    "far too many rows": (one(bar="range(len(df) * 2)", position="1"), "18,000 rows of trades for 9,000 bars"),
    "flat": (one(position="[0, 0]"), "every position is 0"),
    "no rows": (one(bar="[]", position="[]"), "every position is 0"),
    "no rows of no type": (single("return pd.DataFrame([], columns=['bar', 'position'])"), "every position is 0"),
}
"""The right columns, and nothing to replay."""

WRONG_COLUMNS = {
    "other names": ("{'Bar': [1], 'Position': [1]}", "the columns are Bar, Position; wanted: bar"),
    "one missing": ("{'bar': [1]}", "the columns are bar; wanted: bar"),
    "one more": (
        "{**dict.fromkeys(['bar', 'position', 'nifty_position', 'banknifty_position'], [1]), 'why': 1}",
        "why; ",
    ),
    "none": ("", "the columns are none; wanted: bar"),
    "bars in the index": ("{'position': [1]}, index=pd.Index([1], name='bar')", "the columns are position;"),
    "twice": ("[[1, 1]], columns=['bar', 'bar']", "the columns are bar, bar; wanted: bar"),
}


def assert_lands(parent: WarmParent, ground: Ground, source: bytes, score: float, words: str) -> None:
    found = scored(parent, ground, source)
    assert score == found.score
    assert words in failing(found)
    assert words in found.first_to_mend
    assert all(rung.passed for rung in found.rungs if rung.score <= score)
    following = next((rung for rung in found.rungs if rung.score > score), None)
    assert following is not None
    assert following.passed is False


@pytest.fixture(scope="module")
def hard(parent: WarmParent, small: tuple[Bars, Bars]) -> Ground:
    return ground_of(parent, "hard", *small)


@pytest.fixture(scope="module")
def grounds(easy: Ground, medium: Ground, hard: Ground) -> dict[str, Ground]:
    return {"easy": easy, "medium": medium, "hard": hard}


@pytest.fixture(scope="module")
def hurried() -> Iterator[WarmParent]:
    """A parent whose calls get one second."""
    with WarmParent(Limits(cpu_seconds=1.0, wall_backstop_seconds=30.0)) as parent:
        yield parent


TASKS = ["easy", "medium", "hard"]


def body(name: str, line: str) -> bytes:
    return single(line) if name == "easy" else pair(line)


@pytest.mark.parametrize("name", TASKS)
@pytest.mark.parametrize("case", NO_PYTHON)
def test_what_is_no_python_is_on_no_rung(parent, grounds, name, case) -> None:
    source, words = NO_PYTHON[case]
    found = scored(parent, grounds[name], source)
    assert 0.0 == found.score
    assert words in found.first_to_mend


@pytest.mark.parametrize("name", TASKS)
@pytest.mark.parametrize("case", UNDEFINED)
def test_python_without_the_function_ends_at_005_and_in_the_hard_task_at_0(parent, grounds, name, case) -> None:
    source, words = UNDEFINED[case]
    arguments = ", ".join(task(name).arguments)
    found = scored(parent, grounds[name], source.replace(b"{}", arguments.encode()))
    assert (0.0 if name == "hard" else 0.05) == found.score
    if not (name == "hard" and "import" in case):
        assert words.format(arguments) in found.first_to_mend


@pytest.mark.parametrize("name", TASKS)
@pytest.mark.parametrize("arguments", DEFINED)
def test_a_function_that_can_be_called_with_the_frames_is_defined(parent, grounds, name, arguments) -> None:
    wanted = arguments.format(", ".join(task(name).arguments))
    found = scored(parent, grounds[name], f"def generate_trades{wanted}:\n    raise KeyError\n".encode())
    assert (0.0 if name == "hard" else 0.10) == found.score
    assert "solution line 2: KeyError" in failing(found)


@pytest.mark.parametrize("name", TASKS)
@pytest.mark.parametrize("case", CRASHES)
def test_a_solution_that_does_not_run_ends_at_010_and_in_the_hard_task_at_0(parent, grounds, name, case) -> None:
    line, words = CRASHES[case]
    assert_lands(parent, grounds[name], body(name, line), 0.0 if name == "hard" else 0.10, words)


@pytest.mark.parametrize("name", ["easy", "hard"])
def test_a_solution_that_takes_too_long_does_not_run(hurried, grounds, name) -> None:
    score = 0.0 if name == "hard" else 0.10
    assert_lands(hurried, grounds[name], body(name, "while True: pass"), score, "used more than 1 s of CPU in one call")


def test_a_bystander_loop_within_the_limit_is_not_too_slow(hurried, grounds) -> None:
    slow = changed("easy", ("    close = ", "    for row in range(200_000): row * row\n    close = "))
    assert 1.0 == scored(hurried, grounds["easy"], slow).score


@pytest.mark.parametrize(("name", "score"), [("easy", 0.20), ("medium", 0.10), ("hard", 0.10)])
@pytest.mark.parametrize("case", NO_FRAME)
def test_it_ran_but_gave_no_dataframe(parent, grounds, name, score, case) -> None:
    line, words = NO_FRAME[case]
    assert_lands(parent, grounds[name], body(name, line), score, words)


@pytest.mark.parametrize(("name", "score"), [("easy", 0.20), ("medium", 0.10), ("hard", 0.10)])
@pytest.mark.parametrize("case", WRONG_COLUMNS)
def test_it_ran_but_gave_other_columns(parent, grounds, name, score, case) -> None:
    frame, words = WRONG_COLUMNS[case]
    assert_lands(parent, grounds[name], body(name, f"return pd.DataFrame({frame})"), score, words)


@pytest.mark.parametrize("case", NO_REPLAY_EASY)
def test_easy_ends_at_030_with_rows_that_cannot_be_replayed_or_move_nothing(parent, easy, case) -> None:
    assert_lands(parent, easy, NO_REPLAY_EASY[case][0], 0.30, NO_REPLAY_EASY[case][1])


@pytest.mark.parametrize(("name", "score"), [("medium", 0.20), ("hard", 0.12)])
@pytest.mark.parametrize(
    ("source", "words"),
    [
        (two(bank="[-0.4, np.nan]"), "a position is missing or infinite (row 2, bar 9)"),
        (two(nifty="[np.inf, 1]"), "a position is missing or infinite (row 1, bar 5)"),
        (two(bank="[-0.4, -10_001]"), "is beyond 10,000"),
        (two(nifty="['1', '0']"), "a column holds something that is not a number"),
        (two(bar="[9, 5]"), "bar 5 comes after a later one"),
        (two(bar="[5, 5]"), "bar 5 appears twice"),
        (two(bar=f"[5, {T}]"), "does not exist"),
        (two(bar="[5, 9.5]"), "not a whole number"),
        (two(bank="-np.random.default_rng().random(2)"), "two runs on the same data gave different trades"),
    ],
)
def test_two_legs_that_cannot_be_replayed_end_at_020_and_012(parent, grounds, name, score, source, words) -> None:
    assert_lands(parent, grounds[name], source, score, words)


def test_positions_of_10000_units_can_be_replayed(parent, easy, hard) -> None:
    assert 0.45 == scored(parent, easy, one(position="[10_000, -10_000]")).score
    assert 0.25 <= scored(parent, hard, two(nifty="[10_000, 0]", bank="[-4_000, 0]")).score


def easy_with(*swaps: tuple[str, str]) -> bytes:
    return changed("easy", *swaps)


WINDOWS = "FAST, SLOW = 20, 50"


@pytest.mark.parametrize(
    ("score", "source", "words"),
    [
        (0.45, one(), "trades is 2, wanted 170 to 254"),
        (0.45, easy_with((WINDOWS, "FAST, SLOW = 10, 30")), "trades is 346, wanted 170 to 254"),
        (0.60, easy_with((WINDOWS, "FAST, SLOW = 20, 48")), "trades is 224, wanted 201 to 223"),
        (0.60, easy_with(("np.concatenate([[0.0], signal[:-1]])", "signal")), "sharpe is -3.0427, wanted -7.6982 to"),
        (0.60, easy_with(("position[bars].astype", "-position[bars].astype")), "sharpe is -2.7056, wanted -7.6982 to"),
        (0.75, easy_with((WINDOWS, "FAST, SLOW = 20, 52")), "sharpe is -6.0987, wanted -7.1982 to -6.1982"),
        (0.90, easy_with((WINDOWS, "FAST, SLOW = 20, 49")), "sharpe is -6.6033, wanted -6.7482 to -6.6482"),
        (0.90, easy_with((".astype(int)", " * 2.0")), "pnl is -886.43, wanted -452.08 to -434.35"),
        (0.90, easy_with(("signal[:SLOW]", "signal[:500]")), "max drawdown is 452.83, wanted 463.83 to 482.76"),
    ],
)
def test_easy_lands_where_its_figures_say(parent, easy, score, source, words) -> None:
    assert_lands(parent, easy, source, score, words)


def medium_with(*swaps: tuple[str, str]) -> bytes:
    return changed("medium", *swaps)


RULE = "RATIO, WINDOW, ENTER, LEAVE, COOLDOWN = 0.35, 60, 2.0, 0.5, 30"
UNHEDGED_ONCE = (
    "    rows = [row for row in rows if row[0] < len(spread)]",
    "    rows = [row for row in rows if row[0] < len(spread)]\n"
    "    lone = next(k for k in range(len(rows) - 1) if rows[k][1] == 0 and rows[k + 1][0] > rows[k][0] + 9)\n"
    "    at = rows[lone][0] + 4",
)


def odd_bar() -> bytes:
    """The reference, but for one bar on which NIFTY is held alone."""
    return medium_with(
        UNHEDGED_ONCE,
        ('    return pd.DataFrame({"bar": bars, "nifty_position": sides, "banknifty_position": -sides})',
         '    made = pd.DataFrame({"bar": bars, "nifty_position": sides, "banknifty_position": -sides})\n'
         '    more = pd.DataFrame({"bar": [at, at + 1], "nifty_position": [1, 0], "banknifty_position": [0, 0]})\n'
         '    return pd.concat([made, more]).sort_values("bar")'),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("score", "source", "words"),
    [
        (0.20, two(nifty="[1, 0]", bank="[0, 0]"), "banknifty_position never moves"),
        (0.20, two(nifty="[0, 0]", bank="[1, 0]"), "nifty_position never moves"),
        (0.20, two(nifty="[0, 0]", bank="[0, 0]"), "nifty_position and banknifty_position never moves"),
        (0.30, two(nifty="[1, 1]", bank="[0, -1]"), "no bar takes both legs from flat to a position"),
        (0.40, two(nifty="[1, 0]", bank="[-1, 0]"), "trades is 2, wanted 187 to 281"),
        (0.40, medium_with((RULE, RULE.replace("30", "0"))), "trades is 317, wanted 187 to 281"),
        (0.55, medium_with((RULE, RULE.replace("30", "20"))), "trades is 278, wanted 211 to 257"),
        (0.55, medium_with(("entry] + 1", "entry]"), ("place]] + 1", "place]]")), "sharpe is -14.1750, wanted -7.5734"),
        (0.70, medium_with((RULE, RULE.replace("2.0", "2.1"))), "pnl is -450.25, wanted -595.84 to -487.50"),
        (0.70, medium_with((RULE, RULE.replace("60", "59"))), "sharpe is -7.4148, wanted -7.0734 to -6.0734"),
        (0.85, medium_with((RULE, RULE.replace("30", "31"))), "sharpe is -6.3137, wanted -6.6234 to -6.5234"),
        (0.85, medium_with(("ddof=1", "ddof=0")), "pnl is -519.76, wanted -552.51 to -530.84"),
        (0.85, odd_bar(), "1 bars with a net share of gross above 0.80 + 0.05, at worst 1.000"),
    ],
)
def test_medium_lands_where_its_figures_say(parent, medium, score, source, words) -> None:
    assert_lands(parent, medium, source, score, words)


@pytest.mark.parametrize(
    ("score", "source", "words"),
    [
        (
            0.15,
            two(nifty="[1, 0]", bank="[0, 0]"),
            "4 bars with a net share of gross above 0.80 + 0.05, at worst 1.000",
        ),
        (0.15, two(nifty="[1, 1]", bank="[0.4, 0.4]"), "bars with a net share of gross above"),
        (0.20, two(first="later = nifty_df['Close'].shift(-1)"), "line 6: shift(-1) takes the value of a later row"),
        (0.20, two(first="early = nifty_df['Close'].bfill()"), "line 6: bfill() fills a gap from a later row"),
        (0.20, two(nifty="np.array([-1, 1]) * (1 + len(nifty_df) // 9_000)"), "were removed the position at bar 5"),
        (0.20, two(nifty="np.array([-1, 1]) * nifty_df['Close'].mean() / 8_000"), "the position at bar 5"),
        (0.25, two(), "the Sharpe ratio is "),
        (0.25, two(nifty="[0, 0]", bank="[0, 0]"), "the Sharpe ratio is 0.0000"),
        (0.25, two(bar="[]", nifty="[]", bank="[]"), "the Sharpe ratio is 0.0000"),
        (0.25, pair("return pd.DataFrame([], columns=['bar', 'nifty_position', 'banknifty_position'])"), "0.0000"),
    ],
)
def test_hard_ends_at_the_gate_it_does_not_pass(parent, hard, score, source, words) -> None:
    assert_lands(parent, hard, source, score, words)


@pytest.mark.parametrize("name", ["easy", "medium"])
def test_the_references_are_at_the_top_with_nothing_to_mend(parent, grounds, name) -> None:
    found = scored(parent, grounds[name], reference_source(name))
    assert (1.0, "") == (found.score, found.first_to_mend)
    assert all(rung.passed for rung in found.rungs)


def test_look_ahead_in_the_text_is_told_in_every_task_and_lowers_the_hard_one_alone(parent, easy) -> None:
    found = scored(parent, easy, easy_with(('close = df["Close_nifty"]', 'close = df["Close_nifty"].bfill()')))
    assert 1.0 == found.score
    assert [(11, "bfill()")] == [(one.line, one.what) for one in found.findings]


def test_the_grade_knows_nothing_of_rungs_above_a_crash(parent, easy) -> None:
    found = scored(parent, easy, single("raise ValueError"))
    assert [True, True, False, None, None, None, None, None, None] == [rung.passed for rung in found.rungs]
    assert found.replay is None


def test_what_an_exception_says_is_told_only_where_it_may_be(parent, easy) -> None:
    source = single("raise ValueError(float(df['Close_nifty'].iloc[-1]))")
    last = str(easy.shown.close("nifty")[-1])
    assert last in failing(grade(parent, source, easy))
    assert last not in str(grade(parent, source, easy, reveal=False))


def easy_by_table(one: Replay, truth: Truth) -> float:
    """The guide's table of the easy task, for a solution that trades."""
    trades, pnl, drawdown, sharpe = (truth.figures[name] for name in ("trades", "pnl", "max_drawdown", "sharpe"))
    off, apart = abs(one.trades - trades), abs(one.sharpe - sharpe)
    if off > round(0.20 * trades):
        return 0.45
    if off > round(0.05 * trades) or apart > 1.0:
        return 0.60
    if apart > 0.5:
        return 0.75
    within = abs(one.pnl - pnl) <= 0.02 * abs(pnl) and abs(one.max_drawdown - drawdown) <= 0.02 * drawdown
    return 1.0 if within and apart <= 0.05 else 0.90


def medium_by_table(one: Replay, truth: Truth) -> float:
    """The guide's table of the medium task, for a solution that enters."""
    figures = truth.figures
    far = {name: abs(getattr(one, name) - figures[name]) / abs(figures[name]) for name in figures if name != "sharpe"}
    apart = abs(one.sharpe - figures["sharpe"])
    if far["trades"] > 0.20:
        return 0.40
    if far["trades"] > 0.10 or apart > 1.0:
        return 0.55
    if max(far.values()) > 0.10 or apart > 0.5:
        return 0.70
    tight = far["trades"] <= 0.05 and far["entries"] <= 0.05 and far["pnl"] <= 0.02 and far["max_drawdown"] <= 0.02
    return 1.0 if tight and apart <= 0.05 and not one.violations else 0.85


@pytest.mark.parametrize("fast", [17, 19, 20, 22])
@pytest.mark.parametrize("slow", [46, 49, 50, 53])
def test_easy_with_other_windows_lands_where_the_table_says(parent, easy, fast, slow) -> None:
    found = scored(parent, easy, easy_with((WINDOWS, f"FAST, SLOW = {fast}, {slow}")))
    assert easy_by_table(found.replay, easy.truth) == found.score


@pytest.mark.parametrize("rule", ["0.35, 60, 2.0, 0.5, 29", "0.35, 60, 2.0, 0.45, 30", "0.35, 61, 2.0, 0.5, 30",
    "0.36, 60, 2.0, 0.5, 30", "0.35, 60, 1.9, 0.5, 30", "0.35, 60, 2.05, 0.5, 30", "0.35, 60, 2.0, 0.6, 30",
    "0.35, 60, 2.0, 0.5, 36", "0.4, 60, 2.0, 0.5, 30", "0.35, 120, 2.0, 0.5, 30"])  # fmt: skip
def test_medium_with_other_numbers_lands_where_the_table_says(parent, medium, rule) -> None:
    found = scored(parent, medium, medium_with((RULE, f"RATIO, WINDOW, ENTER, LEAVE, COOLDOWN = {rule}")))
    assert medium_by_table(found.replay, medium.truth) == found.score


def test_the_machines_own_failure_is_no_grade(easy) -> None:
    with WarmParent(Limits(memory_bytes=1 << 70)) as broken, pytest.raises(InfrastructureFault):
        scored(broken, easy, reference_source("easy"))


def test_figures_of_the_grade_are_those_of_the_trades(parent, easy) -> None:
    found = scored(parent, easy, one())
    close = easy.shown.close("nifty")
    pnl = np.zeros(T)
    pnl[5:9] = np.diff(close)[4:8]
    pnl[9:] = -np.diff(close)[8:]
    costs = 0.00009 * (close[5] + 2 * close[9])
    assert (2, T - 5) == (found.replay.trades, found.replay.bars_held)
    assert pytest.approx(pnl.sum() - costs) == found.replay.pnl
