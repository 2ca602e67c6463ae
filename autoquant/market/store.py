"""Stored panels: a cube that is opened as a memory map, and its head as JSON."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from autoquant import codec, files
from autoquant.errors import ConfigError, DataError
from autoquant.market.grid import CUBE_FIELDS, NEVER
from autoquant.market.panel import Panel
from autoquant.protocol import SCHEMA_VERSION


@dataclass(frozen=True)
class PanelHead:
    """What stands beside a stored cube: everything but the numbers. `last_bar` is null for NEVER."""

    schema_version: int
    first_ms: int
    rows: int
    bar_ms: int
    assets: tuple[str, ...]
    tier: tuple[int, ...]
    last_bar: tuple[int | None, ...]


def save_panel(panel: Panel, folder: Path, split: str) -> None:
    """Store a panel as `<split>.npy` (C-contiguous cube) and `<split>.json` (its head), each atomically."""
    buffer = io.BytesIO()
    np.save(buffer, np.ascontiguousarray(panel.cube), allow_pickle=False)
    head = PanelHead(
        schema_version=SCHEMA_VERSION,
        first_ms=int(panel.times[0]),
        rows=len(panel),
        bar_ms=panel.bar_ms,
        assets=panel.assets,
        tier=tuple(int(t) for t in panel.tier),
        last_bar=tuple(None if ms == NEVER else int(ms) for ms in panel.last_bar),
    )
    files.atomic_write(folder / f"{split}.npy", buffer.getvalue())
    files.atomic_write(folder / f"{split}.json", codec.dumps(head, indent=1) + "\n")


def load_panel(data_dir: Path, split: str) -> Panel:
    """Open a stored panel as a read-only memory map; nothing is parsed and nothing is copied.

    Parameters
    ----------
    data_dir : one source's folder, for example `data/binance-archive`.
    split : "train", or "valid" for TRAIN followed by VALID.

    Raises
    ------
    DataError : not set up, or the stored files do not fit together.
    """
    head_file, cube_file = data_dir / f"{split}.json", data_dir / f"{split}.npy"
    again = "run setup_data.py"
    try:
        head = codec.loads(PanelHead, head_file.read_bytes(), str(head_file))
        mapped = np.load(cube_file, mmap_mode="r", allow_pickle=False)
        surplus = cube_file.stat().st_size - mapped.offset - mapped.nbytes
    except FileNotFoundError as error:
        raise DataError(f"{error.filename}: no such panel", again) from None
    except ConfigError as error:
        raise DataError(error.message, f"{again} --verify") from None
    except (ValueError, EOFError, OSError) as error:
        raise DataError(f"{cube_file}: cannot be opened ({error})", f"{again} --verify") from None
    cube = np.asarray(mapped)
    if head.schema_version != SCHEMA_VERSION:
        raise DataError(f"{head_file}: schema {head.schema_version}, this program reads {SCHEMA_VERSION}", again)
    if surplus:
        raise DataError(f"{cube_file}: {surplus} bytes more than its own head says", f"{again} --verify")
    if cube.dtype != np.float64 or cube.shape != (len(CUBE_FIELDS), head.rows, len(head.assets)):
        raise DataError(f"{cube_file}: holds {cube.dtype} {cube.shape}, not what {head_file.name} says", again)
    return Panel(
        times=head.first_ms + head.bar_ms * np.arange(head.rows, dtype=np.int64),
        assets=head.assets,
        tier=np.array(head.tier, dtype=np.int64),
        cube=cube,
        last_bar=np.array([NEVER if ms is None else ms for ms in head.last_bar], dtype=np.int64),
        bar_ms=head.bar_ms,
    )
