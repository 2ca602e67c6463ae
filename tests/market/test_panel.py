"""Panels: from plain frames, sliced, stored and opened again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autoquant.errors import DataError
from autoquant.market import FIELDS, NEVER, Panel, load_panel, save_panel, synthetic_panel
from autoquant.market.grid import to_minute

TIER = {"A": 1, "B": 2}
GOLDEN = "9cf416"


def frames(bars: int = 6, *, freq: str = "4h", index: pd.Index | None = None) -> dict[str, pd.DataFrame]:
    times = pd.date_range("2023-01-01", periods=bars, freq=freq, tz="UTC") if index is None else index
    base = np.arange(1.0, 2 * len(times) + 1).reshape(len(times), 2)
    return {name: pd.DataFrame(base + number, index=times, columns=["A", "B"]) for number, name in enumerate(FIELDS)}


def rates(*rows: tuple[str, str, float]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["asset", "time", "rate"]).assign(
        time=lambda f: pd.to_datetime(f.time, utc=True, format="mixed")
    )


def test_frames_come_back_as_they_went_in():
    given_frames = frames()
    panel = Panel.from_frames(given_frames, None, TIER)
    for name in FIELDS:
        pd.testing.assert_frame_equal(given_frames[name], panel.frame(name), check_freq=False, check_index_type=False)
    assert 4 * 3_600_000 == panel.bar_ms
    assert [NEVER, NEVER] == panel.last_bar.tolist()


def test_the_cube_cannot_be_written():
    panel = Panel.from_frames(frames(), None, TIER)
    with pytest.raises(ValueError, match="read-only"):
        panel.close[0, 0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        panel.funding[0, 0] = 1.0


def test_funding_belongs_to_the_bar_that_holds_its_instant():
    panel = Panel.from_frames(
        frames(),
        rates(
            ("A", "2023-01-01 04:00:00.012", 0.1),
            ("A", "2023-01-01 05:00", 0.01),
            ("A", "2023-01-01 07:59:59.999", 0.5),
            ("B", "2023-01-01 07:00", 0.002),
            ("B", "2022-12-31 20:00", 9.0),
            ("B", "2023-01-02 00:00", 9.0),
        ),
        TIER,
    )
    assert [0.0, 0.1, 0.5, 0.0, 0.0, 0.0] == panel.funding_at_open[:, 0].tolist()
    assert [0.0, 0.01, 0.0, 0.0, 0.0, 0.0] == panel.funding_inside[:, 0].tolist()
    assert [0.0, 0.002, 0.0, 0.0, 0.0, 0.0] == panel.funding[:, 1].tolist()
    assert 0.11 == pytest.approx(panel.funding[1, 0])


def test_a_bar_with_one_missing_value_is_missing_whole():
    given_frames = frames()
    given_frames["volume"].iloc[2, 0] = np.nan
    panel = Panel.from_frames(given_frames, rates(("A", "2023-01-01 08:00", 0.1)), TIER)
    assert np.isnan(panel.cube[:6, 2, 0]).all()
    assert 0.1 == panel.funding_at_open[2, 0]
    assert np.isnan(panel.funding[2, 0])


def test_bars_and_funding_after_the_last_bar_are_cut():
    last = {"A": pd.Timestamp("2023-01-01 08:00", tz="UTC"), "B": None}
    panel = Panel.from_frames(
        frames(), rates(("A", "2023-01-01 11:00", 0.1), ("A", "2023-01-01 12:00", 0.2)), TIER, last
    )
    assert [True, True, True, False, False, False] == np.isfinite(panel.close[:, 0]).tolist()
    assert 0.1 == panel.funding_inside[2, 0]
    assert 0.0 == panel.funding_at_open.sum()
    assert [int(last["A"].value // 10**6), NEVER] == panel.last_bar.tolist()


def test_a_death_after_a_slice_is_not_seen_in_it():
    panel = Panel.from_frames(frames(), None, TIER, {"A": pd.Timestamp("2023-01-01 08:00", tz="UTC")})
    assert NEVER == panel.slice(0, 2).last_bar[0]
    assert NEVER != panel.slice(0, 3).last_bar[0]
    assert np.shares_memory(panel.cube, panel.slice(1, 3).cube)


def test_row_is_the_first_at_or_after():
    panel = Panel.from_frames(frames(), None, TIER)
    start = int(panel.times[0])
    assert [0, 0, 1, 1, 6] == [panel.row(start + ms) for ms in (-1, 0, 1, panel.bar_ms, 10**12)]


def test_a_row_that_the_index_skips_is_a_missing_bar():
    index = pd.date_range("2023-01-01", periods=6, freq="4h", tz="UTC").delete(3)
    panel = Panel.from_frames(frames(index=index), None, TIER)
    assert [False, False, False, True, False, False] == np.isnan(panel.close[:, 0]).tolist()


@pytest.mark.parametrize("index", ["naive", "milliseconds", "another zone"])
def test_times_may_be_naive_milliseconds_or_of_another_zone(index: str):
    utc = pd.date_range("2023-01-01", periods=6, freq="4h", tz="UTC")
    made = {
        "naive": utc.tz_localize(None),
        "milliseconds": utc.as_unit("ms").asi8,
        "another zone": utc.tz_convert(8 * 3600),
    }
    panel = Panel.from_frames(frames(index=pd.Index(made[index])), None, TIER)
    assert Panel.from_frames(frames(), None, TIER).digest == panel.digest


def test_the_interval_follows_the_index():
    assert 86_400_000 == Panel.from_frames(frames(freq="1D"), None, TIER).bar_ms
    assert 60_000 == Panel.from_frames(frames(freq="1min"), None, TIER).bar_ms


def doubled() -> pd.Index:
    index = pd.date_range("2023-01-01", periods=6, freq="4h", tz="UTC")
    return index[[0, 1, 1, 2, 3, 4]]


@pytest.mark.parametrize(
    ("index", "said"),
    [
        (doubled(), "two rows at 2023-01-01T04:00:00Z"),
        (pd.date_range("2023-01-01", periods=6, freq="4h", tz="UTC")[::-1], "rows out of order"),
        (pd.DatetimeIndex(["2023-01-01 00:00", "2023-01-01 04:00", "2023-01-01 09:00"], tz="UTC"), "whole number"),
        (pd.DatetimeIndex(["2023-01-01 00:00", None], tz="UTC"), "a time is missing"),
        (pd.Index(["monday", "tuesday"]), "not a time"),
    ],
)
def test_bad_times_are_refused(index: pd.Index, said: str):
    with pytest.raises(DataError, match=said):
        Panel.from_frames(frames(index=index), None, TIER)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([("A", "2023-01-01 08:00:00.001", 0.1), ("A", "2023-01-01 07:59:59.999", 0.1)], "two rates of A at"),
        ([("C", "2023-01-01 08:00", 0.1)], "funding names C"),
        ([("A", "2023-01-01 08:00", float("nan"))], "is not a number"),
    ],
)
def test_bad_funding_is_refused(rows: list[tuple[str, str, float]], said: str):
    with pytest.raises(DataError, match=said):
        Panel.from_frames(frames(), rates(*rows), TIER)


def test_missing_fields_tiers_and_columns_are_named():
    without = frames()
    del without["low"]
    with pytest.raises(DataError, match="'low' is missing"):
        Panel.from_frames(without, None, TIER)
    with pytest.raises(DataError, match="tier of B is None"):
        Panel.from_frames(frames(), None, {"A": 1})
    other = frames()
    other["high"] = other["high"].iloc[1:]
    with pytest.raises(DataError, match="high has other rows"):
        Panel.from_frames(other, None, TIER)
    with pytest.raises(DataError, match="lacks the column 'rate'"):
        Panel.from_frames(frames(), pd.DataFrame({"asset": ["A"], "time": [0]}), TIER)


def test_a_stored_panel_comes_back_to_the_last_bit_as_a_memory_map(tmp_path: Path):
    panel = synthetic_panel(5, assets=4, days=20, listings=True)
    save_panel(panel, tmp_path, "train")
    again = load_panel(tmp_path, "train")
    assert panel.digest == again.digest
    assert isinstance(again.cube.base, np.memmap)
    assert not again.cube.flags.writeable
    assert [name for name in ("train.json", "train.npy") if (tmp_path / name).exists()] == sorted(
        p.name for p in tmp_path.iterdir()
    )


def test_the_digest_of_a_known_panel_never_changes():
    panel = Panel.from_frames(frames(), rates(("A", "2023-01-01 04:00", 0.25)), TIER)
    assert GOLDEN == panel.digest[: len(GOLDEN)]


def test_the_digest_sees_every_part():
    panel = Panel.from_frames(frames(), rates(("A", "2023-01-01 04:00", 0.25)), TIER)
    variants = [
        Panel.from_frames(frames(), rates(("A", "2023-01-01 08:00", 0.25)), TIER),
        Panel.from_frames(frames(), rates(("A", "2023-01-01 04:00", 0.25)), {"A": 2, "B": 2}),
        Panel.from_frames(frames(7), rates(("A", "2023-01-01 04:00", 0.25)), TIER),
        Panel.from_frames(frames(), rates(("A", "2023-01-01 04:00", 0.25)), TIER, {"A": "2023-01-01 20:00"}),
    ]
    assert 5 == len({panel.digest, *(variant.digest for variant in variants)})


@pytest.mark.parametrize("damage", ["head", "cube", "short", "long", "missing"])
def test_a_damaged_stored_panel_is_refused_by_name(tmp_path: Path, damage: str):
    save_panel(synthetic_panel(assets=2, days=3), tmp_path, "train")
    if damage == "head":
        (tmp_path / "train.json").write_text("{}")
    elif damage == "cube":
        (tmp_path / "train.npy").write_bytes(b"rubbish")
    elif damage == "short":
        content = (tmp_path / "train.npy").read_bytes()
        (tmp_path / "train.npy").write_bytes(content[:-8])
    elif damage == "long":
        content = (tmp_path / "train.npy").read_bytes()
        (tmp_path / "train.npy").write_bytes(content + bytes(8))
    else:
        (tmp_path / "train.npy").unlink()
    with pytest.raises(DataError, match=r"train\.(npy|json)"):
        load_panel(tmp_path, "train")


@given(st.lists(st.tuples(st.integers(0, 59), st.floats(-0.01, 0.01)), unique_by=lambda pair: pair[0], max_size=30))
@settings(max_examples=60, deadline=None)
def test_no_rate_is_lost_or_counted_twice(rows: list[tuple[int, float]]):
    index = pd.date_range("2023-01-01", periods=15, freq="4h", tz="UTC")
    funding = pd.DataFrame(
        {"asset": "A", "time": [index[0] + pd.Timedelta(hours=h) for h, _ in rows], "rate": [r for _, r in rows]}
    )
    panel = Panel.from_frames(frames(index=index), funding, TIER)
    at_open = sum(rate for hour, rate in rows if hour % 4 == 0)
    assert at_open == pytest.approx(panel.funding_at_open.sum(), abs=1e-12)
    assert sum(rate for _, rate in rows) == pytest.approx(panel.funding.sum(), abs=1e-12)


@given(st.integers(0, 2**42))
def test_rounding_to_the_minute_is_the_nearest(ms: int):
    (rounded,) = to_minute(np.array([ms])).tolist()
    assert 0 == rounded % 60_000
    assert abs(rounded - ms) <= 30_000
