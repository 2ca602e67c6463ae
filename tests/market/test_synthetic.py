"""The made-up market: looks right, is what its seed says, never passes for data."""

from __future__ import annotations

import stat
from pathlib import Path

import numpy as np
import pytest

from autoquant.clock import day_ms
from autoquant.errors import DataError, UserError
from autoquant.market import (
    NEVER,
    Panel,
    data_directory,
    load_manifest,
    load_panel,
    make_synthetic,
    open_lockbox,
    synthetic_panel,
    verify,
)
from autoquant.market.manifest import manifest_path, set_current
from autoquant.market.synthetic import COLLAPSES, DELISTED, market_panel
from autoquant.oracle.folds import valid_windows
from autoquant.protocol import PROTOCOL

SEALED = bytes(range(16))


@pytest.fixture(scope="module")
def panel() -> Panel:
    return market_panel(3)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_synthetic(tmp_path_factory.mktemp("data"), 3, lockbox_seed=SEALED)


def live(panel: Panel) -> np.ndarray:
    return np.isfinite(panel.close)


def test_it_covers_train_and_valid_of_the_whole_universe(panel: Panel):
    assert PROTOCOL.universe == panel.assets
    assert day_ms("2020-01-01") == panel.times[0]
    assert day_ms("2025-07-01") == panel.end_ms


def test_no_bar_is_impossible(panel: Panel):
    alive = live(panel)
    assert (panel.low[alive] <= np.minimum(panel.open, panel.close)[alive]).all()
    assert (panel.high[alive] >= np.maximum(panel.open, panel.close)[alive]).all()
    assert (panel.low[alive] > 0).all()
    assert (panel.volume[alive] > 0).all()
    typical = (panel.quote_volume / panel.volume)[alive]
    assert ((typical >= panel.low[alive] * (1 - 1e-9)) & (typical <= panel.high[alive] * (1 + 1e-9))).all()


def test_returns_have_heavy_tails_clusters_and_a_common_factor(panel: Panel):
    rows = panel.row(day_ms("2023-01-01"))
    returns = np.diff(np.log(panel.close[rows:, :10]), axis=0)
    standard = (returns - returns.mean(axis=0)) / returns.std(axis=0)
    assert 5.0 < np.median((standard**4).mean(axis=0))
    size = np.abs(standard)
    clustering = [np.corrcoef(size[:-6, i], size[6:, i])[0, 1] for i in range(10)]
    assert 0.03 < np.median(clustering)
    assert 0.2 < np.median(np.corrcoef(returns.T)[np.triu_indices(10, 1)]) < 0.8


def test_daily_volume_is_between_ten_million_and_a_billion_and_tier_1_is_larger(panel: Panel):
    daily = np.nanmedian(panel.quote_volume, axis=0) * 6
    assert (daily > 5e6).all()
    assert (daily < 1.5e9).all()
    assert daily[panel.tier == 1].min() > daily[panel.tier == 2].max()


def test_coins_list_at_different_times_early_in_train(panel: Panel):
    first = live(panel).argmax(axis=0)
    assert len(panel.assets) - 1 == len(set(first.tolist()))
    assert first.max() < 420 * 6


def test_one_coin_collapses_in_train_and_one_is_delisted_inside_a_fold(panel: Panel):
    deaths = {name: int(last) for name, last in zip(panel.assets, panel.last_bar, strict=True) if last < NEVER}
    assert {COLLAPSES, DELISTED} == set(deaths)
    assert deaths[COLLAPSES] < day_ms("2023-01-01")
    assert any(w.start_ms < deaths[DELISTED] < w.end_ms for w in valid_windows())
    column = panel.assets.index(COLLAPSES)
    close = panel.close[:, column][live(panel)[:, column]]
    assert close[-1] < 0.001 * close[-40]


def test_funding_is_due_every_eight_hours_and_leans_with_momentum(panel: Panel):
    column = 0
    due = panel.funding_at_open[:, column] != 0
    assert {0, 8, 16} == set((panel.times[due] // 3_600_000 % 24).tolist())
    rows = np.flatnonzero(due)[30:]
    week = np.log(panel.close[rows - 1, column] / panel.close[rows - 43, column])
    assert 0.5 < np.corrcoef(week, panel.funding_at_open[rows, column])[0, 1]


def test_equal_seeds_give_equal_markets_and_other_seeds_others():
    assert market_panel(7).digest == market_panel(7).digest
    assert market_panel(7).digest != market_panel(8).digest


def test_bars_before_the_lockbox_do_not_depend_on_its_seed(panel: Panel):
    one, two = market_panel(3, 11), market_panel(3, 12)
    assert panel.digest == one.slice(0, len(panel)).digest == two.slice(0, len(panel)).digest
    assert one.digest != two.digest
    step = np.log(one.open[len(panel)] / one.close[len(panel) - 1])
    assert np.nanmax(np.abs(step)) < 0.01


def test_a_small_panel_of_any_interval_is_made_in_no_time():
    panel = synthetic_panel(1, assets=3, days=10, bar_hours=8)
    assert (8, 30, 3) == panel.cube.shape
    assert 8 * 3_600_000 == panel.bar_ms
    assert live(panel).all()


def test_the_directory_says_synthetic_for_ever(made: Path):
    manifest = load_manifest(made)
    assert ("synthetic", 3) == (manifest.source, manifest.synthetic_seed)
    assert (True, False) == (manifest.is_synthetic, manifest.is_real)
    assert "synthetic" == made.name
    assert made == data_directory(made.parent)
    assert [] == verify(made)


def test_train_files_do_not_know_who_dies_later(made: Path):
    train, valid = load_panel(made, "train"), load_panel(made, "valid")
    column = train.assets.index(DELISTED)
    assert NEVER == train.last_bar[column]
    assert NEVER != valid.last_bar[column]
    assert str(int(valid.last_bar[column])) not in (made / "train.json").read_text()
    assert day_ms("2023-01-01") == train.end_ms


def test_no_lockbox_bar_is_on_disk_and_its_seed_is_private(made: Path):
    assert day_ms("2025-07-01") == load_panel(made, "valid").end_ms
    assert 0o600 == stat.S_IMODE((made / "lockbox.seed").stat().st_mode)


def test_another_seed_needs_force(tmp_path: Path):
    make_synthetic(tmp_path, 1)
    first = load_manifest(tmp_path / "synthetic")
    make_synthetic(tmp_path, 1)
    assert first == load_manifest(tmp_path / "synthetic")
    with pytest.raises(UserError, match="seed 1") as caught:
        make_synthetic(tmp_path, 2)
    assert "--force overwrites it with seed 2" == caught.value.hint
    (tmp_path / "synthetic" / "calibration.json").write_text("{}")
    make_synthetic(tmp_path, 2, True)
    assert 2 == load_manifest(tmp_path / "synthetic").synthetic_seed
    assert not (tmp_path / "synthetic" / "calibration.json").exists()


def test_force_never_touches_a_directory_that_is_not_synthetic(made: Path, tmp_path: Path):
    target = tmp_path / "synthetic"
    target.mkdir()
    text = manifest_path(made).read_text().replace('"source": "synthetic"', '"source": "binance-archive"')
    manifest_path(target).write_text(text.replace('"synthetic_seed": 3', '"synthetic_seed": null'))
    with pytest.raises(DataError, match="never touches real data"):
        make_synthetic(tmp_path, 1, True)
    assert ["manifest.json"] == [path.name for path in target.iterdir()]


def test_a_link_to_another_directory_is_refused(made: Path, tmp_path: Path):
    (tmp_path / "real").mkdir()
    (tmp_path / "synthetic").symlink_to(tmp_path / "real")
    with pytest.raises(DataError, match="is a link"):
        make_synthetic(tmp_path, 1, True)


def test_real_data_stay_where_they_are_when_a_synthetic_market_is_made(tmp_path: Path):
    real = tmp_path / "binance-archive"
    real.mkdir()
    (real / "manifest.json").write_text("real")
    set_current(tmp_path, real)
    make_synthetic(tmp_path, 1, True)
    assert "real" == (real / "manifest.json").read_text()


def test_opening_the_lockbox_continues_the_market_and_repeats_itself(made: Path, tmp_path: Path):
    opened = open_lockbox(made, tmp_path / "lockbox")
    valid = load_panel(made, "valid")
    assert day_ms("2026-07-01") == opened.panel.end_ms
    assert valid.digest == opened.panel.slice(0, len(valid)).digest
    assert np.isfinite(opened.panel.close[-1]).sum() == 18
    again = open_lockbox(made, tmp_path / "lockbox")
    assert (opened.record, opened.panel.digest) == (again.record, again.panel.digest)


def test_a_changed_or_lost_lockbox_seed_is_refused(tmp_path: Path):
    folder = make_synthetic(tmp_path, 1)
    (folder / "lockbox.seed").write_text("00" * 16)
    assert 1 == len(verify(folder))
    with pytest.raises(DataError, match=r"lockbox\.seed: differs from the digest pinned"):
        open_lockbox(folder, tmp_path / "lockbox")
    (folder / "lockbox.seed").unlink()
    with pytest.raises(DataError, match="seed is gone"):
        open_lockbox(folder, tmp_path / "lockbox")


def test_the_command_makes_it_says_so_and_refuses_what_does_not_fit(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    from setup_data import main

    assert 0 == main(["--synthetic", "--force", "--seed", "9", "--data-dir", str(tmp_path)])
    assert "synthetic, seed 9: not a market" in capsys.readouterr().out
    assert 0 == main(["--synthetic", "--seed", "9", "--data-dir", str(tmp_path)])
    assert "already set up" in capsys.readouterr().out
    assert 2 == main(["--synthetic", "--data-dir", str(tmp_path)])
    assert 0 == main(["--verify", "--json", "--data-dir", str(tmp_path)])
    assert '"synthetic_seed": 9' in capsys.readouterr().out
    for wrong in (["--seed", "1"], ["--synthetic", "--keep-raw"]):
        with pytest.raises(SystemExit, match="2"):
            main([*wrong, "--data-dir", str(tmp_path)])
