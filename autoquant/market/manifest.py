"""The manifest: what a data directory holds, pinned. Written last: without it a set-up is not complete."""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np

from autoquant import codec, files
from autoquant.clock import ms_iso
from autoquant.errors import AutoQuantError, DataError
from autoquant.market.grid import NEVER
from autoquant.market.panel import Panel
from autoquant.market.store import load_panel
from autoquant.protocol import SCHEMA_VERSION

ARCHIVE_URL = "https://data.binance.vision"
ARCHIVE_SOURCE = "binance-archive"
SYNTHETIC = "synthetic"
SPLITS = ("train", "valid")


@dataclass(frozen=True)
class FilePin:
    """One archive as it was packed; `path` is relative to the manifest's base URL and to `raw/`."""

    path: str
    url: str
    size: int
    sha256: str
    rows: int
    kept: bool
    """Whether the archive stays on disk after packing."""


@dataclass(frozen=True)
class Contract:
    """One contract's life. Times are ISO UTC open times; `last_bar` is null while it lives on."""

    symbol: str
    tier: int
    first_bar: str
    last_bar: str | None
    bars: int
    funding_rows: int
    ended: str | None
    """How its end was found, in words; null while it lives on."""
    cut_bars: int
    """Bars after the end that were left out (flat tail, re-used ticker)."""
    cut_funding: int
    """Funding rows before the first or after the last bar that were left out."""


@dataclass(frozen=True)
class Gap:
    """Bars missing inside a contract's life that no daily archive could supply."""

    symbol: str
    first: str
    last: str
    bars: int


@dataclass(frozen=True)
class Repair:
    """A day whose missing bars came from its daily archive."""

    symbol: str
    day: str
    bars: int


@dataclass(frozen=True)
class FundingGap:
    """Two funding instants further apart than the interval in force, within the limit."""

    symbol: str
    after: str
    before: str
    hours: float


@dataclass(frozen=True)
class PanelPin:
    """A stored panel."""

    digest: str
    rows: int
    first: str
    last: str


@dataclass(frozen=True)
class LockboxPin:
    """A sealed archive's published checksum at set-up; null when the archive did not exist (404)."""

    path: str
    sha256: str | None


@dataclass(frozen=True)
class Manifest:
    """What a data directory holds."""

    schema_version: int
    source: str
    base_url: str | None
    created: str
    bar_hours: int
    files: tuple[FilePin, ...]
    contracts: tuple[Contract, ...]
    gaps: tuple[Gap, ...]
    repairs: tuple[Repair, ...]
    funding_gaps: tuple[FundingGap, ...]
    splits: dict[str, PanelPin]
    lockbox: tuple[LockboxPin, ...]
    synthetic_seed: int | None

    @property
    def is_synthetic(self) -> bool:
        """Made up; no score on it is a market result."""
        return self.synthetic_seed is not None or self.source == SYNTHETIC

    @property
    def is_real(self) -> bool:
        """From the public archive itself."""
        return self.source == ARCHIVE_SOURCE and not self.is_synthetic

    @cached_property
    def digest(self) -> str:
        """sha256 of everything but the time of writing, so that two equal downloads have one digest."""
        content = codec.encode(self)
        del content["created"]
        return files.sha256_bytes(codec.dumps(content).encode())


def manifest_path(data_dir: Path) -> Path:
    """Where a data directory keeps its manifest."""
    return data_dir / "manifest.json"


def set_up_again(data_dir: Path) -> str:
    """Hint for data that are altered: setup_data.py leaves alone what looks whole, and removes nothing."""
    return f"remove {data_dir} by hand and run setup_data.py again"


def load_manifest(data_dir: Path) -> Manifest:
    """Read and check the manifest.

    Raises
    ------
    DataError : absent, unreadable, or of another schema.
    """
    path = manifest_path(data_dir)
    try:
        manifest = codec.loads(Manifest, path.read_bytes(), str(path))
    except FileNotFoundError:
        raise DataError(f"{path}: no such file, the set-up is not complete", "run setup_data.py") from None
    except AutoQuantError as error:
        raise DataError(error.message, error.hint or set_up_again(data_dir)) from None
    if manifest.schema_version != SCHEMA_VERSION:
        raise DataError(
            f"{path}: schema {manifest.schema_version}, this program reads {SCHEMA_VERSION}", set_up_again(data_dir)
        )
    return manifest


def save_manifest(data_dir: Path, manifest: Manifest) -> None:
    """Commit a set-up."""
    files.atomic_write(manifest_path(data_dir), codec.dumps(manifest, indent=1) + "\n")


def panel_pin(panel: Panel) -> PanelPin:
    """Pin a panel."""
    return PanelPin(panel.digest, len(panel), ms_iso(int(panel.times[0])), ms_iso(int(panel.times[-1])))


def source_of(base_url: str) -> str:
    """How the manifest names a source: `binance-archive`, or the base URL itself."""
    return ARCHIVE_SOURCE if base_url.rstrip("/") == ARCHIVE_URL else base_url.rstrip("/")


def directory_name(source: str) -> str:
    """Folder of a source below the data root.

    >>> directory_name("binance-archive"), directory_name("http://127.0.0.1:8777")
    ('binance-archive', '127.0.0.1-8777')
    """
    if source in (ARCHIVE_SOURCE, SYNTHETIC):
        return source
    parts = urlsplit(source)
    slug = re.sub(r"[^A-Za-z0-9.]+", "-", parts.netloc + parts.path).strip("-.")
    if not slug:
        raise DataError(f"base URL {source!r} names no host", "give it like http://127.0.0.1:8777")
    # A host of that very name must not land in a directory that means something else.
    return f"host-{slug}" if slug in (ARCHIVE_SOURCE, SYNTHETIC, "current") else slug


def set_current(data_root: Path, data_dir: Path) -> None:
    """Make `data_dir` the one that commands use."""
    files.atomic_write(data_root / "current", data_dir.name + "\n")


def data_directory(data_root: Path) -> Path:
    """The source directory that the last set-up made current.

    Raises
    ------
    DataError : nothing is set up.
    """
    pointer = data_root / "current"
    hint = "run setup_data.py (or, for a smoke test, setup_data.py --synthetic)"
    try:
        name = pointer.read_text().strip()
    except (FileNotFoundError, NotADirectoryError):
        raise DataError(f"{data_root}: no market data is set up", hint) from None
    folder = data_root / name
    if not name or Path(name).name != name or not folder.is_dir():
        raise DataError(f"{pointer}: names {name!r}, which is not a data directory", hint)
    return folder


def quick_check(data_dir: Path, manifest: Manifest) -> list[str]:
    """Cheap facts only: panels open and have the pinned size and span. Problems, in words."""
    problems = []
    for split, pin in sorted(manifest.splits.items()):
        try:
            panel = load_panel(data_dir, split)
        except DataError as error:
            problems.append(error.message)
            continue
        span = (len(panel), ms_iso(int(panel.times[0])), ms_iso(int(panel.times[-1])))
        pinned = (pin.rows, pin.first, pin.last)
        if span != pinned:
            problems.append(f"{data_dir / split}.npy: spans {span}, the manifest says {pinned}")
    problems += [f"{data_dir}: the manifest pins no {split} panel" for split in SPLITS if split not in manifest.splits]
    return problems


def panel_problems(data_dir: Path, manifest: Manifest) -> list[str]:
    """What every race asks of its panels: pinned content, and no missing bar that the manifest does not list."""
    problems = quick_check(data_dir, manifest)
    if problems:
        return problems
    for split, pin in sorted(manifest.splits.items()):
        if load_panel(data_dir, split).digest != pin.digest:
            problems.append(f"{data_dir / split}.npy: content differs from the manifest's digest")
    return problems or unlisted_gaps(load_panel(data_dir, "valid"), manifest)


def unlisted_gaps(panel: Panel, manifest: Manifest) -> list[str]:
    """Missing bars inside a life that the manifest does not list, in words; a real race refuses a panel with any.

    Contracts that are not the panel's own are named in their place.
    """
    problems = _other_contracts(panel, manifest)
    if problems:
        return problems
    for contract in manifest.contracts:
        missing = np.isnan(panel.close[:, panel.assets.index(contract.symbol)])
        missing &= panel.times >= iso_ms(contract.first_bar)
        if contract.last_bar is not None:
            missing &= panel.times <= iso_ms(contract.last_bar)
        for gap in manifest.gaps:
            if gap.symbol == contract.symbol:
                missing &= (panel.times < iso_ms(gap.first)) | (panel.times > iso_ms(gap.last))
        if missing.any():
            at = ms_iso(int(panel.times[missing][0]))
            problems.append(f"{contract.symbol}: {int(missing.sum())} bars missing that no gap lists, first at {at}")
    return problems


def _other_contracts(panel: Panel, manifest: Manifest) -> list[str]:
    """Where the manifest's contracts are not the panel's: their names, tiers and last bars."""
    listed = {
        one.symbol: (one.tier, NEVER if one.last_bar is None else iso_ms(one.last_bar)) for one in manifest.contracts
    }
    packed = dict(zip(panel.assets, zip(panel.tier.tolist(), panel.last_bar.tolist(), strict=True), strict=True))
    names = sorted(name for name in listed.keys() | packed.keys() if listed.get(name) != packed.get(name))
    return [f"{name}: the manifest's tier or last bar is not the panel's" for name in names]


def iso_ms(text: str) -> int:
    """Milliseconds of an ISO UTC time.

    >>> iso_ms("2020-01-01T00:00:00Z")
    1577836800000
    """
    return round(dt.datetime.fromisoformat(text).timestamp() * 1000)


def verify(data_dir: Path) -> list[str]:
    """Recheck everything on disk against the manifest: panel digests and gaps, size and sha256 of each kept archive.

    Returns
    -------
    Problems in words, empty when all is well.
    """
    manifest = load_manifest(data_dir)
    problems = panel_problems(data_dir, manifest)
    if manifest.is_synthetic:
        for seed in manifest.lockbox:
            path = data_dir / seed.path
            if not path.is_file() or files.sha256_file(path) != seed.sha256:
                problems.append(f"{path}: missing, or differs from the manifest's checksum")
    for archive in manifest.files:
        path = data_dir / "raw" / archive.path
        if not path.is_file():
            if archive.kept:
                problems.append(f"{path}: missing")
        elif path.stat().st_size != archive.size or files.sha256_file(path) != archive.sha256:
            problems.append(f"{path}: differs from the manifest's checksum")
    return problems
