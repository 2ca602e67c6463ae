"""Opening the sealed period on the small archive: only what was pinned counts."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from small_archive import BAR, QUICK, SMALL, Site, SmallArchive, at, kline_path

from autoquant.errors import DataError, InfrastructureFault
from autoquant.market import NEVER, LockboxData, load_panel, names, open_lockbox
from autoquant.market.fetch import Fetcher
from autoquant.market.setup import Summary

Open = Callable[..., LockboxData]


@pytest.fixture
def opened(go: Callable[..., Summary], site: Site, tmp_path: Path) -> Open:
    """Set up, let `change` happen to the archive, open."""

    def run(change: Callable[[], object] = lambda: None, **options: object) -> LockboxData:
        data_dir = Path(go().directory)
        change()
        site.requests.clear()
        fetcher = Fetcher(site.url, patience=QUICK, jitter=random.Random(0))
        return open_lockbox(data_dir, tmp_path / "lockbox", jobs=2, fetcher=fetcher, protocol=SMALL, **options)

    return run


def test_the_sealed_bars_follow_valid(opened: Open, tmp_path: Path):
    found = opened()
    valid = load_panel(next((tmp_path / "data").glob("127*")), "valid")
    assert valid.digest == found.panel.slice(0, len(valid)).digest
    assert 61 * 6 == len(found.panel) - len(valid)
    assert np.isfinite(found.panel.close).all()
    assert (12, (), (), ()) == (
        len(found.record.files), found.record.changed, found.record.gaps, found.record.endings
    )  # fmt: skip
    assert NEVER == found.panel.last_bar.min()


def test_opening_again_gives_the_same_and_asks_for_nothing(opened: Open, site: Site):
    first = opened()
    second = opened()
    assert [] == site.requests
    assert (first.record, first.panel.digest) == (second.record, second.panel.digest)


def test_a_changed_archive_is_refused_with_both_digests(
    opened: Open, archive: SmallArchive, site: Site, tmp_path: Path
):
    path = kline_path("ETHUSDT", "2023-04")
    pinned = (archive.root / f"{path}.CHECKSUM").read_text()[:64]
    with pytest.raises(DataError) as caught:
        opened(lambda: archive.edit(path, lambda lines: lines[:50] + lines[51:]))
    got = (archive.root / f"{path}.CHECKSUM").read_text()[:64]
    assert f"{site.url}/{path}: changed since set-up, pinned {pinned}, got {got}" == caught.value.message
    assert not (tmp_path / "lockbox" / "raw" / path).exists()
    assert not (tmp_path / "lockbox" / "record.json").exists()


def test_a_changed_archive_that_is_accepted_goes_on_record(opened: Open, archive: SmallArchive):
    path = kline_path("ETHUSDT", "2023-04")
    found = opened(lambda: archive.edit(path, lambda lines: lines[:50] + lines[51:]), accept_changed=True)
    assert True is found.record.accept_changed
    (changed,) = found.record.changed
    assert path == changed.path
    assert changed.pinned != changed.got
    assert [("ETHUSDT", 1)] == [(gap.symbol, gap.bars) for gap in found.record.gaps]


def test_a_damaged_download_is_a_fault_not_a_change(opened: Open, archive: SmallArchive):
    path = kline_path("ETHUSDT", "2023-04")
    with pytest.raises(InfrastructureFault, match="differs from its checksum"):
        opened(lambda: (archive.root / path).write_bytes(b"damaged"))


def test_opening_goes_on_after_a_failure(opened: Open, archive: SmallArchive, site: Site):
    path = names.funding_month("XRPUSDT", "2023-04")
    good = (archive.root / path).read_bytes()
    with pytest.raises(InfrastructureFault):
        opened(lambda: (archive.root / path).write_bytes(b"damaged"))
    found = opened(lambda: (archive.root / path).write_bytes(good))
    assert [path] == site.requests
    assert 12 == len(found.record.files)


def test_an_archive_that_is_gone_names_its_url(opened: Open, archive: SmallArchive, site: Site):
    path = kline_path("ETHUSDT", "2023-04")
    with pytest.raises(DataError, match=f"{site.url}/{path}: 404"):
        opened(lambda: archive.remove(path))


def test_missing_days_stay_gaps_though_a_daily_archive_exists(opened: Open, archive: SmallArchive, site: Site):
    path, day = kline_path("ETHUSDT", "2023-04"), "2023-04-05"
    taken = [line for line in archive.lines(path)[1:] if at(day) <= int(line.split(",")[0]) < at("2023-04-06")]
    archive.edit(path, lambda lines: [line for line in lines if line not in taken])
    archive.write(names.kline_day("ETHUSDT", day, 4), taken)
    found = opened()
    assert [("ETHUSDT", 6)] == [(gap.symbol, gap.bars) for gap in found.record.gaps]
    assert not [asked for asked in site.requests if "daily" in asked]


def test_a_contract_delisted_in_the_sealed_period_ends_there(opened: Open, archive: SmallArchive):
    archive.end("XRPUSDT", at("2023-03-20 08:00"))
    found = opened()
    assert at("2023-03-20 08:00") == found.panel.last_bar[2]
    assert np.isnan(found.panel.close[found.panel.row(at("2023-03-20 12:00")) :, 2]).all()
    assert ["XRPUSDT"] == [ending.symbol for ending in found.record.endings]
    assert 2 == len(found.record.absent)


def test_a_contract_that_died_in_valid_stays_dead_though_its_ticker_comes_back(opened: Open, archive: SmallArchive):
    sealed = {
        p: archive.lines(p) for p in (kline_path("XRPUSDT", "2023-03"), names.funding_month("XRPUSDT", "2023-03"))
    }
    archive.end("XRPUSDT", at("2023-02-01 08:00"))
    for path, lines in sealed.items():
        archive.write(path, lines)
    found = opened()
    assert at("2023-02-01 08:00") == found.panel.last_bar[2]
    assert np.isnan(found.panel.close[found.panel.row(at("2023-03-01")) :, 2]).all()


def test_a_contract_whose_last_days_of_valid_turn_out_to_be_its_tail_ends_there(opened: Open, archive: SmallArchive):
    from small_archive import flat

    def die(lines: list[str]) -> list[str]:
        return [*lines[:-6], *(flat(int(line.split(",")[0]), 301.0) for line in lines[-6:])]

    def stay_dead(lines: list[str]) -> list[str]:
        return [flat(int(line.split(",")[0]), 301.0) for line in lines[1:]]

    archive.edit(kline_path("XRPUSDT", "2023-02"), die)
    archive.edit(kline_path("XRPUSDT", "2023-03"), stay_dead)
    for path in (kline_path("XRPUSDT", "2023-04"), names.funding_month("XRPUSDT", "2023-04")):
        archive.remove(path)
    found = opened()
    last = at("2023-03-01") - 7 * BAR
    assert last == found.panel.last_bar[2]
    assert np.isnan(found.panel.close[found.panel.times > last, 2]).all()


def test_other_data_do_not_open_into_the_same_folder(opened: Open, go: Callable[..., Summary], tmp_path: Path):
    opened()
    record = tmp_path / "lockbox" / "record.json"
    record.write_text(record.read_text().replace('"manifest": "', '"manifest": "0'))
    with pytest.raises(DataError, match="was opened from other data"):
        opened()
