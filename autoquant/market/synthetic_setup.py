"""Write the made-up market to its own data directory. Its manifest says `synthetic` for ever."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from autoquant import files
from autoquant.clock import Clock, SystemClock, day_ms, ms_iso, utc_iso
from autoquant.errors import DataError, UserError
from autoquant.market.grid import NEVER
from autoquant.market.manifest import (
    SYNTHETIC,
    Contract,
    LockboxPin,
    Manifest,
    load_manifest,
    manifest_path,
    panel_pin,
    quick_check,
    save_manifest,
    set_current,
)
from autoquant.market.panel import Panel
from autoquant.market.store import save_panel
from autoquant.market.synthetic import market_panel
from autoquant.protocol import PROTOCOL, SCHEMA_VERSION, Protocol

DEFAULT_SEED = 16
LOCKBOX_SEED_FILE = "lockbox.seed"


def make_synthetic(
    data_root: Path,
    seed: int = DEFAULT_SEED,
    force: bool = False,
    *,
    lockbox_seed: bytes | None = None,
    clock: Clock | None = None,
    protocol: Protocol = PROTOCOL,
) -> Path:
    """Make the synthetic data directory and make it the current one.

    Parameters
    ----------
    data_root : holds one directory per source; only `synthetic/` below it is ever written.
    seed : names the market; equal seeds give equal bars.
    force : overwrite a synthetic market of another seed.
    lockbox_seed : 16 bytes for the sealed period; drawn from the operating system by default.
    protocol : names universe and calendar.

    Returns
    -------
    The data directory.

    Raises
    ------
    UserError : a complete synthetic market of another seed is there and `force` is not given.
    DataError : what stands there is not synthetic.
    """
    folder = data_root / SYNTHETIC
    if folder.is_symlink():
        raise DataError(f"{folder}: is a link; the synthetic market is only written to a folder of its own")
    if manifest_path(folder).exists():
        if _keep(folder, seed, force):
            set_current(data_root, folder)
            return folder
        manifest_path(folder).unlink()
    (folder / "calibration.json").unlink(missing_ok=True)
    secret = os.urandom(16) if lockbox_seed is None else lockbox_seed
    files.atomic_write(folder / LOCKBOX_SEED_FILE, secret.hex() + "\n", mode=0o600)
    valid = market_panel(seed, protocol=protocol)
    train = valid.slice(0, valid.row(day_ms(protocol.calendar.valid_start)))
    save_panel(train, folder, "train")
    save_panel(valid, folder, "valid")
    save_manifest(
        folder,
        Manifest(
            schema_version=SCHEMA_VERSION,
            source=SYNTHETIC,
            base_url=None,
            created=utc_iso((clock or SystemClock()).now()),
            bar_hours=protocol.calendar.bar_hours,
            files=(),
            contracts=tuple(_contract(valid, column) for column in range(len(valid.assets))),
            gaps=(),
            repairs=(),
            funding_gaps=(),
            splits={"train": panel_pin(train), "valid": panel_pin(valid)},
            lockbox=(LockboxPin(LOCKBOX_SEED_FILE, files.sha256_file(folder / LOCKBOX_SEED_FILE)),),
            synthetic_seed=seed,
        ),
    )
    set_current(data_root, folder)
    return folder


def read_lockbox_seed(data_dir: Path, pin: LockboxPin) -> int:
    """The sealed period's seed, checked against its pin.

    Raises
    ------
    DataError : lost or changed.
    """
    path = data_dir / pin.path
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise DataError(f"{path}: the sealed period's seed is gone; this lockbox cannot be opened") from None
    if files.sha256_bytes(content) != pin.sha256:
        raise DataError(f"{path}: differs from the digest pinned at set-up; this lockbox cannot be opened")
    return int(content, 16)


def _keep(folder: Path, seed: int, force: bool) -> bool:
    """Whether the complete market that stands there is the one asked for."""
    manifest = load_manifest(folder)
    if not manifest.is_synthetic:
        raise DataError(f"{folder}: holds data that are not synthetic; --force never touches real data")
    if force:
        return False
    if manifest.synthetic_seed != seed:
        raise UserError(
            f"{folder}: holds a synthetic market of seed {manifest.synthetic_seed}",
            f"--force overwrites it with seed {seed}",
        )
    return not quick_check(folder, manifest)


def _contract(panel: Panel, column: int) -> Contract:
    live = np.flatnonzero(np.isfinite(panel.close[:, column]))
    last = int(panel.last_bar[column])
    return Contract(
        symbol=panel.assets[column],
        tier=int(panel.tier[column]),
        first_bar=ms_iso(int(panel.times[live[0]])),
        last_bar=None if last == NEVER else ms_iso(last),
        bars=len(live),
        funding_rows=int(np.count_nonzero(panel.cube[6:, :, column])),
        ended=None if last == NEVER else "delisted by the recipe",
        cut_bars=0,
        cut_funding=0,
    )
