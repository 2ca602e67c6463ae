"""NIFTY 50 and BANK NIFTY by the minute: one aligned set, split into what solutions may see and what they may not.

Times are the exchange's wall clock (IST), as milliseconds since 1970 of that clock. Folder `indices/<source>/`:
`shown.npy` and `hidden.npy` (float64, 8 × bars: open, high, low, close of NIFTY, then of BANK NIFTY), their times, and
`manifest.json`; `indices/current` names the set in use.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from autoquant import codec, files
from autoquant.errors import ConfigError, DataError
from autoquant.protocol import SCHEMA_VERSION

NAMES = ("nifty", "banknifty")
PRICES = ("open", "high", "low", "close")
SPLIT = "2023-01-01"
"""First hidden day of the reference set."""
LEAST = 1_500
"""Bars on each side of the split: four sessions, so that some can be taken away."""
SYNTHETIC = "synthetic"
IMPORTED = "files"
DAY_MS = 86_400_000
PARTS = ("shown", "hidden")


@dataclass(frozen=True)
class IndexFile:
    """What became of one file's rows."""

    name: str
    sha256: str
    rows: int
    duplicates: int
    """Rows whose time was there before; the first one counts."""
    bad: int
    """Rows without a time or with a price that is missing or not above 0."""
    unmatched: int
    """Good rows whose time the other index does not have."""


@dataclass(frozen=True)
class PartPin:
    """One side of the split."""

    rows: int
    first: str
    """Wall clock of the first bar, ISO-8601 without zone; empty without bars."""
    last: str
    digest: str
    """sha256 of times and prices."""


@dataclass(frozen=True)
class IndexManifest:
    """Where the set came from and what it is."""

    source: str
    """`files` or `synthetic`."""
    split: str
    files: tuple[IndexFile, ...]
    """In the order of `NAMES`; empty for the synthetic set."""
    seed: int | None
    """Of the synthetic set."""
    shown: PartPin
    hidden: PartPin
    schema_version: int = SCHEMA_VERSION

    @property
    def is_synthetic(self) -> bool:
        """Whether a generator made it."""
        return self.source == SYNTHETIC

    @property
    def origin(self) -> str:
        """Where the bars come from, in words."""
        return f"synthetic, seed {self.seed}: not a market" if self.is_synthetic else "from files"


@dataclass(frozen=True, eq=False)
class Bars:
    """Aligned minute bars of both indices."""

    times: NDArray[np.int64]
    """(T,) milliseconds since 1970 of the wall clock, increasing."""
    prices: NDArray[np.float64]
    """(8, T)."""

    def __len__(self) -> int:
        return len(self.times)

    def close(self, name: str) -> NDArray[np.float64]:
        """(T,) closes of one index."""
        return np.asarray(self.prices[4 * NAMES.index(name) + 3])

    @property
    def digest(self) -> str:
        """sha256 of times and prices."""
        return files.sha256_bytes(self.times.tobytes() + np.ascontiguousarray(self.prices).tobytes())

    def pin(self) -> PartPin:
        """Rows, ends and digest."""
        ends = ["", ""] if not len(self) else [wall_clock(self.times[place]) for place in (0, -1)]
        return PartPin(len(self), ends[0], ends[1], self.digest)


def wall_clock(ms: int | np.int64) -> str:
    """ISO-8601 to the minute, without zone.

    >>> wall_clock(1704100500000)
    '2024-01-01T09:15'
    """
    return str(np.datetime64(int(ms), "ms").astype("datetime64[m]"))


def split_at(bars: Bars, day: str) -> tuple[Bars, Bars]:
    """What lies before a day, and what lies from it on."""
    row = int(np.searchsorted(bars.times, np.datetime64(day, "ms").astype(np.int64)))
    return Bars(bars.times[:row], bars.prices[:, :row]), Bars(bars.times[row:], bars.prices[:, row:])


def save_indices(
    data_root: Path,
    bars: Bars,
    *,
    source: str,
    split: str,
    made_from: tuple[IndexFile, ...] = (),
    seed: int | None = None,
) -> IndexManifest:
    """Write a set and make it the current one.

    Raises
    ------
    DataError : fewer bars than `LEAST` lie before the split, or behind it.
    """
    shown, hidden = split_at(bars, split)
    if min(len(shown), len(hidden)) < LEAST:
        few, where = (shown, "before") if len(shown) < LEAST else (hidden, "from")
        span = (
            f"{wall_clock(int(bars.times[0]))[:10]} to {wall_clock(int(bars.times[-1]))[:10]}" if len(bars) else "none"
        )
        raise DataError(
            f"{len(few):,} bars lie {where} the split at {split}, at least {LEAST:,} are needed (bars: {span})",
            "choose a day inside: --split DAY",
        )
    folder = data_root / "indices" / source
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "manifest.json").unlink(missing_ok=True)
    for name, part in zip(PARTS, (shown, hidden), strict=True):
        for suffix, array in (("", np.ascontiguousarray(part.prices)), ("-times", part.times)):
            buffer = io.BytesIO()
            np.save(buffer, array, allow_pickle=False)
            files.atomic_write(folder / f"{name}{suffix}.npy", buffer.getvalue())
    manifest = IndexManifest(source, split, made_from, seed, shown.pin(), hidden.pin())
    files.atomic_write(folder / "manifest.json", codec.dumps(manifest, indent=1) + "\n")
    files.atomic_write(data_root / "indices" / "current", source + "\n")
    return manifest


def index_folder(data_root: Path) -> Path:
    """Folder of the current set.

    Raises
    ------
    DataError : none has been set up.
    """
    try:
        source = (data_root / "indices" / "current").read_text().strip()
    except OSError:
        raise DataError(
            f"no index data in {data_root / 'indices'}",
            "bring files: setup_data.py --indices nifty=FILE banknifty=FILE, or make some: --indices --synthetic",
        ) from None
    if source not in (SYNTHETIC, IMPORTED):
        raise DataError(f"{data_root / 'indices' / 'current'}: names {source!r}, no set of this program's")
    return data_root / "indices" / source


def load_manifest(folder: Path) -> IndexManifest:
    """The manifest of a set.

    Raises
    ------
    DataError : missing, or not a manifest.
    """
    path = folder / "manifest.json"
    try:
        return codec.loads(IndexManifest, path.read_bytes(), str(path))
    except OSError:
        raise DataError(f"{path}: not there, the set-up was cut short", "run setup_data.py --indices again") from None
    except ConfigError as error:
        raise DataError(error.message, "run setup_data.py --indices again") from None


def load_part(folder: Path, part: str) -> Bars:
    """Bars of one side of the split, checked against the manifest.

    Raises
    ------
    DataError : missing, damaged or not what the manifest says.
    """
    pin = getattr(load_manifest(folder), part)
    try:
        bars = Bars(np.load(folder / f"{part}-times.npy"), np.load(folder / f"{part}.npy"))
    except (OSError, EOFError, ValueError):
        raise DataError(f"{folder / part}.npy: missing or damaged", "run setup_data.py --indices again") from None
    if bars.times.dtype != np.int64 or bars.prices.shape != (8, len(bars.times)) or bars.digest != pin.digest:
        raise DataError(f"{folder / part}.npy: differs from the manifest", "run setup_data.py --indices again")
    return bars
