"""Set-up as a whole, on a small archive: each kind of bad data, each fault, resuming."""

from __future__ import annotations

import json
import random
import socket
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from small_archive import (
    BAR,
    FUNDING_HEADER,
    HEADER,
    HOUR,
    QUICK,
    SMALL,
    Lines,
    Site,
    SmallArchive,
    at,
    flat,
    kline,
    kline_path,
)

from autoquant.errors import DataError, InfrastructureFault, UserError
from autoquant.market import NEVER, Panel, load_manifest, load_panel, names, verify
from autoquant.market.fetch import Fetcher
from autoquant.market.manifest import Manifest, manifest_path, unlisted_gaps
from autoquant.market.setup import Summary, set_up

Go = Callable[..., Summary]


def panel_of(summary: Summary, split: str = "valid") -> Panel:
    return load_panel(Path(summary.directory), split)


def manifest_of(summary: Summary) -> Manifest:
    return load_manifest(Path(summary.directory))


def column(panel: Panel, symbol: str) -> int:
    return panel.assets.index(symbol)


def refused(go: Go, tmp_path: Path) -> str:
    """The one line a failing set-up ends with; nothing half-written is left, nothing is committed."""
    with pytest.raises((DataError, InfrastructureFault)) as caught:
        go()
    assert "\n" not in caught.value.message
    assert [] == list((tmp_path / "data").rglob("*.tmp"))
    assert [] == list((tmp_path / "data").rglob("manifest.json"))
    return caught.value.message


def test_a_whole_archive_becomes_two_panels_and_a_manifest(go: Go):
    summary = go()
    train, valid, manifest = panel_of(summary, "train"), panel_of(summary), manifest_of(summary)
    assert 61 * 6 == len(train)
    assert 120 * 6 == len(valid)
    assert train.digest == valid.slice(0, len(train)).digest
    assert 3 * 720 == summary.bars
    assert np.isfinite(valid.close).all()
    assert 24 == len(manifest.files)
    assert 12 == summary.lockbox_pinned
    assert (False, False) == (manifest.is_real, manifest.is_synthetic)
    assert [] == verify(Path(summary.directory))


def test_lockbox_archives_are_pinned_and_never_fetched(go: Go, site: Site):
    go()
    sealed = [path for path in site.requests if "2023-03" in path or "2023-04" in path]
    assert 12 == len(sealed)
    assert all(path.endswith(".CHECKSUM") for path in sealed)


def test_raw_archives_of_valid_go_after_packing_and_those_of_train_stay(go: Go):
    raw = Path(go().directory) / "raw"
    left = {path.name[-11:-4] for path in raw.rglob("*.zip")}
    assert {"2022-11", "2022-12"} == left


def test_keep_raw_keeps_them_all(go: Go):
    raw = Path(go(keep_raw=True).directory) / "raw"
    assert 24 == len(list(raw.rglob("*.zip")))


def test_a_second_run_asks_for_nothing(go: Go, site: Site):
    first = go()
    site.requests.clear()
    second = go()
    assert [] == site.requests
    assert (False, first.manifest) == (second.fresh, second.manifest)


def test_the_manifest_digest_does_not_depend_on_jobs_or_time(go: Go, site: Site, tmp_path: Path):
    one = go()
    fetcher = Fetcher(site.url, patience=QUICK, jitter=random.Random(1))
    two = set_up(tmp_path / "other", base_url=site.url, jobs=1, fetcher=fetcher, protocol=SMALL)
    assert one.manifest == two.manifest


def test_404_in_the_middle_of_life_names_contract_month_and_url(go: Go, archive: SmallArchive, site: Site, tmp_path):
    archive.remove(kline_path("ETHUSDT", "2022-12"))
    message = refused(go, tmp_path)
    assert f"ETHUSDT 2022-12: 404 in the middle of its life: {site.url}/{kline_path('ETHUSDT', '2022-12')}" == message


def test_404_of_the_last_open_month_is_in_the_middle_when_sealed_months_exist(go: Go, archive: SmallArchive, tmp_path):
    archive.remove(kline_path("ETHUSDT", "2023-02"))
    assert "ETHUSDT 2023-02: 404 in the middle" in refused(go, tmp_path)


def test_404_before_listing_is_fine(go: Go, archive: SmallArchive):
    archive.remove(kline_path("XRPUSDT", "2022-11"))
    archive.remove(names.funding_month("XRPUSDT", "2022-11"))
    valid = panel_of(go())
    live = np.isfinite(valid.close[:, column(valid, "XRPUSDT")])
    assert 30 * 6 == int(np.argmax(live))


def test_404_of_a_zip_whose_checksum_is_published_names_the_url(go: Go, archive: SmallArchive, site: Site, tmp_path):
    path = kline_path("ETHUSDT", "2022-12")
    (archive.root / path).unlink()
    assert refused(go, tmp_path).startswith(f"{site.url}/{path}: 404")


def test_a_flat_tail_ends_the_life_and_later_funding_is_cut(go: Go, archive: SmallArchive):
    archive.end("XRPUSDT", at("2023-01-10 08:00"))
    summary = go()
    valid, train = panel_of(summary), panel_of(summary, "train")
    xrp = column(valid, "XRPUSDT")
    assert at("2023-01-10 08:00") == valid.last_bar[xrp]
    assert NEVER == train.last_bar[xrp]
    after = valid.row(at("2023-01-10 12:00"))
    assert np.isnan(valid.close[after:, xrp]).all()
    assert 0.0 == valid.funding_at_open[after:, xrp].sum()
    contract = manifest_of(summary).contracts[xrp]
    assert ("2023-01-10T08:00:00Z", 129) == (contract.last_bar, contract.cut_bars)


def test_files_that_end_early_without_a_flat_tail_are_an_error(go: Go, archive: SmallArchive, tmp_path: Path):
    archive.end("XRPUSDT", at("2023-01-31 20:00"))
    assert "XRPUSDT: files end early without a flat tail" in refused(go, tmp_path)


def test_a_reused_ticker_is_not_joined(go: Go, archive: SmallArchive):
    def die_and_return(lines: Lines) -> Lines:
        out = [HEADER]
        for line in lines[1:]:
            time = int(line.split(",")[0])
            if time <= at("2022-12-05"):
                out.append(kline(time, 100.0))
            elif time >= at("2022-12-05") + 437 * HOUR:
                out.append(kline(time, 900.0))
        return out

    archive.edit(kline_path("XRPUSDT", "2022-12"), die_and_return)
    summary = go()
    valid, manifest = panel_of(summary), manifest_of(summary)
    xrp = column(valid, "XRPUSDT")
    assert at("2022-12-05") == valid.last_bar[xrp]
    assert "re-used ticker" in (manifest.contracts[xrp].ended or "")
    assert np.nanmax(valid.high[:, xrp]) < 400


def test_a_ticker_that_returns_months_after_its_flat_tail_is_not_joined(go: Go, archive: SmallArchive):
    price = 303.0
    archive.edit(
        kline_path("XRPUSDT", "2022-11"),
        lambda lines: [HEADER, *lines[1:100], *(flat(int(x.split(",")[0]), price) for x in lines[100:])],
    )
    archive.remove(kline_path("XRPUSDT", "2022-12"))
    contract = manifest_of(go()).contracts[2]
    assert "later files are a re-used ticker" in (contract.ended or "")
    assert 99 == contract.bars


def test_missing_days_are_repaired_from_daily_archives(go: Go, archive: SmallArchive):
    path, day = kline_path("BTCUSDT", "2023-01"), "2023-01-12"
    taken = [line for line in archive.lines(path)[1:] if at(day) <= int(line.split(",")[0]) < at("2023-01-13")]
    archive.edit(path, lambda lines: [line for line in lines if line not in taken])
    archive.write(names.kline_day("BTCUSDT", day, 4), taken)
    summary = go()
    assert (0, 1) == (summary.gap_bars, summary.repaired_days)
    assert np.isfinite(panel_of(summary).close).all()


def test_a_daily_archive_with_a_wrong_checksum_is_refused(go: Go, archive: SmallArchive, tmp_path: Path):
    path, day = kline_path("BTCUSDT", "2023-01"), "2023-01-12"
    archive.edit(path, lambda lines: [x for x in lines if not (x[:5].isdigit() and at(day) == int(x.split(",")[0]))])
    daily = names.kline_day("BTCUSDT", day, 4)
    archive.write(daily, [kline(at(day))])
    (archive.root / f"{daily}.CHECKSUM").write_text("0" * 64 + "  x.zip\n")
    assert "differs from its checksum" in refused(go, tmp_path)


def test_missing_days_without_a_daily_archive_are_listed(go: Go, archive: SmallArchive):
    path = kline_path("BTCUSDT", "2023-01")
    archive.edit(path, lambda lines: [x for i, x in enumerate(lines) if i not in (50, 51, 80)])
    summary = go()
    assert 3 == summary.gap_bars
    assert [2, 1] == [gap.bars for gap in manifest_of(summary).gaps]
    assert [] == unlisted_gaps(panel_of(summary), manifest_of(summary))
    silent = replace(manifest_of(summary), gaps=manifest_of(summary).gaps[:1])
    assert 1 == len(unlisted_gaps(panel_of(summary), silent))
    assert 3 == int(np.isnan(panel_of(summary).close).sum())


def test_header_or_none_and_microseconds_give_the_same_panel(go: Go, archive: SmallArchive, site: Site, tmp_path):
    plain = go().manifest and panel_of(go()).digest
    archive.edit(kline_path("BTCUSDT", "2022-11"), lambda lines: lines[1:])
    archive.edit(
        kline_path("BTCUSDT", "2023-01"),
        lambda lines: [HEADER, *(f"{x.split(',')[0]}000,{x.split(',', 1)[1]}" for x in lines[1:])],
    )
    archive.edit(names.funding_month("BTCUSDT", "2023-01"), lambda lines: [*lines[:1], *reversed(lines[1:])])
    fetcher = Fetcher(site.url, patience=QUICK, jitter=random.Random(1))
    again = set_up(tmp_path / "other", base_url=site.url, fetcher=fetcher, protocol=SMALL)
    assert plain == panel_of(again).digest


def test_funding_before_the_first_bar_is_cut(go: Go, archive: SmallArchive):
    archive.edit(kline_path("ETHUSDT", "2022-11"), lambda lines: [HEADER, *lines[61:]])
    summary = go()
    valid = panel_of(summary)
    eth = column(valid, "ETHUSDT")
    assert 30 == manifest_of(summary).contracts[eth].cut_funding
    assert 0.0 == valid.funding_at_open[:60, eth].sum()


def test_funding_that_changes_its_interval_is_no_gap(go: Go, archive: SmallArchive):
    start, end = names.month_bounds("2023-01")
    rates = [f"{t},4,0.0001" for t in range(start + 4 * HOUR, end, 4 * HOUR)]
    archive.write(names.funding_month("ETHUSDT", "2023-01"), [FUNDING_HEADER, f"{start},8,0.0001", *rates])
    summary = go()
    assert 0 == summary.funding_gaps
    valid = panel_of(summary)
    assert 186 == np.count_nonzero(valid.funding_at_open[valid.row(start) : valid.row(end), column(valid, "ETHUSDT")])


def test_hourly_funding_is_summed_inside_its_bar(go: Go, archive: SmallArchive):
    start, end = names.month_bounds("2023-01")
    rates = [f"{t},{1 if t > start else 8},0.0001" for t in range(start, end, HOUR)]
    archive.write(names.funding_month("ETHUSDT", "2023-01"), [FUNDING_HEADER, *rates])
    valid = panel_of(go())
    row = valid.row(start)
    assert 0.0003 == pytest.approx(valid.funding_inside[row, column(valid, "ETHUSDT")])


def test_one_missing_funding_row_is_listed(go: Go, archive: SmallArchive):
    archive.edit(names.funding_month("ETHUSDT", "2023-01"), lambda lines: lines[:20] + lines[21:])
    gaps = manifest_of(go()).funding_gaps
    assert [("ETHUSDT", 16.0)] == [(gap.symbol, gap.hours) for gap in gaps]


def test_more_than_a_day_without_funding_is_an_error_naming_contract_and_month(
    go: Go, archive: SmallArchive, tmp_path: Path
):
    archive.edit(names.funding_month("ETHUSDT", "2023-01"), lambda lines: lines[:20] + lines[23:])
    assert "ETHUSDT: funding missing for 32 h in 2023-01" in refused(go, tmp_path)


def test_a_month_of_bars_without_a_funding_file_is_an_error(go: Go, archive: SmallArchive, site: Site, tmp_path: Path):
    path = names.funding_month("ETHUSDT", "2023-01")
    archive.remove(path)
    message = f"ETHUSDT 2023-01: funding missing while it trades (404): {site.url}/{path}"
    assert message == refused(go, tmp_path)


def test_a_month_of_bars_with_an_empty_funding_file_is_an_error(go: Go, archive: SmallArchive, tmp_path: Path):
    archive.edit(names.funding_month("ETHUSDT", "2023-01"), lambda lines: lines[:1])
    assert "ETHUSDT 2023-01: funding missing while it trades (no row)" in refused(go, tmp_path)


def test_zero_volume_inside_life_stays_a_bar(go: Go, archive: SmallArchive):
    path = kline_path("BTCUSDT", "2023-01")
    archive.edit(path, lambda lines: [*lines[:9], flat(int(lines[9].split(",")[0]), 100.0), *lines[10:]])
    summary = go()
    assert 0 == summary.gap_bars
    valid = panel_of(summary)
    assert 0.0 == valid.volume[valid.row(at("2023-01-02 08:00")), 0]


@pytest.mark.parametrize(("hours", "inside"), [(1, 0), (8, 0), (24, 2)])
def test_any_bar_length_is_packed(hours: int, inside: int, tmp_path: Path):
    protocol = replace(SMALL, calendar=replace(SMALL.calendar, bar_hours=hours))
    site = Site(SmallArchive(tmp_path / "site", protocol).root)
    fetcher = Fetcher(site.url, patience=QUICK)
    summary = set_up(tmp_path / "data", base_url=site.url, jobs=2, fetcher=fetcher, protocol=protocol)
    site.close()
    valid = panel_of(summary)
    assert (hours * HOUR, 120 * 24 // hours) == (valid.bar_ms, len(valid))
    assert np.isfinite(valid.close).all()
    assert inside * 0.0001 == pytest.approx(valid.funding_inside.mean())


def test_a_wrong_base_url_names_it(go: Go, archive: SmallArchive, site: Site, tmp_path: Path):
    for path in list(archive.root.rglob("*BTCUSDT*")):
        if path.is_file():
            path.unlink()
    assert f"BTCUSDT: the archive has no bars at all ({site.url}/" in refused(go, tmp_path)


def test_no_network_is_one_line(tmp_path: Path):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{probe.getsockname()[1]}"
    fetcher = Fetcher(url, patience=QUICK, jitter=random.Random(0))
    with pytest.raises(InfrastructureFault, match=r"BTCUSDT.*cannot connect .*refused.* \(4 tries\)"):
        set_up(tmp_path, base_url=url, jobs=1, fetcher=fetcher, protocol=SMALL)


def test_a_full_disk_is_one_line_and_the_next_run_goes_on(go: Go, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    import errno
    import os

    real, budget = os.write, [40]

    def write(descriptor: int, data: bytes) -> int:
        budget[0] -= 1
        if budget[0] < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(descriptor, data)

    with monkeypatch.context() as patched:
        patched.setattr("autoquant.files.os.write", write)
        message = refused(go, tmp_path)
    assert "No space left on device" in message
    assert ".zip" in message
    assert go().fresh


@pytest.mark.parametrize("jobs", [1, 3])
def test_what_was_verified_before_a_failure_is_not_fetched_again(
    archive: SmallArchive, site: Site, tmp_path, jobs: int
):
    path = kline_path("XRPUSDT", "2023-02")
    good = (archive.root / path).read_bytes()
    (archive.root / path).write_bytes(b"rubbish")
    options = {"base_url": site.url, "jobs": jobs, "protocol": SMALL}
    with pytest.raises(InfrastructureFault, match="differs from its checksum"):
        set_up(tmp_path / "data", fetcher=Fetcher(site.url, patience=QUICK), **options)
    (archive.root / path).write_bytes(good)
    kept = {str(p.relative_to(tmp_path / "data")).split("/raw/")[1] for p in (tmp_path / "data").rglob("*.zip")}
    site.requests.clear()
    assert set_up(tmp_path / "data", fetcher=Fetcher(site.url, patience=QUICK), **options).fresh
    assert kept
    assert set() == kept & set(site.requests)


def test_a_damaged_archive_on_disk_is_fetched_again(go: Go, archive: SmallArchive, site: Site, tmp_path: Path):
    archive.remove(names.funding_month("XRPUSDT", "2023-02"))
    refused(go, tmp_path)
    archive.write(
        names.funding_month("XRPUSDT", "2023-02"),
        [FUNDING_HEADER, *(f"{t},8,0.0001" for t in range(at("2023-02-01"), at("2023-03-01"), 8 * HOUR))],
    )
    stored = next((tmp_path / "data").rglob("BTCUSDT-4h-2022-11.zip"))
    stored.write_bytes(stored.read_bytes()[:-7])
    assert go().fresh


def test_leftovers_of_a_killed_run_are_swept(go: Go, site: Site, tmp_path: Path):
    folder = tmp_path / "data" / site.url.removeprefix("http://").replace(":", "-") / "raw" / "data"
    folder.mkdir(parents=True)
    (folder / ".BTC.zip.1.ab.tmp").write_bytes(b"half")
    go()
    assert [] == list((tmp_path / "data").rglob("*.tmp"))


def test_a_killed_cleanup_is_finished_by_the_next_run(go: Go):
    folder = Path(go(keep_raw=False).directory)
    left = folder / "raw" / kline_path("BTCUSDT", "2023-01")
    left.parent.mkdir(parents=True, exist_ok=True)
    left.write_bytes(b"x")
    go()
    assert not left.exists()


def test_verify_names_every_kind_of_damage(go: Go):
    folder = Path(go().directory)
    stored = folder / "raw" / kline_path("BTCUSDT", "2022-11")
    stored.write_bytes(b"x" + stored.read_bytes()[1:])
    (folder / "raw" / kline_path("ETHUSDT", "2022-11")).unlink()
    cube = bytearray((folder / "valid.npy").read_bytes())
    cube[-30_000] ^= 1
    (folder / "valid.npy").write_bytes(cube)
    problems = verify(folder)
    assert 3 == len(problems)
    assert "content differs from the manifest's digest" in problems[0]
    assert "differs from the manifest's checksum" in problems[1]
    assert "missing" in problems[2]


@pytest.mark.parametrize(
    "change",
    [{"tier": 2}, {"last_bar": "2022-12-01T00:00:00Z"}, {"symbol": "XBTUSDT"}],
    ids=["tier", "last bar", "symbol"],
)
def test_verify_names_a_contract_that_the_manifest_describes_otherwise(go: Go, change: dict[str, object]):
    folder = Path(go().directory)
    path = folder / "manifest.json"
    content = json.loads(path.read_text())
    content["contracts"][0] |= change
    path.write_text(json.dumps(content))
    assert any("the manifest's tier or last bar is not the panel's" in problem for problem in verify(folder))


def test_a_complete_directory_whose_panel_is_gone_is_refused(go: Go):
    folder = Path(go().directory)
    (folder / "train.npy").unlink()
    with pytest.raises(DataError, match=r"train\.npy: no such panel"):
        go()


def test_two_set_ups_at_once_are_refused(go: Go, tmp_path: Path):
    from autoquant.files import exclusive_lock

    with (
        exclusive_lock(tmp_path / "data" / ".setup.lock", "another setup_data.py since noon"),
        pytest.raises(UserError, match="since noon"),
    ):
        go()


def test_force_on_real_data_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path):
    from setup_data import main

    assert 2 == main(["--force", "--data-dir", str(tmp_path)])
    assert "--force only overwrites synthetic data" in capsys.readouterr().err


FAULTS = {
    "429": ("429:BTCUSDT-4h-2022-1.*", None),
    "500": ("500:ETHUSDT.*zip$:2", None),
    "503": ("503:fundingRate.*2023:1", None),
    "404": ("404:ETHUSDT-4h-2022-12", "ETHUSDT 2022-12: 404 in the middle"),
    "truncate": ("truncate:2022-12.zip$", None),
    "corrupt": ("corrupt:ETHUSDT-4h-2022-12.zip$", "ETHUSDT-4h-2022-12.zip: differs from its checksum"),
    "badsum": ("badsum:ETHUSDT-4h-2022-12.zip", "ETHUSDT-4h-2022-12.zip: differs from its checksum"),
    "html": ("html:ETHUSDT-4h-2022-12.zip$", "ETHUSDT-4h-2022-12.zip: is an HTML page"),
    "html-checksum": ("html:ETHUSDT-4h-2022-12.zip.CHECKSUM", "CHECKSUM: is not a checksum file"),
    "always-503": ("503:ETHUSDT-4h-2022-12.zip$:99", "ETHUSDT-4h-2022-12.zip: answers 503 (4 tries)"),
    "slow": ("slow:ETHUSDT-4h-2022-12.zip$", None),
}


@pytest.mark.shared
@pytest.mark.parametrize("kind", FAULTS)
def test_each_fault_of_the_mirror_ends_right_or_with_one_line_and_a_second_run_continues(
    kind: str, archive: SmallArchive, serve, tmp_path: Path
):
    fault, said = FAULTS[kind]
    url = serve(archive.root, fault)
    data = tmp_path / "data"

    def run(address: str) -> Summary:
        fetcher = Fetcher(address, patience=QUICK, jitter=random.Random(0))
        return set_up(data, base_url="http://mirror.test", jobs=4, fetcher=fetcher, protocol=SMALL)

    if said is None:
        assert run(url).fresh
    else:
        with pytest.raises((DataError, InfrastructureFault)) as caught:
            run(url)
        assert said in caught.value.message
        assert url in caught.value.message
        assert [] == list(data.rglob("*.tmp"))
        assert not manifest_path(data / "mirror.test").exists()
        assert run(serve(archive.root)).fresh
    assert [] == verify(data / "mirror.test")
    assert BAR == load_panel(data / "mirror.test", "valid").bar_ms


def test_keep_raw_after_the_archives_are_gone_is_refused_and_changes_nothing(go: Go):
    folder = Path(go().directory)
    before = sorted(folder.rglob("*"))
    with pytest.raises(UserError, match="--keep-raw comes too late"):
        go(keep_raw=True)
    assert before == sorted(folder.rglob("*"))
