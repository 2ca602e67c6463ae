"""The way to a scheduler: connecting, and refusing what cannot give the same numbers or is open to strangers."""

from __future__ import annotations

import asyncio
import logging
import time
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from autoquant.errors import UserError
from autoquant.scale import worker
from autoquant.scale.address import REASON, Scheduler, is_loopback
from autoquant.scale.identity import differing, identity

if TYPE_CHECKING:
    from distributed import Client
    from distributed.security import Security

INSTALL = "uv sync --extra dask (or: pip install '.[dask]' in the checkout), here and on every worker"
CONNECT_SECONDS = 20.0
FIRST_WORKER_SECONDS = 20.0


def connect(scheduler: Scheduler) -> Client:
    """A client of a scheduler whose workers may be used.

    Raises
    ------
    UserError : Dask is not installed, nobody answers, no worker is there, one is another than this machine, or the
        scheduler can be reached from elsewhere without certificates.
    """
    try:
        from distributed import Client
        from distributed.security import Security
    except ImportError as error:
        raise UserError(f"--scheduler needs Dask, which is not installed ({error.name})", INSTALL) from None
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    security = None
    if scheduler.is_tls:
        named = scheduler.certificates
        files = {"tls_ca_file": named.ca_file, "tls_client_cert": named.cert, "tls_client_key": named.key}
        given = {name: str(path) for name, path in files.items() if path is not None}
        security = Security(require_encryption=True, **given)
        needed = ("tls_ca_file", "tls_client_cert", "tls_client_key")
        if not all(getattr(security, name) for name in needed):
            raise UserError(
                f"--scheduler {scheduler.address}: TLS needs a certificate",
                "--tls-ca-file, --tls-cert and --tls-key, or distributed.comm.tls in Dask's configuration",
            )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of other versions: told below, as an error
            asyncio.run(_greet(scheduler.address, security))
            client = Client(scheduler.address, security=security, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, TimeoutError, ValueError, TypeError, RuntimeError) as error:
        why = str(error.__cause__ or error).split("\n", 1)[0] or type(error).__name__
        raise UserError(
            f"--scheduler {scheduler.address}: no scheduler answers ({why[:160]})",
            "docs/scale.md says how to start one; both sides need certificates of one authority",
        ) from None
    try:
        _require_closed_scheduler(client, scheduler)
        _require_workers(client, scheduler)
    except BaseException:
        client.close(timeout=5)
        raise
    return client


async def _greet(address: str, security: Security | None) -> None:
    """Exchange Dask's greeting: a `Client` waits without end for that of a port where something else listens.

    Raises
    ------
    OSError, TimeoutError : nobody greets in time.
    """
    from distributed.comm import connect as greet

    options = {} if security is None else security.get_connection_args("client")
    try:
        comm = await asyncio.wait_for(greet(address, timeout=CONNECT_SECONDS, **options), CONNECT_SECONDS + 1)
    except TimeoutError:
        raise TimeoutError(f"what listens there did not greet within {CONNECT_SECONDS:.0f} s") from None
    comm.abort()


def slots(client: Client) -> dict[str, int]:
    """Pieces at a time, by worker."""
    return dict(client.nthreads())


def require_same(found: Mapping[str, Any]) -> None:
    """Refuse workers that could give other numbers.

    Parameters
    ----------
    found : what `worker.describe` answered, by address; an exception where it could not.

    Raises
    ------
    UserError : names the first one and what differs.
    """
    for address, answer in found.items():
        if isinstance(answer, BaseException):
            what = f"{type(answer).__name__}: {answer}".split("\n", 1)[0][:160]
            raise UserError(f"worker {address} lacks this AutoQuant ({what})", f"the same commit there, and: {INSTALL}")
        if problem := differing(identity(), answer):
            refuse(address, problem)


def refuse(address: str, problem: str) -> None:
    """Say why a worker's numbers would not be this machine's."""
    raise UserError(
        f"worker {address} is another than this machine: {problem}",
        "every worker needs the same commit, the same Python, and `uv sync --extra dask`; for vector instructions "
        "NPY_DISABLE_CPU_FEATURES on both sides",
    )


def _require_closed_scheduler(client: Client, scheduler: Scheduler) -> None:
    try:
        doors = client.run_on_scheduler(worker.scheduler_doors)
    except Exception as error:
        what = f"{type(error).__name__}: {error}".split("\n", 1)[0][:160]
        raise UserError(f"the scheduler {scheduler.address} lacks this AutoQuant ({what})", INSTALL) from None
    _require_closed("scheduler", scheduler, doors)


def _require_workers(client: Client, scheduler: Scheduler) -> None:
    deadline = time.monotonic() + FIRST_WORKER_SECONDS
    while not slots(client):
        if time.monotonic() > deadline:
            raise UserError(
                f"--scheduler {scheduler.address}: it has no worker", "start one: dask worker URL, see docs/scale.md"
            )
        time.sleep(0.2)
    require_same(client.run(worker.describe, on_error="return"))
    for address, doors in client.run(worker.worker_doors).items():
        _require_closed(f"worker {address}", scheduler, doors)


def _require_closed(who: str, scheduler: Scheduler, doors: Sequence[str]) -> None:
    """A door with TLS asks for a certificate; one without has to be on this machine alone."""
    for door in doors:
        if door.startswith("http://") and not is_loopback(door):
            raise UserError(
                f"the {who} behind {scheduler.address} shows its tasks and logs to anybody on {door}",
                "start it with --dashboard-address 127.0.0.1:0 (--no-dashboard does not close it): docs/scale.md",
            )
        if not door.startswith("tls://") and not is_loopback(door):
            raise UserError(
                f"the {who} behind {scheduler.address} listens on {door} without TLS: {REASON}",
                "start scheduler and workers with --host 127.0.0.1, or with certificates: docs/scale.md",
            )
