"""Files of minute bars through the real setup_data.py: every spelling that is read, every loss that is counted."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from index_cases import DAY_MS, HEAD, MINUTE_MS, Desk, csv, table

from autoquant.files import sha256_file
from autoquant.market.indices import NAMES, PRICES, Bars, index_folder, load_manifest, load_part, wall_clock

ROWS, SHOWN = 11 * 375, 6 * 375


@pytest.fixture
def desk(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Desk:
    return Desk(tmp_path, capsys)


def whole(desk: Desk) -> Bars:
    """Both sides of the split, as a reader of the folder gets them."""
    parts = [load_part(index_folder(desk.data), part) for part in ("shown", "hidden")]
    return Bars(np.concatenate([one.times for one in parts]), np.hstack([one.prices for one in parts]))


def assert_as_brought(desk: Desk) -> None:
    bars, first, second = whole(desk), table(), table(300.0)
    assert ROWS == len(bars)
    assert "2022-12-26T09:15" == wall_clock(bars.times[0])
    assert np.array_equal(first["datetime"].to_numpy().astype("datetime64[ms]").astype(np.int64), bars.times)
    for name, frame in zip(NAMES, (first, second), strict=True):
        assert np.array_equal(frame["close"], bars.close(name))
        place = 4 * NAMES.index(name)
        assert np.array_equal(frame[list(PRICES)].to_numpy().T, bars.prices[place : place + 4])


def spelt(**names: str) -> str:
    return csv(table()).replace(HEAD, ",".join(names.get(name, name) for name in HEAD.split(",")), 1)


SPELLINGS = {
    "plain": spelt(),
    "capitals": spelt(datetime="DateTime", open="OPEN", high="HIGH", low="LOW", close="CLOSE"),
    "titles": spelt(datetime="Timestamp", open="Open", high="High", low="Low", close="Close"),
    "one letter": spelt(datetime="timestamp", open="o", high="h", low="l", close="c"),
    "prices": spelt(datetime="date_time", open="open_price", high="High Price", low="low-price", close="Close Price"),
    "exchange": spelt(datetime="<Date-Time>", open="<OPEN>", high="<HIGH>", low="<LOW>", close="<CLOSE>"),
    "last traded": spelt(datetime="Date", close="LTP"),
    "a lone time": spelt(datetime="time"),
    "other columns too": csv(table().assign(volume=7, symbol="NIFTY", oi="")),
    "another order": csv(table()[["close", "low", "datetime", "high", "open"]]),
    "unsorted rows": csv(table().sample(frac=1.0, random_state=3)),
    "spaces after commas": csv(table()).replace(",", ", ").replace(HEAD.replace(",", ", "), HEAD),
    "quoted": csv(table(), quoting=1),
    "Windows lines": csv(table()).replace("\n", "\r\n"),
    "with a mark at its start": "\ufeff" + csv(table()),
    "semicolons": csv(table(), sep=";"),
    "tabs": csv(table(), sep="\t"),
    "bars": csv(table(), sep="|"),
}

CLOCKS = {
    "to the minute": "%Y-%m-%d %H:%M",
    "ISO": "%Y-%m-%dT%H:%M:%S",
    "fractions": "%Y-%m-%d %H:%M:%S.%f",
    "day first": "%d-%m-%Y %H:%M:%S",
    "day first to the minute": "%d-%m-%Y %H:%M",
    "day first with strokes": "%d/%m/%Y %H:%M:%S",
    "month by name": "%d-%b-%Y %H:%M",
    "year first with strokes": "%Y/%m/%d %H:%M:%S",
    "digits": "%Y%m%d %H:%M:%S",
    "before and after noon": "%d-%m-%Y %I:%M %p",
    "with the zone of the exchange": "%Y-%m-%d %H:%M:%S+05:30",
    "with the zone in four digits": "%Y-%m-%dT%H:%M:%S+0530",
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_columns_are_found_under_any_common_name(desk: Desk, spelling: str) -> None:
    desk.imported(SPELLINGS[spelling])
    assert_as_brought(desk)


@pytest.mark.parametrize("clock", CLOCKS)
def test_times_are_read_in_any_common_form(desk: Desk, clock: str) -> None:
    desk.imported(csv(table(), form=CLOCKS[clock]))
    assert_as_brought(desk)


@pytest.mark.parametrize(
    ("day", "clock"),
    [
        ("%Y-%m-%d", "%H:%M:%S"),
        ("%d-%m-%Y", "%H:%M"),
        ("%Y%m%d", "%H:%M"),
        ("%Y%m%d", "%H%M%S"),
        ("%d/%m/%Y", "%H:%M:%S"),
    ],
)
@pytest.mark.parametrize("names", [("date", "time"), ("<DATE>", "<TIME>"), ("Day", "Clock")])
def test_date_and_time_may_stand_in_columns_of_their_own(desk: Desk, day: str, clock: str, names) -> None:
    frame = table()
    times = frame.pop("datetime")
    frame.insert(0, names[0], times.dt.strftime(day))
    frame.insert(1, names[1], times.dt.strftime(clock))
    desk.imported(frame.to_csv(index=False))
    assert_as_brought(desk)


def test_times_in_another_zone_become_the_exchanges_wall_clock(desk: Desk) -> None:
    utc = table()
    utc["datetime"] -= pd.Timedelta(minutes=330)
    desk.imported(csv(utc, form="%Y-%m-%dT%H:%M:%SZ"))
    assert_as_brought(desk)


def test_zones_may_differ_from_row_to_row_when_every_row_has_one(desk: Desk) -> None:
    home, utc = csv(table(), form="%Y-%m-%dT%H:%M:%S+05:30").splitlines(), table()
    utc["datetime"] -= pd.Timedelta(minutes=330)
    away = csv(utc, form="%Y-%m-%dT%H:%M:%S+00:00").splitlines()
    desk.imported("\n".join(home[:1000] + away[1000:]) + "\n")
    assert_as_brought(desk)


def test_a_day_before_a_month_is_never_taken_for_a_month(desk: Desk) -> None:
    desk.imported(csv(table(), form="%d/%m/%Y %H:%M"))
    assert ["2022-12-26", "2023-01-05"] == [wall_clock(whole(desk).times[place])[:10] for place in (0, -1)]


def test_a_compressed_file_is_read(desk: Desk) -> None:
    nifty = desk.put("nifty.csv.gz", gzip.compress(csv(table()).encode()))
    _, bank = desk.pair(csv(table()))
    assert 0 == desk.run("--indices", f"nifty={nifty}", bank)[0]
    assert_as_brought(desk)


def parquet(desk: Desk, frame: pd.DataFrame, **options: object) -> str:
    pytest.importorskip("pyarrow")
    path = desk.folder / "nifty.parquet"
    frame.to_parquet(path, **options)
    return f"nifty={path}"


PARQUET = {
    "naive": table(),
    "with a zone": table().assign(datetime=table()["datetime"].dt.tz_localize("Asia/Kolkata")),
    "in UTC": table().assign(datetime=table()["datetime"].dt.tz_localize("Asia/Kolkata").dt.tz_convert("UTC")),
    "texts": table().assign(datetime=table()["datetime"].dt.strftime("%Y-%m-%d %H:%M")),
    "times in the index": table().set_index("datetime"),
    "times in an index without a name": table().set_index("datetime").rename_axis(None),
    "single precision": table().astype(dict.fromkeys(PRICES, "float32")),
    "day and clock": table().assign(date=lambda x: x["datetime"].dt.date, time=lambda x: x["datetime"].dt.time).drop(
        columns="datetime"
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", PARQUET)
def test_parquet_is_read_with_times_of_every_type(desk: Desk, kind: str) -> None:
    nifty = parquet(desk, PARQUET[kind])
    _, bank = desk.pair(csv(table()))
    assert 0 == desk.run("--indices", nifty, bank)[0]
    assert_as_brought(desk)


def test_without_pyarrow_parquet_is_refused_and_csv_is_not(desk: Desk, repository: Path) -> None:
    nifty = parquet(desk, table())
    _, bank = desk.pair(csv(table()))
    program = (
        "import sys; sys.modules['pyarrow'] = None; sys.argv[0] = 'setup_data.py'; import setup_data; "
        "raise SystemExit(setup_data.main())"
    )
    argv = [sys.executable, "-c", program, "--data-dir", str(desk.data), "--indices"]
    done = subprocess.run([*argv, nifty, bank], cwd=repository, capture_output=True, text=True, timeout=60)
    assert (2, "") == (done.returncode, done.stdout)
    assert f"error: {nifty[6:]}: reading parquet needs pyarrow" == done.stderr.splitlines()[0]
    assert "hint: uv sync --extra parquet, or bring CSV" == done.stderr.splitlines()[1]
    done = subprocess.run(
        [*argv, f"nifty={desk.folder / 'nifty.csv'}", bank], cwd=repository, capture_output=True, text=True, timeout=60
    )
    assert (0, "") == (done.returncode, done.stderr)


def with_rows(*rows: str, at: int = 100) -> str:
    lines = csv(table()).splitlines()
    return "\n".join([*lines[:at], *rows, *lines[at:]]) + "\n"


BAD_ROWS = [
    "2022-12-26 16:00:00,,1,1,1",
    "2022-12-26 16:01:00,1,0,1,1",
    "2022-12-26 16:02:00,1,1,-1,1",
    "2022-12-26 16:03:00,1,1,1,abc",
    "2022-12-26 16:04:00,inf,1,1,1",
    "2022-12-26 16:05:00,nan,1,1,1",
    "2022-12-26 16:06:00,1,1,1",
    ",1,1,1,1",
    "yesterday,1,1,1,1",
    "2022-13-41 09:15:00,1,1,1,1",
    "9999-01-01 09:15:00,1,1,1,1",
    "0001-01-01 09:15:00,1,1,1,1",
]


@pytest.mark.parametrize("row", BAD_ROWS)
def test_a_row_without_a_time_or_with_a_price_that_is_none_is_counted_and_left_out(desk: Desk, row: str) -> None:
    summary = desk.imported(with_rows(row))
    nifty, bank = summary["manifest"]["files"]
    assert (ROWS + 1, 1, 0, 0) == tuple(nifty[key] for key in ("rows", "bad", "duplicates", "unmatched"))
    assert (ROWS, 0, 0, 0) == tuple(bank[key] for key in ("rows", "bad", "duplicates", "unmatched"))
    assert_as_brought(desk)


def test_of_two_rows_of_one_minute_the_first_counts(desk: Desk) -> None:
    lines = csv(table()).splitlines()
    late = [f"{line.split(',')[0]},9,9,9,9" for line in lines[50:53]]
    summary = desk.imported("\n".join([*lines, *late]) + "\n")
    assert 3 == summary["manifest"]["files"][0]["duplicates"]
    assert_as_brought(desk)


def test_a_bad_row_does_not_stand_in_the_way_of_a_good_one_of_its_minute(desk: Desk) -> None:
    minute = csv(table()).splitlines()[100].split(",")[0]
    summary = desk.imported(with_rows(f"{minute},0,0,0,0"))
    assert (1, 0) == tuple(summary["manifest"]["files"][0][key] for key in ("bad", "duplicates"))
    assert_as_brought(desk)


def test_minutes_that_one_index_lacks_are_left_out_of_both_and_counted(desk: Desk) -> None:
    nifty, bank = table().drop(index=[5, 6, 7]), table(300.0).drop(index=[7, 8, 9, 10, 4_000])
    summary = desk.imported(csv(nifty), csv(bank))
    assert [4, 2] == [one["unmatched"] for one in summary["manifest"]["files"]]
    bars = whole(desk)
    assert ROWS - 7 == len(bars)
    kept = table().drop(index=[5, 6, 7, 8, 9, 10, 4_000])
    assert np.array_equal(kept["close"], bars.close("nifty"))
    assert np.array_equal(kept["close"] + 200.0, bars.close("banknifty"))


def test_counts_are_printed_and_pinned(desk: Desk) -> None:
    lines = csv(table()).splitlines()
    broken = "\n".join([*lines[:200], BAD_ROWS[0], *lines[201:], lines[300]]) + "\n"
    code, out, err = desk.run("--indices", *desk.pair(broken))
    assert (0, "") == (code, err)
    assert [
        "indices     from files",
        "            nifty.csv: 4,126 rows, 1 bad, 1 duplicate, 0 without a match",
        "            bank.csv: 4,125 rows, 0 bad, 0 duplicate, 1 without a match",
        "shown       2,249 bars, 2022-12-26T09:15 to 2022-12-31T15:29 IST",
        "hidden      1,875 bars, 2023-01-01T09:15 to 2023-01-05T15:29 IST",
        f"where       {desk.data / 'indices' / 'files'}",
    ] == out.splitlines()
    manifest = load_manifest(index_folder(desk.data))
    nifty, bank = manifest.files
    assert (4_126, 1, 1, 0, 1) == (nifty.rows, nifty.bad, nifty.duplicates, nifty.unmatched, bank.unmatched)
    assert [sha256_file(desk.folder / name) for name in ("nifty.csv", "bank.csv")] == [nifty.sha256, bank.sha256]
    assert (2_249, 1_875) == (manifest.shown.rows, manifest.hidden.rows)


def test_json_says_the_same_as_the_manifest_on_disk(desk: Desk) -> None:
    summary = desk.imported(csv(table()))
    stored = json.loads((desk.data / "indices" / "files" / "manifest.json").read_text())
    assert stored == summary["manifest"]
    assert "current" in {path.name for path in (desk.data / "indices").iterdir()}


@pytest.mark.parametrize(
    ("split", "shown"), [(None, SHOWN), ("2023-01-01", SHOWN), ("2022-12-30", 4 * 375), ("2023-01-02", 7 * 375)]
)
def test_the_split_day_is_the_first_that_is_hidden(desk: Desk, split: str | None, shown: int) -> None:
    more = () if split is None else ("--split", split)
    summary = desk.imported(csv(table()), None, *more)
    parts = [load_part(index_folder(desk.data), part) for part in ("shown", "hidden")]
    assert [shown, ROWS - shown] == [len(one) for one in parts]
    first = np.datetime64(split or "2023-01-01", "ms").astype(np.int64)
    assert parts[0].times[-1] < first <= parts[1].times[0]
    assert (split or "2023-01-01") == summary["manifest"]["split"]


def test_users_files_are_not_touched(desk: Desk) -> None:
    pair = desk.pair(csv(table()))
    before = {path.name: path.read_bytes() for path in desk.folder.iterdir()}
    assert 0 == desk.run("--indices", *pair)[0]
    assert before == {path.name: path.read_bytes() for path in desk.folder.iterdir() if path.is_file()}


def test_a_second_import_replaces_the_first(desk: Desk) -> None:
    desk.imported(csv(table()))
    desk.imported(csv(table(500.0)))
    assert 500.0 == whole(desk).close("nifty")[0]


def test_a_failed_import_leaves_the_set_in_use_as_it_was(desk: Desk) -> None:
    desk.imported(csv(table()))
    before = whole(desk).digest
    code, _, err = desk.run("--indices", *desk.pair("no,table\n1,2\n"))
    assert 2 == code
    assert "no column for the date and time" in err
    assert before == whole(desk).digest


@pytest.mark.shared
def test_the_shared_minutes_are_imported_by_the_real_command(desk: Desk, shared: Path) -> None:
    files = [f"{name}={shared / 'data' / f'{name}_1min_2024.parquet'}" for name in NAMES]
    code, out, err = desk.run("--indices", *files, "--split", "2024-07-01")
    assert (0, "") == (code, err)
    assert "nifty_1min_2024.parquet: 58,127 rows, 0 bad, 0 duplicate, 0 without a match" in out
    assert "shown       44,252 bars, 2024-01-01T09:15 to 2024-06-28T15:29 IST" in out
    bars = whole(desk)
    day = bars.times // DAY_MS
    assert 155 <= len(np.unique(day)) <= 157
    assert MINUTE_MS == np.median(np.diff(bars.times))
