"""Set market data up: download, check, pack, pin. The manifest is written last and commits it all."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import numpy as np

from autoquant import files
from autoquant.clock import Clock, SystemClock, day_ms, ms_iso, utc_iso
from autoquant.errors import DataError, UserError
from autoquant.market import names
from autoquant.market.archive import (
    History,
    Month,
    Progress,
    Store,
    assemble,
    fan_out,
    on_grid,
    pin_lockbox,
    read_month,
)
from autoquant.market.fetch import Fetcher
from autoquant.market.grid import HOUR_MS, Ints
from autoquant.market.manifest import (
    ARCHIVE_URL,
    SYNTHETIC,
    Contract,
    LockboxPin,
    Manifest,
    data_directory,
    directory_name,
    load_manifest,
    manifest_path,
    panel_pin,
    quick_check,
    save_manifest,
    set_current,
    source_of,
    verify,
)
from autoquant.market.panel import Panel
from autoquant.market.store import save_panel
from autoquant.market.synthetic_setup import DEFAULT_SEED, make_synthetic
from autoquant.protocol import PROTOCOL, SCHEMA_VERSION, Protocol


@dataclass(frozen=True)
class Summary:
    """What a set-up left behind, as setup_data.py prints it."""

    source: str
    directory: str
    fresh: bool
    """False when everything was there already."""
    synthetic_seed: int | None
    contracts: int
    bars: int
    archives: int
    gap_bars: int
    repaired_days: int
    funding_gaps: int
    lockbox_pinned: int
    lockbox_absent: int
    manifest: str

    @staticmethod
    def of(data_dir: Path, *, fresh: bool) -> Summary:
        """Summary of a complete data directory."""
        manifest = load_manifest(data_dir)
        pinned = sum(pin.sha256 is not None for pin in manifest.lockbox)
        return Summary(
            source=manifest.source,
            directory=str(data_dir),
            fresh=fresh,
            synthetic_seed=manifest.synthetic_seed,
            contracts=len(manifest.contracts),
            bars=sum(contract.bars for contract in manifest.contracts),
            archives=len(manifest.files),
            gap_bars=sum(gap.bars for gap in manifest.gaps),
            repaired_days=len(manifest.repairs),
            funding_gaps=len(manifest.funding_gaps),
            lockbox_pinned=pinned,
            lockbox_absent=len(manifest.lockbox) - pinned,
            manifest=manifest.digest,
        )

    def text(self) -> str:
        """A few lines for a terminal."""
        name = self.source if self.synthetic_seed is None else f"synthetic, seed {self.synthetic_seed}: not a market"
        sealed = (
            "generated at opening, from a seed pinned in lockbox.seed"
            if self.synthetic_seed is not None
            else f"{self.lockbox_pinned} archives pinned, {self.lockbox_absent} absent, none fetched"
        )
        state = "ready" if self.fresh else "already set up"
        return (
            f"data        {state}: {name}\n"
            f"contracts   {self.contracts}, {self.bars:,} bars from {self.archives:,} archives\n"
            f"gaps        {self.gap_bars} bars missing, {self.repaired_days} days repaired from daily archives, "
            f"{self.funding_gaps} funding gaps\n"
            f"lockbox     {sealed}\n"
            f"where       {self.directory}\n"
            f"manifest    {self.manifest}"
        )


def set_up(
    data_root: Path,
    *,
    base_url: str | None = None,
    jobs: int = 8,
    keep_raw: bool = False,
    on_progress: Progress | None = None,
    clock: Clock | None = None,
    fetcher: Fetcher | None = None,
    protocol: Protocol = PROTOCOL,
) -> Summary:
    """Download and pack TRAIN and VALID, pin LOCKBOX. Calling again goes on, or says that all is there.

    Parameters
    ----------
    data_root : holds one directory per source, and `current`.
    base_url : a mirror of the public archive's layout; by default the archive itself.
    jobs : downloads at a time.
    keep_raw : keep VALID's archives after packing; TRAIN's are kept always.
    protocol : names universe and calendar.

    Raises
    ------
    DataError : an archive breaks a data rule; names contract, month and URL.
    InfrastructureFault : network or disk; calling again goes on.
    """
    base_url = base_url or ARCHIVE_URL
    source = source_of(base_url)
    data_dir = data_root / directory_name(source)
    clock = clock or SystemClock()
    with _alone(data_root, clock):
        if manifest_path(data_dir).exists():
            _check_complete(data_dir, source, protocol)
            if keep_raw and not all(pin.kept for pin in load_manifest(data_dir).files):
                raise UserError(
                    f"{data_dir}: VALID's archives were removed when it was set up; --keep-raw comes too late",
                    "remove this directory by hand and run setup_data.py --keep-raw",
                )
            _drop_packed(data_dir)
            set_current(data_root, data_dir)
            return Summary.of(data_dir, fresh=False)
        _sweep(data_dir)
        fetcher = fetcher or Fetcher(base_url, clock=clock)
        manifest = _download(data_dir, source, fetcher, jobs, keep_raw, on_progress, clock, protocol)
        save_manifest(data_dir, manifest)
        _drop_packed(data_dir)
        set_current(data_root, data_dir)
    return Summary.of(data_dir, fresh=True)


def set_up_synthetic(data_root: Path, *, seed: int | None, force: bool, clock: Clock | None = None) -> Summary:
    """Make the synthetic market; see `make_synthetic`."""
    clock = clock or SystemClock()
    with _alone(data_root, clock):
        before = _manifest_digest(data_root / SYNTHETIC)
        data_dir = make_synthetic(data_root, DEFAULT_SEED if seed is None else seed, force, clock=clock)
    return Summary.of(data_dir, fresh=_manifest_digest(data_dir) != before)


def verified(data_root: Path, *, base_url: str | None = None, synthetic: bool = False) -> Summary:
    """Recheck a data directory's content against its manifest; by default the current one's.

    Raises
    ------
    DataError : the first problem, and how many there are.
    """
    if synthetic or base_url is not None:
        data_dir = data_root / directory_name(SYNTHETIC if synthetic else source_of(base_url or ""))
    else:
        data_dir = data_directory(data_root)
    problems = verify(data_dir)
    if problems:
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        raise DataError(problems[0] + more, "remove the data directory by hand and set it up again")
    return Summary.of(data_dir, fresh=False)


def refuse_force() -> NoReturn:
    """`--force` has nothing to overwrite but a synthetic market."""
    raise UserError(
        "--force only overwrites synthetic data; real data are never replaced",
        "to set real data up anew, remove their directory by hand and run setup_data.py again",
    )


def _manifest_digest(data_dir: Path) -> str | None:
    return load_manifest(data_dir).digest if manifest_path(data_dir).exists() else None


@contextlib.contextmanager
def _alone(data_root: Path, clock: Clock) -> Iterator[None]:
    if data_root.exists() and not data_root.is_dir():
        raise UserError(f"{data_root}: a file stands where the data should go", "--data-dir DIR names a folder")
    try:
        data_root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise files.disk_fault(data_root, error) from None
    with files.exclusive_lock(data_root / ".setup.lock", f"another setup_data.py since {utc_iso(clock.now())}"):
        yield


def _check_complete(data_dir: Path, source: str, protocol: Protocol) -> None:
    hint = "remove this directory by hand and run setup_data.py again"
    try:
        manifest = load_manifest(data_dir)
    except DataError as error:
        raise DataError(error.message, hint) from None
    problems = quick_check(data_dir, manifest)
    if manifest.source != source:
        problems.insert(0, f"{data_dir}: holds data of {manifest.source}, not of {source}")
    if manifest.bar_hours != protocol.calendar.bar_hours:
        problems.insert(0, f"{data_dir}: holds {manifest.bar_hours}-hour bars, not {protocol.calendar.bar_hours}-hour")
    if problems:
        raise DataError(problems[0], hint)


def _sweep(data_dir: Path) -> None:
    """Remove what a killed run left half-written."""
    for leftover in sorted(data_dir.rglob(".*.tmp")):
        leftover.unlink(missing_ok=True)


def _drop_packed(data_dir: Path) -> None:
    """Remove archives that are packed and not to be kept; the manifest has their hashes."""
    raw = data_dir / "raw"
    for pin in load_manifest(data_dir).files:
        if not pin.kept:
            (raw / pin.path).unlink(missing_ok=True)
            (raw / f"{pin.path}.CHECKSUM").unlink(missing_ok=True)


def _download(
    data_dir: Path,
    source: str,
    fetcher: Fetcher,
    jobs: int,
    keep_raw: bool,
    on_progress: Progress | None,
    clock: Clock,
    protocol: Protocol,
) -> Manifest:
    calendar = protocol.calendar
    store = Store(data_dir / "raw", fetcher)

    def keep(day_or_month: str) -> bool:
        return keep_raw or day_or_month < calendar.valid_start[: len(day_or_month)]

    def work(item: tuple[str, str]) -> Month | tuple[LockboxPin, LockboxPin]:
        symbol, month = item
        if month >= calendar.lockbox_start[:7]:
            return pin_lockbox(fetcher, symbol, month, calendar.bar_hours)
        return read_month(store.get, fetcher, symbol, month, calendar, keep=keep(month))

    every = names.open_months(calendar) + names.sealed_months(calendar)
    items = [(symbol, month) for symbol in protocol.universe for month in every]
    results = dict(zip(items, fan_out(work, items, fetcher, jobs, on_progress), strict=True))
    months = {key: value for key, value in results.items() if isinstance(value, Month)}
    pins = {key: value for key, value in results.items() if not isinstance(value, Month)}
    first_sealed = names.sealed_months(calendar)[0]

    def history(symbol: str) -> History:
        return assemble(
            store,
            symbol,
            [months[symbol, month] for month in names.open_months(calendar)],
            calendar=calendar,
            lives_on=pins[symbol, first_sealed][0].sha256 is not None,
            keep=keep,
        )

    histories = fan_out(history, list(protocol.universe), fetcher, jobs, None)
    valid = _panel(histories, protocol)
    train = valid.slice(0, valid.row(day_ms(calendar.valid_start)))
    save_panel(train, data_dir, "train")
    save_panel(valid, data_dir, "valid")
    return Manifest(
        schema_version=SCHEMA_VERSION,
        source=source,
        base_url=fetcher.base_url,
        created=utc_iso(clock.now()),
        bar_hours=calendar.bar_hours,
        files=tuple(sorted((pin for one in histories for pin in one.pins), key=lambda pin: pin.path)),
        contracts=tuple(_contract(one, protocol) for one in histories),
        gaps=tuple(gap for one in histories for gap in one.gaps),
        repairs=tuple(repair for one in histories for repair in one.repairs),
        funding_gaps=tuple(gap for one in histories for gap in one.funding_gaps),
        splits={"train": panel_pin(train), "valid": panel_pin(valid)},
        lockbox=tuple(sorted((pin for pair in pins.values() for pin in pair), key=lambda pin: pin.path)),
        synthetic_seed=None,
    )


def _panel(histories: list[History], protocol: Protocol) -> Panel:
    calendar = protocol.calendar
    bar_ms = calendar.bar_hours * HOUR_MS
    times: Ints = np.arange(day_ms(calendar.archive_start), day_ms(calendar.lockbox_start), bar_ms, dtype=np.int64)
    return Panel.from_arrays(
        times,
        {one.symbol: on_grid(times, one.bars) for one in histories},
        {one.symbol: (one.funding.times, one.funding.rates) for one in histories},
        {one.symbol: protocol.tier(one.symbol) for one in histories},
        {one.symbol: one.life.last_ms for one in histories if one.life.last_ms is not None},
        bar_ms=bar_ms,
    )


def _contract(one: History, protocol: Protocol) -> Contract:
    last = one.life.last_ms
    return Contract(
        symbol=one.symbol,
        tier=protocol.tier(one.symbol),
        first_bar=ms_iso(one.life.first_ms),
        last_bar=None if last is None else ms_iso(last),
        bars=len(one.bars),
        funding_rows=len(one.funding),
        ended=one.life.ended,
        cut_bars=one.cut_bars,
        cut_funding=one.cut_funding,
    )
