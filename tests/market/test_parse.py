"""Archive bytes to arrays: oddities are taken, contradictions refused by file and time."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_archive import BAR, FUNDING_HEADER, HEADER, HOUR, at, kline, zipped

from autoquant.errors import DataError
from autoquant.market.parse import Funding, Klines, join_klines, parse_funding, parse_klines, unzip

START, END = at("2023-01-01"), at("2023-01-03")
WHERE = "http://host/BTC.zip"


def klines(*lines: str) -> Klines:
    return parse_klines(("\n".join(lines) + "\n").encode(), WHERE, start_ms=START, end_ms=END, bar_ms=BAR)


def funding(*lines: str) -> Funding:
    return parse_funding(("\n".join(lines) + "\n").encode(), WHERE, start_ms=START, end_ms=END)


def bar(number: int, **replaced: str) -> str:
    parts = kline(START + number * BAR).split(",")
    names = ("time", "open", "high", "low", "close", "volume")
    return ",".join([replaced.get(name, part) for name, part in zip(names, parts, strict=False)] + parts[6:])


def test_columns_are_taken_in_the_order_of_the_fields():
    parsed = klines("1672531200000,1.5,3,1,2,10,0,15,7,0,0,0")
    assert [START] == parsed.times.tolist()
    assert [[1.5, 3.0, 1.0, 2.0, 10.0, 15.0]] == parsed.values.tolist()


@pytest.mark.parametrize("first", [[], [HEADER], ["\ufeff" + HEADER]])
def test_a_header_is_there_or_not(first: list[str]):
    assert 2 == len(klines(*first, bar(0), bar(1)))


def test_microseconds_are_milliseconds():
    line = bar(1)
    micro = line.replace(str(START + BAR), f"{START + BAR}000", 1)
    assert [START, START + BAR] == klines(bar(0), micro).times.tolist()


def test_unsorted_rows_are_sorted_and_word_for_word_doubles_counted_once():
    assert [START + BAR * i for i in range(3)] == klines(bar(2), bar(0), bar(1), bar(1)).times.tolist()


def test_an_empty_file_holds_no_bars():
    assert (0, 0) == (len(klines(HEADER)), len(klines("")))


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([bar(0), bar(0, close="99")], "two different bars at 2023-01-01T00:00:00Z"),
        ([bar(0, low="0", open="0")], "the bar at 2023-01-01T00:00:00Z has a price that is not positive"),
        ([bar(0), bar(1, close="-1")], "the bar at 2023-01-01T04:00:00Z has a price that is not positive"),
        ([bar(0, close="nan")], "not a number"),
        ([bar(0, high="inf")], "not a number"),
        ([bar(0, volume="-1")], "not a number"),
        ([bar(0, high="99.5")], "closes or opens outside its range"),
        ([bar(12)], "holds a bar at 2023-01-03T00:00:00Z, outside its span"),
        ([kline(START + 60_000)], "not on the bar grid"),
        ([bar(0, time="nan")], "a time is not a number"),
        ([bar(0, time="-5")], "a time is not a number"),
        ([bar(0, open="abc")], "not the expected CSV"),
        (["<html><body>Access denied</body></html>"], "not the expected CSV"),
        ([bar(0)[:20]], "not the expected CSV"),
    ],
)
def test_bad_bars_are_refused_by_file_and_time(lines: list[str], said: str):
    with pytest.raises(DataError, match=f"^{re.escape(WHERE)}: .*{said}"):
        klines(*lines)


def test_funding_times_are_rounded_to_the_minute():
    parsed = funding(FUNDING_HEADER, f"{START + 12},8,0.0001", f"{START + 8 * HOUR - 9},8,-0.0002")
    assert [START, START + 8 * HOUR] == parsed.times.tolist()
    assert [0.0001, -0.0002] == parsed.rates.tolist()
    assert [8.0, 8.0] == parsed.hours.tolist()


def test_funding_columns_go_by_their_names():
    parsed = funding("last_funding_rate,calc_time,funding_interval_hours", f"0.5,{START},4")
    assert ([0.5], [4.0]) == (parsed.rates.tolist(), parsed.hours.tolist())


def test_a_funding_row_a_moment_before_its_month_is_of_the_month():
    assert [START] == funding(f"{START - 3},8,0.1").times.tolist()


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([f"{START},8,0.1", f"{START + 5},8,0.2"], "two different rates at 2023-01-01T00:00:00Z"),
        ([f"{START},8,nan"], "no usable rate"),
        ([f"{START},8,1.5"], "no usable rate"),
        ([f"{START},0,0.1"], "no usable rate"),
        ([f"{END + 8 * HOUR},8,0.1"], "outside its span"),
        (["calc_time,rate", f"{START},0.1"], "line 1 lacks the column funding_interval_hours"),
    ],
)
def test_bad_funding_is_refused_by_file_and_time(lines: list[str], said: str):
    with pytest.raises(DataError, match=f"^{re.escape(WHERE)}: .*{said}"):
        funding(*lines)


def test_bars_of_two_files_that_disagree_are_refused():
    with pytest.raises(DataError, match="BTC: two different bars at"):
        join_klines([klines(bar(0)), klines(bar(0, close="101.5"))], "BTC")


def damaged(kind: str) -> bytes:
    good = zipped("a.csv", "1,2,3\n" * 500)
    two = io.BytesIO()
    with zipfile.ZipFile(two, "w") as archive:
        archive.writestr("a.csv", "1")
        archive.writestr("b.csv", "2")
    middle = len(good) // 2
    return {
        "html": b"<html><body>Access denied</body></html>",
        "truncated": good[:middle],
        "corrupt": good[:40] + bytes([good[40] ^ 0xFF]) + good[41:],
        "empty": b"",
        "two files": two.getvalue(),
    }[kind]


@pytest.mark.parametrize("kind", ["html", "truncated", "corrupt", "empty", "two files"])
def test_what_is_not_one_csv_in_a_zip_is_refused(kind: str):
    with pytest.raises(DataError, match=f"^{re.escape(WHERE)}: "):
        unzip(damaged(kind), WHERE)


@given(st.binary(max_size=200))
@settings(max_examples=200, deadline=None)
def test_any_bytes_parse_or_are_refused_in_one_line(content: bytes):
    for parse in (lambda: klines_of(content), lambda: unzip(content, WHERE), lambda: funding_of(content)):
        said = refusal(parse)
        assert said.startswith(WHERE)
        assert "\n" not in said


def refusal(parse: Callable[[], object]) -> str:
    """What a parser refuses its input with, or the file's name when it takes it."""
    try:
        parse()
    except DataError as error:
        return error.message
    return WHERE


def klines_of(content: bytes) -> Klines:
    return parse_klines(content, WHERE, start_ms=START, end_ms=END, bar_ms=BAR)


def funding_of(content: bytes) -> Funding:
    return parse_funding(content, WHERE, start_ms=START, end_ms=END)


prices = st.floats(1e-6, 1e6, allow_nan=False)


@given(
    st.lists(st.tuples(st.integers(0, 11), prices, prices, prices, prices, prices), unique_by=lambda row: row[0]),
    st.randoms(),
    st.booleans(),
    st.booleans(),
)
@settings(max_examples=100, deadline=None)
def test_bars_round_trip_to_the_last_bit_whatever_order_header_or_unit(rows, shuffle, header: bool, micro: bool):
    lines, expected = [], {}
    for number, a, b, c, d, volume in rows:
        low, open_, close, high = sorted((a, b, c, d))
        time = START + number * BAR
        expected[time] = [open_, high, low, close, volume, volume]
        lines.append(f"{time * 1000 if micro else time},{open_!r},{high!r},{low!r},{close!r},{volume!r},0,{volume!r},1")
    shuffle.shuffle(lines)
    parsed = klines(*([HEADER] if header else []), *lines, *lines[:2])
    assert sorted(expected) == parsed.times.tolist()
    assert [expected[time] for time in sorted(expected)] == parsed.values.tolist()
    assert np.all(np.diff(parsed.times) > 0)
