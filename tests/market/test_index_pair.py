"""The made-up pair of indices: what its seed says, in sessions of the exchange, moving together like the real one."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from index_cases import DAY_MS, MINUTE_MS, Desk

from autoquant.errors import DataError, InfrastructureFault
from autoquant.market.index_synthetic import DEFAULT_SEED, HIDDEN_BARS, SHOWN_BARS, synthetic_indices
from autoquant.market.indices import (
    NAMES,
    SPLIT,
    Bars,
    index_folder,
    load_manifest,
    load_part,
    save_indices,
    split_at,
    wall_clock,
)


@pytest.fixture(scope="module")
def whole() -> Bars:
    return synthetic_indices()


@pytest.fixture
def desk(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Desk:
    return Desk(tmp_path, capsys)


def small(seed: int = 5, **sizes: int) -> Bars:
    return synthetic_indices(seed, **{"shown": 4_000, "hidden": 2_000, **sizes})


def test_it_has_as_many_bars_as_the_reference_set_on_each_side(whole: Bars) -> None:
    shown, hidden = split_at(whole, SPLIT)
    assert (737_587, 282_950) == (len(shown), len(hidden)) == (SHOWN_BARS, HIDDEN_BARS)


def test_a_seed_names_one_market_and_another_seed_another() -> None:
    assert small().digest == small().digest
    assert small().digest != small(6).digest
    assert not np.array_equal(small().prices, small(6).prices)


def test_its_sessions_are_the_exchanges(whole: Bars) -> None:
    minute = whole.times % DAY_MS // MINUTE_MS
    assert (9 * 60 + 15, 15 * 60 + 29) == (minute.min(), minute.max())
    days, counts = np.unique(whole.times // DAY_MS, return_counts=True)
    assert {375} == set(counts[1:-1].tolist())
    weekday = (days + 3) % 7  # 1970-01-01 was a Thursday, Monday is 0
    assert weekday.max() == 4


def test_its_minutes_follow_each_other_without_a_gap_within_a_session(whole: Bars) -> None:
    steps = np.diff(whole.times)
    assert steps.min() == MINUTE_MS
    assert steps[np.diff(whole.times // DAY_MS) == 0].max() == MINUTE_MS


def test_its_indices_move_together_and_like_indices(whole: Bars) -> None:
    moves = [np.diff(np.log(whole.close(name))) for name in NAMES]
    assert pytest.approx(0.85, abs=0.03) == np.corrcoef(moves[0], moves[1])[0, 1]
    yearly = [move.std() * np.sqrt(252 * 375) for move in moves]
    assert all(0.08 < one < 0.35 for one in yearly)


def test_its_bars_are_bars_on_the_exchanges_grid(whole: Bars) -> None:
    for place in (0, 4):
        opened, high, low, close = whole.prices[place : place + 4]
        assert (low <= np.minimum(opened, close)).all()
        assert (high >= np.maximum(opened, close)).all()
        assert low.min() > 1_000
    assert 1e-6 > np.abs(whole.prices * 20 - np.round(whole.prices * 20)).max()


@pytest.mark.parametrize("split", ["2023-01-01", "2020-02-29", "2021-06-05", "2024-12-25"])
def test_it_is_laid_out_around_any_split(split: str) -> None:
    shown, hidden = split_at(small(split=split), split)
    assert (4_000, 2_000) == (len(shown), len(hidden))
    assert wall_clock(shown.times[-1]).endswith("15:29")
    assert wall_clock(hidden.times[0]).endswith("09:15")


def test_the_real_command_makes_it_the_current_set(desk: Desk) -> None:
    code, out, err = desk.run("--indices", "--synthetic")
    assert (0, "") == (code, err)
    assert [
        "indices     synthetic, seed 14: not a market",
        "shown       737,587 bars, 2015-06-18T09:53 to 2022-12-30T15:29 IST",
        "hidden      282,950 bars, 2023-01-02T09:15 to 2025-11-21T12:34 IST",
        f"where       {desk.data / 'indices' / 'synthetic'}",
    ] == out.splitlines()
    manifest = load_manifest(index_folder(desk.data))
    assert (DEFAULT_SEED, True, ()) == (manifest.seed, manifest.is_synthetic, manifest.files)


def test_the_real_command_takes_a_seed_and_a_split(desk: Desk) -> None:
    code, out, err = desk.run("--indices", "--synthetic", "--seed", "3", "--split", "2021-01-01", "--json")
    assert (0, "") == (code, err)
    made = json.loads(out)["manifest"]
    assert (3, "2021-01-01", SHOWN_BARS) == (made["seed"], made["split"], made["shown"]["rows"])
    bars = load_part(index_folder(desk.data), "hidden")
    assert np.array_equal(split_at(synthetic_indices(3, split="2021-01-01"), "2021-01-01")[1].prices, bars.prices)


def test_what_is_saved_is_what_is_loaded_and_pinned(tmp_path: Path) -> None:
    bars = small()
    manifest = save_indices(tmp_path, bars, source="synthetic", split=SPLIT, seed=5)
    parts = [load_part(index_folder(tmp_path), part) for part in ("shown", "hidden")]
    assert [bars.prices[:, :4_000].tolist(), bars.prices[:, 4_000:].tolist()] == [one.prices.tolist() for one in parts]
    assert [manifest.shown, manifest.hidden] == [one.pin() for one in parts]
    assert manifest == load_manifest(index_folder(tmp_path))


def test_a_set_up_that_was_cut_short_leaves_no_set_that_passes_for_whole(tmp_path: Path) -> None:
    save_indices(tmp_path, small(), source="synthetic", split=SPLIT, seed=5)
    folder = index_folder(tmp_path)
    (folder / "hidden.npy").unlink()
    (folder / "hidden.npy").mkdir()
    with pytest.raises(InfrastructureFault):
        save_indices(tmp_path, small(6), source="synthetic", split=SPLIT, seed=6)
    with pytest.raises(DataError, match="the set-up was cut short") as caught:
        load_part(index_folder(tmp_path), "shown")
    assert "run setup_data.py --indices again" == caught.value.hint


def test_a_set_replaces_the_one_before(tmp_path: Path) -> None:
    for seed in (5, 6):
        save_indices(tmp_path, small(seed), source="synthetic", split=SPLIT, seed=seed)
    assert split_at(small(6), SPLIT)[0].digest == load_part(index_folder(tmp_path), "shown").digest
