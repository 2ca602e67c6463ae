"""Work on other machines: pieces that depend on nothing but their bytes, done by the workers of a Dask scheduler.

    with scale.open_pool(scale.Scheduler.parse("tls://head:8786", certificates)) as pool:
        answers = pool.map(function, items)

The local pool is the default everywhere; importing this door imports no Dask.
"""

from autoquant.scale.address import Certificates, Scheduler
from autoquant.scale.options import add_options, scheduler_of
from autoquant.scale.parcels import Parcel, folder_of, parcel_of_files
from autoquant.scale.pool import DaskPool, open_pool

__all__ = [
    "Certificates",
    "DaskPool",
    "Parcel",
    "Scheduler",
    "add_options",
    "folder_of",
    "open_pool",
    "parcel_of_files",
    "scheduler_of",
]
