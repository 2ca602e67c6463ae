"""What is no pair of files of minute bars: one line that says what and where, one that says how to mend it."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from index_cases import HEAD, Desk, csv, table

from autoquant.errors import DataError
from autoquant.market.indices import index_folder, load_manifest, load_part

GOOD = csv(table())


@pytest.fixture
def desk(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Desk:
    return Desk(tmp_path, capsys)


FILES: dict[str, tuple[str | bytes, str]] = {
    "empty": ("", "nifty.csv: not a table this program reads (No columns to parse from file)"),
    "no rows": (HEAD + "\n", "nifty.csv: no rows"),
    "no names": (GOOD.partition("\n")[2], "no column for the date and time (columns: 2022-12-26 09:15:00, 99.0, "),
    "no time": (GOOD.replace("datetime,", "when,"), "no column for the date and time (columns: when, open, "),
    "no close": (GOOD.replace("close", "last"), "no column for the close (columns: datetime, open, high, low, last)"),
    "two closes": (csv(table().assign(Close=1.0)), "'close' and 'Close' could both be the close"),
    "a name twice": (
        csv(table()[["datetime", "open", "high", "low", "close", "close"]]),
        "'close' and 'close.1' could both be the close",
    ),
    "other separators within": ("datetime,open;high;low;close\n1,2\n", "no column for"),
    "ragged": (GOOD + "2022-12-26 16:00:00,1,2,3,4,5,6,7\n", "not a table this program reads (Error tokenizing data."),
    "a picture": (b"\x89PNG\r\n\x1a\n" + bytes(range(256)), "not a table this program reads ("),
    "zeros": (b"\0" * 4_096, "no column for the date and time"),
    "UTF-16": (GOOD.encode("utf-16"), "not a table this program reads ('utf-8' codec can't decode"),
    "clock alone": (csv(table(), form="%H:%M:%S"), "times like '09:15:00' are not understood"),
    "month first": (csv(table(), form="%m/%d/%Y %H:%M"), "times like '12/26/2022 09:15' are not understood"),
    "epoch": (csv(table(), form="%s"), "are not understood"),
    "words": (csv(table(), form="Monday"), "times like 'Monday' are not understood"),
    "few that can be read": (GOOD + "soon,1,1,1,1\n" * 50, "times like '2022-12-26 09:15:00' are not understood"),
    "zones here and there": (GOOD.replace("09:15:00", "09:15:00Z"), "some times have a zone and some have none"),
    "decimal commas": (csv(table(), sep=";", decimal=","), "not one row has a time and four prices above 0"),
    "prices of zero": (csv(table().assign(low=0.0)), "not one row has a time and four prices above 0"),
    "another century": (csv(table(), form="1823-%m-%d %H:%M"), "not one row has a time and four prices above 0"),
    "days": (csv(table(), form="%Y-%m-%d"), "the two files have no minute in common"),
    "other years": (csv(table(), form="2019-%m-%d %H:%M"), "the two files have no minute in common"),
    "the same file": (csv(table(300.0)), "are the same file"),
    "too few": (
        "\n".join(GOOD.splitlines()[:900]),
        "899 bars lie before the split at 2023-01-01, at least 1,500 are needed",
    ),
}


@pytest.mark.parametrize("case", FILES)
def test_a_file_that_is_no_minute_bars_is_refused_in_one_line(desk: Desk, case: str) -> None:
    content, words = FILES[case]
    assert words in desk.refused(["--indices", *desk.pair(content)])


def test_daily_bars_are_no_minute_bars(desk: Desk) -> None:
    days, other = (table(base, sessions=1_600).iloc[::375] for base in (100.0, 300.0))
    told = desk.refused(["--indices", *desk.pair(csv(days), csv(other))])
    assert "error: the rows are no minute bars: they are 1440 minutes apart\nhint: bring minutes\n" == told


def test_the_second_file_is_looked_at_as_the_first(desk: Desk) -> None:
    assert "bank.csv: no column for the close" in desk.refused(
        ["--indices", *desk.pair(GOOD, GOOD.replace("close", "last"))]
    )


NOT_THERE: dict[str, tuple[Callable[[Desk], str], str]] = {
    "missing": (lambda desk: f"nifty={desk.folder}/none.csv", "none.csv: no such file"),
    "missing parquet": (lambda desk: f"nifty={desk.folder}/none.parquet", "none.parquet: no such file"),
    "a folder": (lambda desk: f"nifty={desk.folder}", "not a table this program reads ("),
    "no parquet": (lambda desk: f"nifty={desk.put('x.parquet', 'nonsense')}", "x.parquet: not a table this program"),
    "broken gzip": (lambda desk: f"nifty={desk.put('x.csv.gz', b'nonsense')}", "x.csv.gz: not a table this program"),
    "cut gzip": (
        lambda desk: f"nifty={desk.put('x.csv.gz', gzip.compress(GOOD.encode())[:900])}",
        "x.csv.gz: not a table this program",
    ),
    "no name": (lambda desk: str(desk.put("x.csv", GOOD)), "not NAME=FILE with nifty or banknifty"),
    "another name": (lambda desk: f"sensex={desk.put('x.csv', GOOD)}", "not NAME=FILE with nifty or banknifty"),
    "no file": (lambda desk: "nifty=", "--indices nifty=: not NAME=FILE"),
    "twice": (lambda desk: f"banknifty={desk.put('x.csv', GOOD)}", "--indices names banknifty twice"),
}


@pytest.mark.parametrize("case", NOT_THERE)
def test_what_is_named_wrongly_is_refused_in_one_line(desk: Desk, case: str) -> None:
    make, words = NOT_THERE[case]
    _, bank = desk.pair(GOOD)
    assert words in desk.refused(["--indices", bank, make(desk)])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "--indices lacks nifty and banknifty"),
        (("nifty={}",), "--indices lacks banknifty"),
        (("banknifty={}",), "--indices lacks nifty"),
        (("nifty={}", "banknifty={}", "--split", "soon"), "--split soon: not a day"),
        (("nifty={}", "banknifty={}", "--split", "2023-02-30"), "--split 2023-02-30: not a day"),
        (("nifty={}", "banknifty={}", "--synthetic"), "--synthetic makes a pair: it takes no files"),
        (("nifty={}", "banknifty={}", "--seed", "3"), "--seed goes with --synthetic"),
        (("nifty={}", "banknifty={}", "--verify"), "--indices goes with --split, --synthetic and --seed only"),
        (("nifty={}", "banknifty={}", "--force"), "--indices goes with --split, --synthetic and --seed only"),
        (("nifty={}", "banknifty={}", "--jobs", "2"), "--indices goes with --split, --synthetic and --seed only"),
    ],
)
def test_options_that_say_nothing_together_are_refused(desk: Desk, arguments: tuple[str, ...], words: str) -> None:
    first, second = (item.partition("=")[2] for item in desk.pair(GOOD))
    filled = [item.format(first if item.startswith("nifty") else second) for item in arguments]
    assert words in desk.refused(["--indices", *filled])


def test_a_split_without_indices_is_refused(desk: Desk) -> None:
    assert "--split goes with --indices" in desk.refused(["--split", "2023-01-01"])


@pytest.mark.parametrize(
    ("split", "words"),
    [
        ("2022-12-01", "0 bars lie before the split at 2022-12-01"),
        ("2022-12-27", "375 bars lie before the split at 2022-12-27"),
        ("2023-01-04", "750 bars lie from the split at 2023-01-04"),
        ("2030-01-01", "0 bars lie from the split at 2030-01-01"),
    ],
)
def test_a_split_that_leaves_too_little_on_one_side_is_refused(desk: Desk, split: str, words: str) -> None:
    told = desk.refused(["--indices", *desk.pair(GOOD), "--split", split])
    assert f"{words}, at least 1,500 are needed (bars: 2022-12-26 to 2023-01-05)" in told
    assert "hint: choose a day inside: --split DAY" in told


PARTS = ("shown.npy", "shown-times.npy", "hidden.npy", "hidden-times.npy")


@pytest.fixture
def folder(desk: Desk) -> Path:
    desk.imported(GOOD)
    return index_folder(desk.data)


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("damage", ["gone", "empty", "cut", "nonsense", "one price", "another shape", "objects"])
def test_a_damaged_array_is_not_loaded(folder: Path, part: str, damage: str) -> None:
    path = folder / part
    whole = path.read_bytes()
    if damage == "gone":
        path.unlink()
    elif damage == "objects":
        np.save(path, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    elif damage == "another shape":
        np.save(path, np.zeros((3, 3)))
    else:
        changed = {"empty": b"", "cut": whole[:-8], "nonsense": b"\x80\x04K\x01.", "one price": whole[:-1] + b"\x55"}
        path.write_bytes(changed[damage])
    with pytest.raises(DataError, match=r"missing or damaged|differs from the manifest") as caught:
        load_part(folder, part.split(".")[0].split("-")[0])
    assert "run setup_data.py --indices again" == caught.value.hint


@pytest.mark.parametrize(
    "content", [None, b"", b"{", b"[]", b'{"rows": 1}', b"\xff\xfe", b'{"source": "files", "more": 1}']
)
def test_a_damaged_manifest_is_refused(folder: Path, content: bytes | None) -> None:
    path = folder / "manifest.json"
    path.unlink() if content is None else path.write_bytes(content)
    with pytest.raises(DataError) as caught:
        load_manifest(folder)
    assert str(path) in caught.value.message
    assert "\n" not in caught.value.message
    assert "run setup_data.py --indices again" == caught.value.hint


@pytest.mark.parametrize("content", ["", "elsewhere\n", "../files\n", "/etc\n"])
def test_a_name_of_no_set_is_not_followed(desk: Desk, folder: Path, content: str) -> None:
    (desk.data / "indices" / "current").write_text(content)
    with pytest.raises(DataError, match="no set of this program's"):
        index_folder(desk.data)


def test_without_a_set_a_reader_is_told_how_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no index data") as caught:
        index_folder(tmp_path)
    assert "setup_data.py --indices nifty=FILE banknifty=FILE" in caught.value.hint
    assert "--indices --synthetic" in caught.value.hint
