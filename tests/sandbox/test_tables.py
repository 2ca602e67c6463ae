"""What a task's solution is shown, what it may return, and what a hostile answer comes to."""

import json
import os
from collections.abc import Iterator

import numpy as np
import pytest

from autoquant.errors import AgentFault, CrashError, LimitError, OutputError
from autoquant.protocol import Limits
from autoquant.sandbox import CPU_LIMIT, MEMORY_LIMIT, TableAnswer, TableFrames, WarmParent, wire
from autoquant.sandbox.tables import open_table, read_table

ROWS = 50
ONE = tuple(("df", name) for name in ("Open", "High", "Low", "Close"))
TWO = tuple((frame, name) for frame in ("left", "right") for name in ("Open", "Close"))
WANTED = ("bar", "position")
HEAD = "import numpy as np\nimport pandas as pd\n\n\n"


@pytest.fixture(scope="module")
def tables() -> TableFrames:
    times = 1_704_100_500_000 + 60_000 * np.arange(ROWS, dtype=np.int64)
    return TableFrames(times, ONE, np.arange(4 * ROWS, dtype=float).reshape(4, ROWS))


@pytest.fixture(scope="module")
def parent() -> Iterator[WarmParent]:
    with WarmParent(Limits(cpu_seconds=1.0, memory_bytes=256 * 1024**2, wall_backstop_seconds=20.0)) as parent:
        yield parent


def solution(*lines: str, arguments: str = "df") -> bytes:
    body = "\n".join(f"    {line}" for line in lines)
    return f"{HEAD}def generate_trades({arguments}):\n{body}\n".encode()


def ask(parent: WarmParent, tables: TableFrames, *lines: str, wanted: tuple[str, ...] = WANTED) -> TableAnswer:
    return parent.call_tables(solution(*lines), tables, wanted, True)


def fault(parent: WarmParent, tables: TableFrames, *lines: str, reveal: bool = True) -> AgentFault:
    with pytest.raises(AgentFault) as caught:
        parent.call_tables(solution(*lines), tables, WANTED, reveal)
    return caught.value


def told(parent: WarmParent, tables: TableFrames, expression: str, arguments: str = "df") -> str:
    """Value of an expression inside a child."""
    with pytest.raises(CrashError) as caught:
        parent.call_tables(
            solution(f"raise ValueError(str({expression}))", arguments=arguments), tables, WANTED, reveal=True
        )
    return str(caught.value.text)


def test_every_column_arrives_bit_for_bit(parent, tables) -> None:
    for place, (_, name) in enumerate(ONE):
        values = ask(parent, tables, f"return pd.DataFrame({{'bar': df['{name}'], 'position': df['Open']}})").values
        assert np.array_equal(tables.values[place], values[:, 0])


def test_the_index_is_the_wall_clock_without_a_zone(parent, tables) -> None:
    assert "None" == told(parent, tables, "df.index.tz")
    assert "2024-01-01 09:15:00" == told(parent, tables, "df.index[0]")
    assert "datetime64[ns]" == told(parent, tables, "df.index.dtype")


def test_columns_of_one_frame_stand_together_and_two_frames_are_two_arguments(parent, tables) -> None:
    pair = TableFrames(tables.times, TWO, tables.values)
    assert "['Open', 'Close']" == told(parent, pair, "list(left.columns)", "left, right")
    ends = "left['Close'].iloc[0] + 1000 * right['Open'].iloc[-1]"
    assert "149050.0" == told(parent, pair, ends, "left, right")


@pytest.mark.parametrize(
    "line",
    [
        "df.fillna(0.0, inplace=True)",
        "df.ffill(inplace=True)",
        "df.iloc[3, 3] = 1.0",
        "df.loc[df.index[:5], 'Close'] = 0.0",
        "df['fast'] = df['Close'].rolling(3).mean(); df.dropna(inplace=True)",
        "df.columns = [name.lower() for name in df.columns]",
    ],
)
def test_frames_may_be_written_to_and_the_next_call_sees_nothing_of_it(parent, tables, line) -> None:
    assert 1 == ask(parent, tables, line, "return pd.DataFrame({'bar': [1], 'position': [1]})").rows
    again = ask(parent, tables, "return pd.DataFrame({'bar': df['Close'], 'position': 1})")
    assert np.array_equal(tables.values[3], again.values[:, 0])


def test_columns_come_back_in_the_wanted_order_whatever_their_own(parent, tables) -> None:
    answer = ask(parent, tables, "return pd.DataFrame({'position': [7, 8], 'bar': [1, 2]})")
    assert ("position", "bar") == answer.columns
    assert [[1.0, 7.0], [2.0, 8.0]] == answer.values.tolist()


@pytest.mark.parametrize(
    ("column", "kind", "value"),
    [
        ("[1]", "i", 1.0),
        ("np.array([1], np.uint8)", "u", 1.0),
        ("[0.25]", "f", 0.25),
        ("[True]", "b", 1.0),
        ("pd.array([1], dtype='Int64')", "i", 1.0),
        ("np.array([0.5], np.float32)", "f", 0.5),
    ],
)
def test_numbers_of_every_kind_are_floats_and_their_kind_is_told(parent, tables, column, kind, value) -> None:
    answer = ask(parent, tables, f"return pd.DataFrame({{'bar': [3], 'position': {column}}})")
    assert ("i", kind) == answer.kinds
    assert [[3.0, value]] == answer.values.tolist()


@pytest.mark.parametrize("missing", ["np.nan", "np.inf", "-np.inf"])
def test_what_is_not_finite_comes_as_it_was(parent, tables, missing) -> None:
    values = ask(parent, tables, f"return pd.DataFrame({{'bar': [3], 'position': [{missing}]}})").values
    assert np.array_equal([[3.0, eval(missing)]], values, equal_nan=True)


def test_a_missing_whole_number_is_nan(parent, tables) -> None:
    frame = "pd.DataFrame({'bar': [3], 'position': pd.array([None], dtype='Int64')})"
    assert np.isnan(ask(parent, tables, f"return {frame}").values[0, 1])


@pytest.mark.parametrize(
    "column", ["['long']", "[1j]", "pd.to_datetime(['2024-01-01'])", "[None]", "[[1, 2]]", "pd.Categorical([1])"]
)
def test_a_column_of_something_else_gives_no_values_but_its_name(parent, tables, column) -> None:
    answer = ask(parent, tables, f"return pd.DataFrame({{'bar': [3], 'position': {column}}})")
    assert answer.values is None
    assert WANTED == answer.columns


@pytest.mark.parametrize(
    "frame",
    ["pd.DataFrame([], columns=['bar', 'position'])", "pd.DataFrame({'bar': [], 'position': []})", "df.iloc[:0, :2]"],
)
def test_no_rows_are_an_answer_without_trades_whatever_the_types(parent, tables, frame) -> None:
    answer = ask(parent, tables, f"return {frame}.set_axis(['bar', 'position'], axis=1)")
    assert (0, 2) == answer.values.shape
    assert ("f", "f") == answer.kinds


@pytest.mark.parametrize(
    ("columns", "told_names"),
    [
        (["bar"], ("bar",)),
        (["bar", "position", "why"], ("bar", "position", "why")),
        (["Bar", "Position"], ("Bar", "Position")),
        (["bar", "bar"], ("bar", "bar")),
        ([0, 1], ("0", "1")),
    ],
)
def test_other_columns_than_the_wanted_give_their_names_and_no_values(parent, tables, columns, told_names) -> None:
    answer = ask(parent, tables, f"return pd.DataFrame([[1] * {len(columns)}], columns={columns})")
    assert (told_names, None) == (answer.columns, answer.values)
    assert len(columns) == answer.column_count


@pytest.mark.parametrize("letter", ["x", "é", "\U0001f680", "\\x00", "\\n", '\\"', "\\\\"])
def test_names_are_told_cut_short_and_the_note_has_room_for_all_of_them(parent, tables, letter) -> None:
    names = f'["{letter}" * 100 + str(k) for k in range(40)]'
    answer = ask(parent, tables, f"return pd.DataFrame([range(40)], columns={names})")
    assert 40 == answer.column_count
    assert 24 == len(answer.columns)
    assert all(name.isprintable() and len(name) <= 40 for name in answer.columns)


@pytest.mark.parametrize("answer", ["None", "[(1, 1)]", "df['Close']", "{'bar': [1]}", "df.to_numpy()"])
def test_anything_but_a_dataframe_is_refused_by_name(parent, tables, answer) -> None:
    error = fault(parent, tables, f"return {answer}")
    assert isinstance(error, OutputError)
    assert "NotADataFrame" == error.kind


def test_one_row_a_bar_and_one_more_is_the_most_that_is_taken(parent, tables) -> None:
    most, more = (
        ask(parent, tables, f"return pd.DataFrame({{'bar': range({rows}), 'position': 1}})") for rows in (51, 52)
    )
    assert (51, (51, 2)) == (most.rows, most.values.shape)
    assert (52, WANTED, None) == (more.rows, more.columns, more.values)


def test_a_crash_names_class_and_line_and_its_text_only_where_it_may(parent, tables) -> None:
    lines = ("x = 1", "raise KeyError(float(df['Close'].iloc[0]))")
    shown, hidden = fault(parent, tables, *lines), fault(parent, tables, *lines, reveal=False)
    assert ("KeyError", 7, "150.0") == (shown.kind, shown.line, shown.text)
    assert ("KeyError", 7, None) == (hidden.kind, hidden.line, hidden.text)
    assert "150" not in hidden.message


def test_cpu_and_memory_have_limits(parent, tables) -> None:
    slow, fat = fault(parent, tables, "while True: pass"), fault(parent, tables, "np.ones(1 << 28)")
    assert isinstance(slow, LimitError)
    assert (CPU_LIMIT, MEMORY_LIMIT) == (slow.kind, fat.kind)


def test_calls_of_both_kinds_share_one_parent(parent, tables, frames) -> None:
    weights = b"def target_weights(panel, train_end):\n    return panel.close * 0.0\n"
    assert parent.call(weights, frames, 0).present.all()
    assert 1 == ask(parent, tables, "return pd.DataFrame({'bar': [1], 'position': [1]})").rows


NOTE = {"columns": ["bar", "position"], "count": 2, "rows": 1, "kinds": ["i", "f"], "numeric": True}


def forged(note: bytes, values: bytes = b"") -> tuple[dict[str, object], np.ndarray | None]:
    descriptor = open_table(ROWS + 1, WANTED)
    try:
        os.pwrite(descriptor, wire.pack_verdict(wire.ANSWERED), 0)
        os.pwrite(descriptor, note[: wire.NOTE_BYTES], wire.VALUES_AT)
        os.pwrite(descriptor, values, wire.VALUES_AT + wire.NOTE_BYTES)
        return read_table(descriptor, ROWS + 1, WANTED)[1:]
    finally:
        os.close(descriptor)


def test_a_note_as_a_child_writes_it_is_read() -> None:
    note, values = forged(json.dumps(NOTE).encode(), np.array([[3.0, 0.5]]).tobytes())
    assert NOTE == note
    assert [[3.0, 0.5]] == values.tolist()


@pytest.mark.parametrize(
    "note",
    [
        b"",
        b"\xff\xfe",
        b"[]",
        b"7",
        b"null",
        b"[" * 4000,
        json.dumps({**NOTE, "rows": None}).encode(),
        json.dumps({**NOTE, "rows": float("inf")}).encode(),
        json.dumps({**NOTE, "count": float("nan")}).encode(),
        json.dumps({**NOTE, "columns": 7}).encode(),
        json.dumps({**NOTE, "kinds": None}).encode(),
        b'{"columns": [], "kinds": [], "rows": 1e999, "count": 2}',
        b'{"columns": [], "kinds": [], "rows": 1' + b"0" * 4020 + b', "count": 2}',
    ],
)
def test_a_note_that_no_child_writes_counts_as_none(note) -> None:
    told_note, values = forged(note)
    assert values is None
    assert not told_note.get("numeric")


@pytest.mark.parametrize("change", [{"rows": ROWS + 2}, {"rows": -1}, {"kinds": ["i"]}, {"numeric": 1}])
def test_a_note_that_claims_more_than_there_is_room_for_gives_no_values(change) -> None:
    assert forged(json.dumps({**NOTE, **change}).encode())[1] is None


def test_names_of_a_hostile_note_are_harmless_to_a_terminal() -> None:
    note, _ = forged(json.dumps({**NOTE, "columns": ["\x1b[2J", "a" * 500]}).encode())
    assert all(name.isprintable() for name in note["columns"])


def test_a_child_that_writes_nonsense_over_its_whole_answer_is_its_own_fault(parent, tables) -> None:
    forge = (
        "import gc, mmap, os",
        "maps = [m for m in gc.get_objects() if isinstance(m, mmap.mmap)]",
        "for m in maps:",
        "    try: m[:] = b'\\x01' * len(m)",
        "    except (TypeError, ValueError): pass",
        "os._exit(0)",
    )
    assert "NotADataFrame" == fault(parent, tables, *forge).kind
