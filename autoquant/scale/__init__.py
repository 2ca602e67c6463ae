"""Work on other machines: pieces that depend on nothing but their bytes, done by the workers of a Dask scheduler.

    with scale.open_pool(scale.Scheduler.parse("tls://head:8786", certificates)) as pool:
        answers = pool.map(function, items)

The local pool is the default everywhere. Every command with these options comes through this door for its --help, so
what costs time is imported when it is first asked for; Dask itself only by `open_pool`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autoquant.lazy import names_of
from autoquant.scale.options import add_options, scheduler_of

if TYPE_CHECKING:
    from autoquant.scale.address import Certificates, Scheduler
    from autoquant.scale.parcels import folder_of, parcel_of_files
    from autoquant.scale.pool import DaskPool, open_pool

__all__ = [
    "Certificates",
    "DaskPool",
    "Scheduler",
    "add_options",
    "folder_of",
    "open_pool",
    "parcel_of_files",
    "scheduler_of",
]
_HOMES = {
    "Certificates": "address",
    "DaskPool": "pool",
    "Scheduler": "address",
    "folder_of": "parcels",
    "open_pool": "pool",
    "parcel_of_files": "parcels",
}

__getattr__ = names_of(__name__, _HOMES)
