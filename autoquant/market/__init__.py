"""Market data: download and pin archives, make a synthetic market, open panels.

The public names load late, so that a command's `--help` does not pay for numpy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autoquant.lazy import names_of

if TYPE_CHECKING:
    from autoquant.market.grid import CUBE_FIELDS, FIELDS, NEVER
    from autoquant.market.lockbox import LockboxData, open_lockbox
    from autoquant.market.manifest import Manifest, data_directory, load_manifest, unlisted_gaps, verify
    from autoquant.market.panel import Panel
    from autoquant.market.store import load_panel, save_panel
    from autoquant.market.synthetic import synthetic_panel
    from autoquant.market.synthetic_setup import make_synthetic

_HOMES = {
    "CUBE_FIELDS": "grid",
    "FIELDS": "grid",
    "LockboxData": "lockbox",
    "Manifest": "manifest",
    "NEVER": "grid",
    "Panel": "panel",
    "data_directory": "manifest",
    "load_manifest": "manifest",
    "load_panel": "store",
    "make_synthetic": "synthetic_setup",
    "open_lockbox": "lockbox",
    "save_panel": "store",
    "synthetic_panel": "synthetic",
    "unlisted_gaps": "manifest",
    "verify": "manifest",
}

__all__ = [
    "CUBE_FIELDS",
    "FIELDS",
    "NEVER",
    "LockboxData",
    "Manifest",
    "Panel",
    "data_directory",
    "load_manifest",
    "load_panel",
    "make_synthetic",
    "open_lockbox",
    "save_panel",
    "synthetic_panel",
    "unlisted_gaps",
    "verify",
]

__getattr__ = names_of(__name__, _HOMES)
