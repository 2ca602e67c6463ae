"""Open the sealed period: fetch, verify against the checksums pinned at set-up, pack.

Only the pinned set counts. An archive that was absent at set-up is not looked for, a day that a sealed month lacks
stays a gap, and an archive whose bytes have changed since is refused unless that is accepted, which goes on the record.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from autoquant import codec, files
from autoquant.clock import Clock, SystemClock, day_ms, ms_iso, utc_iso
from autoquant.errors import DataError
from autoquant.market import names
from autoquant.market.archive import Month, Progress, Store, fan_out, joined_funding, on_grid, read_month, unbroken
from autoquant.market.fetch import CONTINUE, Fetcher
from autoquant.market.grid import FIELDS, HOUR_MS, NEVER, Floats, Ints
from autoquant.market.life import cut_bars, cut_funding, find_life, funding_gaps, gaps
from autoquant.market.manifest import FilePin, FundingGap, Gap, LockboxPin, Manifest, PanelPin, load_manifest, panel_pin
from autoquant.market.panel import Panel
from autoquant.market.parse import Funding, Klines, join_klines
from autoquant.market.store import load_panel, save_panel
from autoquant.market.synthetic import market_panel
from autoquant.market.synthetic_setup import read_lockbox_seed
from autoquant.protocol import PROTOCOL, SCHEMA_VERSION, Calendar, Protocol

TAIL_DAYS = 30
"""How much of VALID is looked at to tell a contract that died at its end from one that lives on."""


@dataclass(frozen=True)
class ChangedArchive:
    """An archive whose bytes are not those pinned at set-up."""

    path: str
    pinned: str
    got: str


@dataclass(frozen=True)
class Ending:
    """A contract that ended in the sealed period; `last_bar` is an ISO UTC open time."""

    symbol: str
    last_bar: str
    ended: str


@dataclass(frozen=True)
class LockboxRecord:
    """What opening the sealed period found, for the race's record."""

    schema_version: int
    manifest: str
    source: str
    base_url: str | None
    fetched: str
    accept_changed: bool
    files: tuple[FilePin, ...]
    changed: tuple[ChangedArchive, ...]
    absent: tuple[str, ...]
    """Archives that did not exist at set-up (404) and were not looked for."""
    gaps: tuple[Gap, ...]
    funding_gaps: tuple[FundingGap, ...]
    endings: tuple[Ending, ...]
    panel: PanelPin


@dataclass(frozen=True)
class LockboxData:
    """TRAIN, VALID and LOCKBOX as one panel, and what was found on the way."""

    panel: Panel
    record: LockboxRecord


@dataclass(frozen=True)
class _Sealed:
    """One contract's sealed months, clean; `last_ms` is None while it lives on."""

    bars: Klines
    funding: Funding
    last_ms: int | None
    ended: str | None
    gaps: tuple[Gap, ...]
    funding_gaps: tuple[FundingGap, ...]


def open_lockbox(
    data_dir: Path,
    target_dir: Path,
    *,
    base_url: str | None = None,
    accept_changed: bool = False,
    jobs: int = 8,
    on_progress: Progress | None = None,
    clock: Clock | None = None,
    fetcher: Fetcher | None = None,
    protocol: Protocol = PROTOCOL,
) -> LockboxData:
    """Fetch, verify and pack the sealed period; calling again after a crash, or after success, gives the same.

    Parameters
    ----------
    data_dir : a complete data directory.
    target_dir : keeps the archives, the packed panel and `record.json`, written last.
    base_url : where to fetch from; by default the manifest's source. The pinned checksums alone bind.
    accept_changed : take archives that changed since set-up, and say so on the record.
    jobs : downloads at a time.
    protocol : names universe and calendar.

    Raises
    ------
    DataError : an archive changed or is gone, or breaks a data rule; names contract, file and digests.
    InfrastructureFault : the network or the disk failed; calling again goes on.
    """
    manifest = load_manifest(data_dir)
    done = _already(target_dir, manifest)
    if done is not None:
        return done
    valid = load_panel(data_dir, "valid")
    now = utc_iso((clock or SystemClock()).now())
    if manifest.is_synthetic:
        panel, record = _made_up(data_dir, manifest, valid, now, protocol)
    else:
        address = base_url or manifest.base_url
        if address is None:
            raise DataError(f"{data_dir}: the manifest names no base URL", "give one with --base-url")
        source = fetcher or Fetcher(address, clock=clock)
        panel, record = _fetched(
            source, target_dir, manifest, valid, accept_changed, jobs, on_progress, now, protocol.calendar
        )
    save_panel(panel, target_dir, "lockbox")
    files.atomic_write(target_dir / "record.json", codec.dumps(record, indent=1) + "\n")
    return LockboxData(load_panel(target_dir, "lockbox"), record)


def _already(target_dir: Path, manifest: Manifest) -> LockboxData | None:
    path = target_dir / "record.json"
    if not path.exists():
        return None
    record = codec.loads(LockboxRecord, path.read_bytes(), str(path))
    if record.manifest != manifest.digest:
        raise DataError(f"{path}: was opened from other data ({record.manifest[:12]}…, here {manifest.digest[:12]}…)")
    panel = load_panel(target_dir, "lockbox")
    if panel.digest != record.panel.digest:
        raise DataError(
            f"{target_dir / 'lockbox.npy'}: differs from the digest in record.json",
            f"remove {target_dir}, then the same command fetches it again",
        )
    return LockboxData(panel, record)


def _made_up(
    data_dir: Path, manifest: Manifest, valid: Panel, now: str, protocol: Protocol
) -> tuple[Panel, LockboxRecord]:
    seed = manifest.synthetic_seed
    if seed is None or len(manifest.lockbox) != 1:
        raise DataError(f"{data_dir}: the synthetic manifest pins no lockbox seed")
    panel = market_panel(seed, read_lockbox_seed(data_dir, manifest.lockbox[0]), protocol=protocol)
    if panel.slice(0, len(valid)).digest != valid.digest:
        raise DataError(
            f"{data_dir}: seed {seed} no longer gives the bars that were pinned",
            "this version of the program or of numpy draws another market",
        )
    sealed = int(valid.times[-1])
    endings = tuple(
        Ending(name, ms_iso(int(last)), "delisted by the recipe")
        for name, last in zip(panel.assets, panel.last_bar, strict=True)
        if sealed < last < NEVER
    )
    return panel, _record(manifest, None, now, False, endings=endings, panel=panel)


def _record(
    manifest: Manifest,
    base_url: str | None,
    now: str,
    accept_changed: bool,
    *,
    panel: Panel,
    pins: tuple[FilePin, ...] = (),
    changed: tuple[ChangedArchive, ...] = (),
    absent: tuple[str, ...] = (),
    found_gaps: tuple[Gap, ...] = (),
    found_funding_gaps: tuple[FundingGap, ...] = (),
    endings: tuple[Ending, ...] = (),
) -> LockboxRecord:
    return LockboxRecord(
        schema_version=SCHEMA_VERSION,
        manifest=manifest.digest,
        source=manifest.source,
        base_url=base_url,
        fetched=now,
        accept_changed=accept_changed,
        files=pins,
        changed=changed,
        absent=absent,
        gaps=found_gaps,
        funding_gaps=found_funding_gaps,
        endings=endings,
        panel=panel_pin(panel),
    )


class _Vault:
    """Gets pinned archives; notes those that changed."""

    def __init__(self, store: Store, pins: tuple[LockboxPin, ...], accept_changed: bool) -> None:
        self.store = store
        self.pinned = {pin.path: pin.sha256 for pin in pins}
        self.accept_changed = accept_changed
        self.changed: dict[str, ChangedArchive] = {}
        self._lock = threading.Lock()

    def get(self, path: str) -> tuple[bytes, str] | None:
        """Bytes and sha256 of a pinned archive, None when it was absent at set-up."""
        pinned = self.pinned.get(path)
        if pinned is None:
            return None
        kept = self.store.stored(path)
        body, digest = kept or self._fetch(path, pinned)
        if digest != pinned:
            if not self.accept_changed:
                raise DataError(
                    f"{self.store.fetcher.url(path)}: changed since set-up, pinned {pinned}, got {digest}",
                    "--accept-changed takes it as it is now; the record and every page will say so",
                )
            with self._lock:
                self.changed[path] = ChangedArchive(path, pinned, digest)
        if kept is None:
            self.store.put(path, body, digest)
        return body, digest

    def _fetch(self, path: str, pinned: str) -> tuple[bytes, str]:
        """The archive's bytes: as pinned, or as the archive itself now vouches for (a change, not a damage)."""
        published: list[str | None] = []

        def accept(got: str) -> bool:
            if got == pinned:
                return True
            if not published:
                published.append(self.store.fetcher.checksum(path))
            return got == published[0]

        body = self.store.fetcher.any_archive(path, accept)
        return body, files.sha256_bytes(body)


def _fetched(
    fetcher: Fetcher,
    target_dir: Path,
    manifest: Manifest,
    valid: Panel,
    accept_changed: bool,
    jobs: int,
    on_progress: Progress | None,
    now: str,
    calendar: Calendar,
) -> tuple[Panel, LockboxRecord]:
    vault = _Vault(Store(target_dir / "raw", fetcher), manifest.lockbox, accept_changed)
    alive = [name for name, last in zip(valid.assets, valid.last_bar, strict=True) if last == NEVER]
    items = [(symbol, month) for symbol in alive for month in names.sealed_months(calendar)]

    def fetch(item: tuple[str, str]) -> Month:
        return read_month(vault.get, fetcher, *item, calendar, keep=True)

    months = fan_out(fetch, items, fetcher, jobs, on_progress)
    found = {symbol: [m for item, m in zip(items, months, strict=True) if item[0] == symbol] for symbol in alive}
    sealed = {symbol: _assemble(fetcher, symbol, found[symbol], valid, calendar) for symbol in alive}
    panel = _joined(valid, sealed, calendar)
    record = _record(
        manifest,
        fetcher.base_url,
        now,
        accept_changed,
        panel=panel,
        pins=tuple(sorted((pin for month in months for pin in month.pins), key=lambda pin: pin.path)),
        changed=tuple(vault.changed[path] for path in sorted(vault.changed)),
        absent=tuple(sorted(pin.path for pin in manifest.lockbox if pin.sha256 is None)),
        found_gaps=tuple(gap for part in sealed.values() for gap in part.gaps),
        found_funding_gaps=tuple(gap for part in sealed.values() for gap in part.funding_gaps),
        endings=tuple(
            Ending(symbol, ms_iso(part.last_ms), part.ended or "")
            for symbol, part in sealed.items()
            if part.last_ms is not None
        ),
    )
    return panel, record


def _assemble(fetcher: Fetcher, symbol: str, found: list[Month], valid: Panel, calendar: Calendar) -> _Sealed:
    """A contract's sealed life; the end of VALID decides with it whether it died."""
    bar_ms, start = calendar.bar_hours * HOUR_MS, day_ms(calendar.lockbox_start)
    tail = _tail(valid, symbol)
    if found[0].bars is None:
        path = names.kline_month(symbol, found[0].month, calendar.bar_hours)
        raise DataError(f"{symbol}: lived at the end of VALID, but {path} was absent at set-up", CONTINUE)
    run, _ = unbroken(fetcher, symbol, found, calendar, lives_on=False, before=tail)
    fresh = join_klines([month.bars for month in run if month.bars is not None], symbol)
    bars = join_klines([tail, fresh], symbol)
    files_end = len(run) < len(found)
    life = find_life(bars, symbol, files_end=files_end, bar_ms=bar_ms)
    end_ms = names.month_bounds(run[-1].month)[1]
    stop_ms = end_ms if life.last_ms is None else life.last_ms + bar_ms
    rows = joined_funding(fetcher, symbol, run, start, stop_ms)
    held = cut_funding(rows, life, bar_ms)
    clean = cut_bars(fresh, life)
    edge = np.append(tail.times[-1:], clean.times)
    return _Sealed(
        bars=clean,
        funding=held,
        last_ms=life.last_ms,
        ended=life.ended,
        gaps=gaps(symbol, edge, stop_ms, bar_ms) if stop_ms > start else (),
        funding_gaps=funding_gaps(symbol, held, start, stop_ms) if stop_ms > start else (),
    )


def _tail(valid: Panel, symbol: str) -> Klines:
    column = valid.assets.index(symbol)
    first = valid.row(valid.end_ms - TAIL_DAYS * 24 * HOUR_MS)
    values = valid.cube[: len(FIELDS), first:, column].T
    live = np.isfinite(values[:, 3])
    return Klines(valid.times[first:][live], np.array(values[live]))


def _joined(valid: Panel, sealed: dict[str, _Sealed], calendar: Calendar) -> Panel:
    """VALID's panel with the sealed rows behind it; what died just before is cut where it died."""
    bar_ms = valid.bar_ms
    times: Ints = np.arange(day_ms(calendar.lockbox_start), day_ms(calendar.lockbox_end), bar_ms, dtype=np.int64)
    empty = Klines(times[:0], np.empty((0, len(FIELDS))))
    prices = {name: on_grid(times, sealed[name].bars if name in sealed else empty) for name in valid.assets}
    rates = {name: (part.funding.times, part.funding.rates) for name, part in sealed.items()}
    lasts = {name: part.last_ms for name, part in sealed.items() if part.last_ms is not None}
    tiers = {name: int(tier) for name, tier in zip(valid.assets, valid.tier, strict=True)}
    later = Panel.from_arrays(times, prices, rates, tiers, lasts, bar_ms=bar_ms)
    cube: Floats = np.concatenate([valid.cube, later.cube], axis=1)
    every = np.concatenate([valid.times, times])
    last_bar = np.where(valid.last_bar < NEVER, valid.last_bar, later.last_bar)
    for column, last in enumerate(last_bar):
        cube[: len(FIELDS), every > last, column] = np.nan
        cube[len(FIELDS) :, every > last, column] = 0.0
    return Panel(every, valid.assets, np.array(valid.tier), cube, last_bar, bar_ms)
